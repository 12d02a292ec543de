// An exact score along a path, from values that are affine on each of its pieces.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace alphapath {

enum class Metric { error, squared };

/// value[k] + s (slope[k] + s curvature[k]) at s past where[k]; several may begin at one place, and
/// the last of them stands. Of errors value alone is filled, where it changes.
struct Curve {
  std::vector<double> where, value, slope, curvature;
};

/// Sums a score over rows while a path is walked, piece by piece.
///
/// error: the sum of shares of the rows whose sign of f (0 counts as +, but a row that begins a
/// piece at 0 is judged by where it goes) is not that of its target. squared: the sum of
/// share (f - target)^2.
class CurveSums {
public:
  CurveSums(Metric metric, std::span<const double> targets, std::span<const double> shares);

  /// From start to end, row j has f = target[j] + residual[j] + (t - start) rate[j].
  void add(double start, double end, const double* residual, const double* rate);
  /// The same of errors, where all rows but these keep their sign; each row once.
  struct Passage {
    std::size_t row;
    double first, last; // residuals at start and end
  };
  void pass(double start, double end, std::span<const Passage> some);
  Curve& curve() { return curve_; }
  /// +1 where f was last above, else -1: while no sign changes, errors need not be added.
  std::span<const double> sides() const { return side_; }

private:
  /// A sum of many small terms whose rounding is kept (Neumaier): equal errors must stay equal.
  class Sum {
  public:
    void add(double term);
    double value() const { return sum_ + lost_; }

  private:
    double sum_ = 0, lost_ = 0;
  };
  struct Crossing {
    double time;
    double change;
  };

  void add_errors(double start, double end, const double* residual, const double* rate);
  void look_at(std::size_t row, double start, double end, double first, double last);
  void add_crossings(double start);
  void add_step(double time);
  void add_squares(double start, const double* residual, const double* rate);

  Metric metric_;
  std::vector<double> targets_, shares_;
  std::vector<double> side_; // +1 where f was above
  std::vector<Crossing> crossings_;
  Sum error_;
  Curve curve_;
};

} // namespace alphapath
