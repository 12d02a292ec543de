// Where the scores of a ranking model live: on instances, never on pairs.
//
// phi_i is the image of instance i; a direction v = sum_i alpha_i phi_i has the scores
// f_i = <phi_i, v>. For a linear model v is w and phi_i the row x_i; for a kernel v is the vector
// of scores itself. A pair (i, j) has the image phi_i - phi_j, whose inner products are the
// pair-difference kernel K_ik - K_il - K_jk + K_jl: they are taken when needed.
#pragma once

#include "kernel/kernel_rows.hpp"
#include "primal/margin_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace alphapath {

class ScoreSpace {
public:
  virtual ~ScoreSpace() = default;

  /// Number of instances.
  virtual std::size_t size() const = 0;
  /// Length of a direction.
  virtual std::size_t width() const = 0;
  /// Whether a direction is its own scores, so that they come for nothing.
  virtual bool is_scores() const = 0;
  /// v += sum_k coef[k] phi_{rows[k]}, where the coefficients sum to 0.
  virtual void add(std::span<const std::int32_t> rows, const double* coef, double* v) const = 0;
  /// f[k] = <phi_{first + k}, v> for k < count, up to one constant for all.
  virtual void scores(std::size_t first, std::size_t count, const double* v, double* f) const = 0;
  /// The same for listed rows.
  virtual void scores_at(std::span<const std::int32_t> rows, const double* v, double* f) const = 0;
  /// Inner products among the rows first .. first + count, row-major: pair differences of them are
  /// those of the kernel.
  virtual void block(std::size_t first, std::size_t count, double* out) const = 0;
};

std::unique_ptr<ScoreSpace> make_linear_space(const MarginRows& rows);
/// `kernel` in float64.
std::unique_ptr<ScoreSpace> make_kernel_space(const KernelRows& kernel);

/// Pairs (better, worse) of instances of one query. Instances of a query are side by side, and so
/// are its pairs.
struct RankPairs {
  std::vector<std::int32_t> better, worse;
  std::vector<std::size_t> first_row;  // of each query; last: the number of instances
  std::vector<std::size_t> first_pair; // of each query; last: the number of pairs

  std::size_t size() const { return better.size(); }
  std::size_t n_queries() const { return first_row.size() - 1; }
};

/// sum_p coef(p) (phi_better - phi_worse), from scratch.
template <class Coef>
void sum_pairs(const ScoreSpace& space, const RankPairs& pairs, Coef coef, std::vector<double>& v) {
  std::vector<double> alpha(space.size(), 0.0);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const double c = coef(p);
    if (c != 0) {
      alpha[static_cast<std::size_t>(pairs.better[p])] += c;
      alpha[static_cast<std::size_t>(pairs.worse[p])] -= c;
    }
  }
  std::vector<std::int32_t> rows;
  std::size_t n_used = 0;
  for (std::size_t i = 0; i < alpha.size(); ++i)
    if (alpha[i] != 0) {
      rows.push_back(static_cast<std::int32_t>(i));
      alpha[n_used++] = alpha[i];
    }
  v.assign(space.width(), 0.0);
  space.add(rows, alpha.data(), v.data());
}

} // namespace alphapath
