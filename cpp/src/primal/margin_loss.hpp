// Losses of margins m_i = y_i (w'x_i + b), and what a linear model sums of them.
#pragma once

#include "primal/margin_rows.hpp"

#include <cstdint>
#include <limits>

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

  /// Without branches: the side on which a margin lies cannot be predicted.
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

} // namespace alphapath
