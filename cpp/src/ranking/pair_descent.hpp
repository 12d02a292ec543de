// Coordinate descent over the pairs of a ranking model, one query after another.
//
//   minimise 1/2 |sum_p beta_p (phi_i - phi_j)|^2 - sum_p beta_p,   0 <= beta_p <= c_p
//
// Given: pairs p = (i, j), bounds c, a feasible start. Returned: beta with a KKT violation of at
// most tol. A step costs as much as its query has instances: scores of the query are kept while
// its pairs are visited, and its change goes to all other queries at once when it is left. Pairs
// that stay at a bound are left out for a while. (C.-J. Hsieh and others, A dual coordinate descent
// method for large-scale linear SVM, algorithm 3, on pairs.)
#pragma once

#include "problem/limits.hpp"
#include "ranking/score_space.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

struct PairResult {
  Status status = Status::solved;
  std::vector<double> beta;
  std::int64_t n_passes = 0; // over the pairs that were not left out
  std::int64_t n_steps = 0;  // of one pair
};

/// limits.max_iter: passes.
PairResult descend_pairs(const ScoreSpace& space, const RankPairs& pairs,
                         std::span<const double> upper, std::span<const double> start,
                         const Limits& limits);

} // namespace alphapath
