#include "problem/feasibility_gap.hpp"

#include <algorithm>
#include <limits>

namespace alphapath {

double feasibility_gap(const BoxProblem& problem, const GapPoint& point) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!(point.rho > 0))
    return infinity;
  const double scale = 1 / point.rho;
  // Summed instance by instance, so that the small difference of two large sums keeps its digits:
  // primal - dual = sum of  beta_i (f_i - 1) + D_ii beta_i^2 / 2 + xi_i^2 / (2 D_ii).
  double squared_norm = 0, losses = 0, gap = 0;
  for (std::size_t i = 0; i < point.a.size(); ++i) {
    if (problem.upper[i] == 0)
      continue;
    const double ridge = point.ridge_factor * problem.ridge_of(i);
    const double beta = point.a[i] * scale;
    const double value = point.s[i] * scale - ridge * beta;
    const double slack = std::max(0.0, 1 - value);
    double loss = 0;
    if (slack > 0) {
      if (ridge > 0)
        loss = 0.5 * slack * slack / ridge;
      else if (slack > 1e-12)
        return infinity;
    }
    squared_norm += beta * value;
    losses += loss;
    gap += beta * (value - 1) + 0.5 * ridge * beta * beta + loss;
  }
  return gap / (0.5 * squared_norm + losses + 1);
}

} // namespace alphapath
