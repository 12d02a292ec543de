// Sums of losses of margins, with their gradient, for a sequence of slowly moving linear models.
//
// Given rows x_i, labels y_i in {-1, +1}, weights s_i >= 0 (0 = held out) and a loss l, evaluate
//   value    = sum_i s_i l(m_i),             m_i = y_i (w'x_i + b)
//   gradient = sum_i s_i l'(m_i) y_i (x_i, 1)
// exactly, at one (w, b) after the other. Four ways give the same numbers:
//   full    every margin, every time;
//   lazy    each row remembers how far its margin was from the nearest kink of the loss when it was
//           last computed, and is left alone while w can not have carried it there;
//   clusters the same, where the centre of a cluster of rows says how far w carried it, and only
//           the distance of the row from it has to be bounded;
//   sorted  Algorithms 1 and 2 of Guillory and Bilmes, "Practical Methods for Exploiting Bounds on
//           Change in the Margin": rows sorted by a stored margin, one bound for all.
#pragma once

#include "primal/margin_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace alphapath {

/// Where a margin lies: no loss, a straight line, a parabola; or the row is held out.
enum class Segment : std::uint8_t { flat, linear, quadratic, absent };

/// l(m) = 0 from `high` on, curvature (high - m)^2 between, 1 - m up to `low`.
/// Hinge: low = high = 1. Huber (eq. 5): 1 -+ h and curvature 1 / (4 h). Squared hinge: low = -inf.
struct MarginLoss {
  double low = 1.0;
  double high = 1.0;
  double curvature = 0.0;

  static MarginLoss hinge() { return {1.0, 1.0, 0.0}; }
  static MarginLoss huber(double h) { return {1.0 - h, 1.0 + h, 0.25 / h}; }
  static MarginLoss squared_hinge() { return {-std::numeric_limits<double>::infinity(), 1.0, 1.0}; }

  /// Without branches: which side a margin lies on can not be predicted.
  Segment segment(double m) const {
    return static_cast<Segment>(static_cast<int>(m < high) * (2 - static_cast<int>(m <= low)));
  }
  double value(double m) const {
    return m >= high ? 0.0 : m > low ? curvature * (high - m) * (high - m) : 1.0 - m;
  }
  double slope(double m) const {
    return m >= high ? 0.0 : m > low ? -2.0 * curvature * (high - m) : -1.0;
  }
};

/// What is summed; keeps no arrays alive.
struct MarginTask {
  const MarginRows& rows;
  RowSigns labels;
  RowWeights weights;
  MarginLoss loss;
};

struct MarginCounts {
  std::int64_t n_evaluations = 0;
  std::int64_t n_examined = 0; // margins computed
  std::int64_t n_pruned = 0;   // margins spared
  std::int64_t n_sorts = 0;    // times that the stored margins were made anew
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

/// Rows examined at a time, so that a row is still in the cache when it is added.
inline constexpr std::size_t margin_block = 128;

double dot_product(const double* a, const double* b, std::size_t n);

} // namespace alphapath
