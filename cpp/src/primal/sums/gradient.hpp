// Gradient descent on a regularised sum of margin losses, as in section 4.2 of the paper.
#pragma once

#include "primal/sums/loss_sums.hpp"
#include "problem/limits.hpp"

#include <cstdint>
#include <vector>

namespace alphapath {

/// Stops at a relative change `tol` of the objective, or, for losses with slopes, at a relative
/// gap.
struct DescentOptions : Limits {
  DescentOptions() { tol = 1e-4; }

  double lam = 1.0;        // of lam / 2 |w|^2
  double bias_lam = 0.0;   // of bias_lam / 2 b^2
  bool has_bias = true;    // otherwise b stays 0
  double step = 100.0;     // at the first iteration
  bool halves_step = true; // halve the step whenever the objective rose
};

struct DescentResult {
  std::vector<double> theta; // w, and last b
  double objective = 0.0;
  double step = 0.0;
  std::int64_t n_iter = 0;
  Status status = Status::solved;
};

/// Minimises lam / 2 |w|^2 + bias_lam / 2 b^2 + sums.value(w, b) from `theta` by fixed steps that
/// are halved when the objective rose; stops at a relative change below tol, as the paper does, or
/// at a gap: where steps are too long or too short the change says little of the distance.
DescentResult descend(MarginSums& sums, std::vector<double> theta, const DescentOptions& options);

} // namespace alphapath
