// Sums of losses of margins, with their gradient, for a sequence of slowly moving linear models.
//
// Given rows x_i, labels y_i in {-1, +1}, weights s_i >= 0 (0 = held out) and a loss l, evaluate
//   value    = sum_i s_i l(m_i),             m_i = y_i (w'x_i + b)
//   gradient = sum_i s_i l'(m_i) y_i (x_i, 1)
// exactly, at one (w, b) after the other. Four ways give the same numbers:
//   full    every margin, every time;
//   lazy    each row remembers how far its margin was from the nearest kink of the loss when it was
//           last computed, and is left alone while w cannot have carried it there;
//   clusters the same, where the centre of a cluster of rows says how far w carried it, and only
//           the distance of the row from it has to be bounded;
//   sorted  Algorithms 1 and 2 of Guillory and Bilmes, "Practical Methods for Exploiting Bounds on
//           Change in the Margin": rows sorted by a stored margin, one bound for all.
#pragma once

#include "primal/margin_loss.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace alphapath {

struct MarginCounts {
  std::int64_t n_evaluations = 0;
  std::int64_t n_examined = 0; // margins computed
  std::int64_t n_pruned = 0;   // margins spared
  std::int64_t n_sorts = 0;    // times that the stored margins were recomputed
};

class MarginSums {
public:
  virtual ~MarginSums() = default;

  /// Returns the value and fills `gradient`: n_columns entries for w and one for b.
  virtual double evaluate(const double* w, double b, double* gradient) = 0;

  const MarginTask& task() const { return task_; }
  const MarginCounts& counts() const { return counts_; }

protected:
  explicit MarginSums(const MarginTask& task) : task_(task) {}

  MarginTask task_;
  MarginCounts counts_;
};

enum class MarginMethod { full, lazy, clusters, sorted };

std::unique_ptr<MarginSums> make_margin_sums(const MarginTask& task, MarginMethod method,
                                             std::size_t n_threads);
std::unique_ptr<MarginSums> make_lazy_sums(const MarginTask& task, std::size_t n_threads,
                                           bool has_clusters);
std::unique_ptr<MarginSums> make_sorted_sums(const MarginTask& task, std::size_t n_threads);

/// Every margin: value and gradient, and the margins themselves where `margins` is not null. The
/// order of summation does not depend on the number of threads.
class FullPass {
public:
  FullPass(const MarginTask& task, std::size_t n_threads);
  double operator()(const double* w, double b, double* gradient, double* margins = nullptr);

private:
  double sum_rows(std::size_t first, std::size_t end, const double* w, double b, double* gradient,
                  double* margins) const;

  MarginTask task_;
  std::size_t n_threads_;
  std::size_t chunk_;
  std::vector<std::vector<double>> gradients_;
  std::vector<double> values_;
};

} // namespace alphapath
