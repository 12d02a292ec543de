// The one problem family (signed dual):
//
//   minimise    1/2 beta' (K + D) beta - r' beta + epsilon |beta|_1      D = diag(ridge)
//   subject to  lower <= beta <= upper   and, where the model has a free bias,  sum(beta) = total
//
// g = (K + D) beta - r is the gradient of the smooth part.
#pragma once

#include "kernel/kernel_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace alphapath {

struct BoxProblem {
  const KernelRows& kernel;
  std::span<const double> targets, lower, upper;
  double epsilon = 0;
  std::span<const double> ridge = {}; // one value an instance; empty: none
  double total = 0;

  double ridge_of(std::size_t i) const { return ridge.empty() ? 0.0 : ridge[i]; }
};

/// A feasible beta, with its gradient where the caller has it (empty: the solver computes it).
struct StartPoint {
  std::span<const double> beta, gradient;
};

/// The smooth piece of the box around a beta that is not at the kink.
struct Piece {
  double lower, upper;
};

inline Piece smooth_piece(const BoxProblem& p, std::size_t i, double beta) {
  if (p.epsilon == 0)
    return {p.lower[i], p.upper[i]};
  return beta > 0 ? Piece{std::max(p.lower[i], 0.0), p.upper[i]}
                  : Piece{p.lower[i], std::min(p.upper[i], 0.0)};
}

inline bool is_free(const BoxProblem& p, std::size_t i, double beta) {
  return beta > p.lower[i] && beta < p.upper[i] && (p.epsilon == 0 || beta != 0);
}

} // namespace alphapath
