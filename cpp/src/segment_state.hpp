// Which rows lie on which segment of the loss, along a moving theta, and the moments of each
// segment.
//
// On its segment the loss of a row is a polynomial in theta of degree two at most, so the sums over
// all rows follow from a few moments, whatever their number:
//   line      sum s (1 - m)                   = line_weight - theta'line_sum
//   parabola  sum s curvature (high - m)^2    = curvature (high^2 weight - 2 high theta'sum
//                                                          + theta'G theta)
// with sum = sum s y x, G = sum s x x'. The moments change only when a row crosses a kink, and lazy
// bounds (margin_bounds.hpp) say which rows may have. theta = (w, b) where there is a bias: x then
// ends in 1.
//
// G is kept where the number of columns allows it; without it the rows on the parabola are computed
// at every move, and theta'G theta and G theta come from them.
#pragma once

#include "margin_bounds.hpp"
#include "margins.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace alphapath {

struct SegmentCounts {
  std::int64_t n_moves = 0;
  std::int64_t n_examined = 0;
  std::int64_t n_pruned = 0;
  std::int64_t n_crossings = 0;
};

class SegmentState {
public:
  /// theta = 0 to begin with. `gram`: sum s x x' over all rows of positive weight where the caller
  /// has it (lower triangle, row-major, row by row of `size()`), for losses that begin on the
  /// parabola; null: computed.
  SegmentState(const MarginTask& task, bool has_bias, bool keeps_gram, const double* gram);

  std::size_t size() const { return theta_.size(); }
  const std::vector<double>& theta() const { return theta_; }
  const MarginLoss& loss() const { return task_.loss; }
  bool keeps_gram() const { return keeps_gram_; }

  /// Returns how many rows crossed a kink.
  std::size_t move_to(const std::vector<double>& theta);

  /// The same in pieces, where somebody else computes the products x_i'w of all rows: row
  /// first + k has dots[k * stride]. No bounds are kept; only for a state with G.
  void begin_joint_move(const std::vector<double>& theta);
  void take_products(std::size_t first, std::size_t count, const double* dots, std::size_t stride);
  std::size_t end_joint_move();
  /// Another loss at the same theta.
  void set_loss(const MarginLoss& loss);
  /// All moments made anew, without the rounding of past updates.
  void refresh() { rebuild(nullptr); }

  /// sum s l(m) at theta; fills its gradient.
  double evaluate(std::vector<double>& gradient) const;

  /// out = sum over the parabola of s x (x'v); the loss has twice its curvature times this as its
  /// second derivative.
  void multiply_gram(const std::vector<double>& v, std::vector<double>& out) const;
  /// The lower triangle, row-major, leading dimension size(); only where keeps_gram.
  const std::vector<double>& gram() const { return gram_; }
  /// sum s y x over the line and over the parabola.
  const std::vector<double>& line_sum() const { return line_sum_; }
  const std::vector<double>& parabola_sum() const { return parabola_sum_; }
  /// sum s over the parabola.
  double parabola_weight() const { return parabola_weight_; }

  const SegmentCounts& counts() const { return counts_; }

private:
  /// Rows that crossed a kink, with the coefficients by which they enter (or leave) the moments.
  struct Change {
    std::vector<std::int32_t> rows;
    std::vector<double> line;     // of s y x on the line
    std::vector<double> parabola; // of s y x on the parabola
    std::vector<double> outer;    // of s x x'
    bool skips_gram = false;
  };
  void examine(const RowList& rows, Change& change);
  void examine_block(const RowList& rows, Change& change);
  void cross(std::size_t i, Segment now, Change& change);
  void add_parabola(const RowList& rows, const double* margins);
  void apply(const Change& change);
  void set_bound(std::size_t i, Segment now, double m);
  void rebuild(const double* gram);

  MarginTask task_;
  bool has_bias_;
  bool keeps_gram_;
  bool has_bounds_ = true;
  std::vector<double> norms_;
  MarginBounds bounds_;
  std::vector<Segment> segment_;
  std::vector<double> theta_, line_sum_, parabola_sum_, gram_;
  double line_weight_ = 0.0;
  double parabola_weight_ = 0.0;
  // Without G: the rows on the parabola, their weights, loss and gradient.
  std::vector<std::int32_t> parabola_rows_;
  std::vector<double> parabola_weights_;
  double parabola_value_ = 0.0;
  std::vector<double> parabola_gradient_;
  Change joint_;
  SegmentCounts counts_;
};

} // namespace alphapath
