// Which rows lie on which segment of the loss, along a moving theta, and the moments of each
// segment.
//
// On its segment the loss of a row is a polynomial in theta of degree two at most, so the sums over
// all rows follow from a few moments, whatever their number:
//   line      sum s (1 - m)                   = line_weight - theta'line_sum
//   parabola  sum s curvature (high - m)^2    = curvature (high^2 weight - 2 high theta'sum
//                                                          + theta'G theta)
// with sum = sum s y x, G = sum s x x'. The moments change only when a row crosses a kink, and lazy
// bounds (length_bounds.hpp) say which rows may have. theta = (w, b) where there is a bias: x then
// ends in 1.
//
// G is kept where the number of columns allows it; without it the rows on the parabola are computed
// at every move, and theta'G theta and G theta come from them. So they are where the parabola is
// narrow: the terms above are then large against their sum, and few rows lie on it.
#pragma once

#include "primal/margin_loss.hpp"
#include "primal/sums/length_bounds.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace alphapath {

struct SegmentCounts {
  std::int64_t n_moves = 0;
  std::int64_t n_examined = 0;
  std::int64_t n_pruned = 0;
  std::int64_t n_crossings = 0;
};

/// What rows on the parabola add to its sums.
struct ParabolaMoments {
  double weight = 0.0;      // sum s
  std::vector<double> sum;  // of s y x
  std::vector<double> gram; // of s x x': lower triangle, row-major; empty where it is not kept

  void reset(std::size_t size, bool keeps_gram);
  /// The listed rows, with weights[k] (of either sign) in place of s.
  void add(const MarginTask& task, const std::vector<std::int32_t>& rows,
           const std::vector<double>& weights);
  void add(const ParabolaMoments& other, double sign);
};

class SegmentState {
public:
  /// theta = 0 to begin with. `gram`: sum s x x' over all rows of positive weight where the caller
  /// has it (lower triangle, row-major, row by row of `size()`), for losses that begin on the
  /// parabola; null: computed.
  SegmentState(const MarginTask& task, bool has_bias, bool keeps_gram, const double* gram);
  /// A joint state: no bounds are kept, and it moves by joint moves only. `start`: the moments of
  /// all rows of positive weight, on the parabola, with G.
  SegmentState(const MarginTask& task, bool has_bias, ParabolaMoments start);

  std::size_t size() const { return theta_.size(); }
  const std::vector<double>& theta() const { return theta_; }
  const MarginLoss& loss() const { return task_.loss; }
  bool keeps_gram() const { return keeps_gram_; }

  /// Returns how many rows crossed a kink.
  std::size_t move_to(const std::vector<double>& theta);

  /// The same in pieces, where somebody else knows which rows crossed between the parabola and the
  /// flat; only for a joint state with G and a loss without a line.
  void begin_joint_move(const std::vector<double>& theta);
  void cross_alone(std::size_t i, bool is_below);
  /// As cross_alone, where the caller adds the moments of many rows by cross_together.
  void mark_crossed(std::size_t i, bool is_below);
  void cross_together(const ParabolaMoments& moments, double sign) { parabola_.add(moments, sign); }
  std::size_t end_joint_move();
  /// Another loss at the same theta.
  void set_loss(const MarginLoss& loss);
  /// All moments recomputed, without the rounding of past updates.
  void refresh() { rebuild(nullptr); }

  /// sum s l(m) at theta; fills its gradient.
  double evaluate(std::vector<double>& gradient) const;

  /// out = sum over the parabola of s x (x'v); the loss has twice its curvature times this as its
  /// second derivative.
  void multiply_gram(const std::vector<double>& v, std::vector<double>& out) const;
  /// The lower triangle, row-major, leading dimension size(); only where keeps_gram.
  const std::vector<double>& gram() const { return parabola_.gram; }
  /// sum s over the parabola.
  double parabola_weight() const { return parabola_.weight; }

  const MarginTask& task() const { return task_; }
  /// sum s y x over the line.
  const std::vector<double>& line_sum() const { return line_sum_; }
  /// Whether loss and gradient of the parabola come from its rows, and then which they are.
  bool sums_rows() const { return sums_rows_; }
  const std::vector<std::int32_t>& parabola_rows() const { return parabola_rows_; }
  const std::vector<double>& parabola_weights() const { return parabola_weights_; }

  const SegmentCounts& counts() const { return counts_; }

private:
  /// Rows that crossed a kink, with the coefficients by which they enter (or leave) the moments.
  struct Change {
    std::vector<std::int32_t> rows;
    std::vector<double> line;     // of s y x on the line
    std::vector<double> parabola; // of s, s y x and s x x' on the parabola
    std::size_t n_applied = 0;    // rows already in the moments
  };
  void examine(const RowList& rows, Change& change);
  void examine_block(const RowList& rows, Change& change);
  void cross(std::size_t i, Segment now, Change& change);
  void add_parabola(const RowList& rows, const double* margins);
  std::size_t apply(Change& change);
  void set_bound(std::size_t i, Segment now, double m);
  void rebuild(const double* gram);
  void add_parabola_moments();
  void clear_parabola();
  bool is_narrow() const { return task_.loss.high - task_.loss.low < narrow; }

  static constexpr double narrow = 0.1;

  MarginTask task_;
  bool has_bias_;
  bool keeps_gram_;
  bool sums_rows_;                       // loss and gradient of the parabola come from its rows
  std::unique_ptr<LengthBounds> bounds_; // null for a joint state
  std::vector<Segment> segment_;
  std::vector<double> theta_, line_sum_;
  double line_weight_ = 0.0;
  ParabolaMoments parabola_;
  // Where sums_rows_: the rows on the parabola, their weights, loss and gradient.
  std::vector<std::int32_t> parabola_rows_;
  std::vector<double> parabola_weights_;
  double parabola_value_ = 0.0;
  std::vector<double> parabola_gradient_;
  Change joint_;
  std::size_t n_joint_ = 0; // rows that crossed in this joint move
  SegmentCounts counts_;
};

} // namespace alphapath
