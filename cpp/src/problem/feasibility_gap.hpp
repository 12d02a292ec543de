// The feasibility gap of the one-class model with squared slacks, by its definition.
//
//   minimise over w, xi   1/2 |w|^2 + 1/2 sum xi_i^2 / D_ii     subject to  w'phi_i >= 1 - xi_i
//
// For beta = a / rho, w = sum beta_i phi_i and s = (K + D) a:
//   xi_i   = max(0, 1 - (s_i - D_ii a_i) / rho)
//   primal = 1/2 (a's - a'D a) / rho^2 + 1/2 sum xi_i^2 / D_ii
//   dual   = sum(a) / rho - 1/2 a's / rho^2
// and the gap is (primal - dual) / (primal + 1). (Equation 5 and line C of algorithm 2 of the paper
// disagree with each other and with this.)
#pragma once

#include "problem/box_problem.hpp"

namespace alphapath {

/// Unscaled a and its s on all instances; D = ridge_factor * ridge.
struct GapPoint {
  std::span<const double> a, s;
  double rho;
  double ridge_factor = 1;
};

/// Instances with upper = 0 are held out. Infinite where rho <= 0, or where an instance without a
/// ridge lies inside the margin.
double feasibility_gap(const BoxProblem& problem, const GapPoint& point);

} // namespace alphapath
