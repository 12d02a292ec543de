// Coordinate descent on the dual of a linear SVM with a margin loss, the bias penalised or absent:
//
//   minimise  1/2 |theta|^2 + 1/2 sum r_i alpha_i^2 - high sum alpha,    theta = sum alpha_i y_i
//   x_i
//
// over 0 <= alpha_i <= c_i. The ridge r_i is 0 for the hinge; for a loss that is q (high - m)^2 on
// its parabola it is 1 / (2 q c_i), and where that has no lower end alpha_i has no upper one.
//
// Given rows x_i (with a last feature of ones where there is a bias), labels and weights c_i. A
// visit puts alpha_i to its best, which moves theta along x_i (Hsieh et al., the method of
// LIBLINEAR). Sweeps over all rows take turns with sweeps over those that moved or are inside their
// box.
//
// Shrinking is exact: a row at a bound is passed over only while its visit is proven to change
// nothing. All margins are known at a reference theta', and |theta - theta'| is known at every
// moment: a step of alpha_i changes its square by 2 step (m_i - m'_i) + step^2 |x_i|^2, at no cost.
// While that distance times |x_i| is less than |m'_i - 1|, the margin is still on its side of 1.
// The length of the path, some hundred times the distance, would prove next to nothing. With and
// without bounds the iterates are the same to the last bit.
//
// It stops by the duality gap, a sum of what every row leaves of Fenchel's inequality: for the
// hinge (c_i - alpha_i) (1 - m_i)_+ + alpha_i (m_i - 1)_+.
#pragma once

#include "primal/margin_loss.hpp"
#include "problem/limits.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

/// `tol` is of the gap, relative to the objective; max_iter counts sweeps over all rows.
struct DualOptions : Limits {
  DualOptions() { tol = 1e-4; }

  bool has_bias = false; // theta ends in b, penalised like w
  // Margins computed at which to give up, or as soon as that many are predicted; -1: never.
  std::int64_t max_examined = -1;
  bool uses_bounds = true;
  std::uint64_t seed = 0; // determines the order of all sweeps
};

struct DualResult {
  std::vector<double> alpha;
  std::vector<double> theta; // w, and last b: the sum over alpha
  double objective = 0.0;    // of the primal, at theta
  double gap = 0.0;          // to the dual, at alpha
  double violation = 0.0;    // largest projected gradient
  std::int64_t n_iter = 0;
  std::int64_t n_inner = 0;    // sweeps over few rows
  std::int64_t n_examined = 0; // margins computed
  std::int64_t n_pruned = 0;   // margins spared in the sweeps over all rows
  std::int64_t n_references = 0;
  Status status = Status::solved;
};

/// From `start`, which must lie within the bounds; empty: from 0.
DualResult descend_dual(const MarginTask& task, std::span<const double> start,
                        const DualOptions& options);

} // namespace alphapath
