// The Newton system of fixed segments, solved for the dual variables of the rows on the parabola.
//
//   minimise  1/2 |w|^2 + penalty/2 b^2 + C sum_line s (1 - m) + C sum_parabola s q (high - m)^2
//
// With lambda_i = 2 C s_i q (high - m_i) its solution is theta = P^-1 (C line_sum + A'lambda),
// where A has the rows y x of the parabola, P the penalties, and
//   (A P^-1 A' + diag(1 / (2 C s q))) lambda = high - A P^-1 C line_sum,
// bordered by y'lambda = -C line_sum_b where the bias is free. For a steep and narrow parabola with
// few rows this keeps the digits that the normal equations, H = P + 2 C q A'SA, lose.
#pragma once

#include "factor/normal_factor.hpp"
#include "primal/newton/segment_state.hpp"

#include <vector>

namespace alphapath {

class ParabolaSystem {
public:
  /// Whether the normal equations would lose too many digits, and there are few enough rows.
  static bool is_better(const SegmentState& state, double C);

  /// The minimiser on the segments of `state`; `bias_penalty` < 0: no bias.
  const std::vector<double>& solve(const SegmentState& state, double C, double bias_penalty);

private:
  void fill(const SegmentState& state, double bias_penalty);

  NormalFactor factor_;
  std::vector<double> gram_, diagonal_, right_, border_, row_, theta_;
};

} // namespace alphapath
