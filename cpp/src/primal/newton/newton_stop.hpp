// When Newton's method on margin losses stops, whatever its start was.
//
// Two rules bound the norm of the gradient g. The gap |g|^2 / 2 must be within tol of F. Where C is
// small, F is nearly that of theta = 0 and this asks for little: there |g| must be within a share
// of |g(0)|, as in LIBLINEAR. But LIBLINEAR stops after whole Newton steps, and where C is small
// these converge quadratically: it ends far below its own rule, at about the square of it. So the
// share rule q is squared against the gap rule G where it is the smaller one: |g| <= q^2 / G. As C
// falls, that bound meets G without a jump and falls on with C^2.
#pragma once

#include "primal/sums/loss_sums.hpp"

#include <cstdint>
#include <limits>

namespace alphapath {

struct NewtonPathOptions {
  bool has_bias = false;
  double bias_penalty = 1.0; // 0: free
  bool keeps_gram = true;
  bool are_signs_enough = false; // of held-out decision values, for paths side by side
  double tol = 1e-6;             // of the gap, relative to F
  // Of the gradient norm, relative to that at theta = 0 times the share of the rarer class.
  double gradient_tol = std::numeric_limits<double>::infinity();
  // Of the slope of a free bias, times how far the bias may still go (as if to 0 and 1 further),
  // relative to F: there the gap knows nothing of it.
  double bias_tol = std::numeric_limits<double>::infinity();
  std::int64_t max_iter = 200;
};

/// Of the weights.
double share_of_rarer_class(const MarginTask& task);

/// The gradient norm at which to stop. `zero_gradient`: that at theta = 0, times the share of the
/// rarer class.
double largest_gradient(const NewtonPathOptions& options, double zero_gradient, double objective);

} // namespace alphapath
