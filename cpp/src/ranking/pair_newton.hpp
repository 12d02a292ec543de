// Newton's method on w for a linear ranking model with a rounded hinge.
//
//   minimise 1/2 |w|^2 + sum_p c_p L(e_p),   e_p = w'(x_i - x_j) - 1
//   L(e) = 0 for e >= 0,   e^2 / (2h) for -h <= e <= 0,   -e - h/2 below
//
// Given: pairs p = (i, j), weights c. Returned: beta_p = -c_p L'(e_p), feasible for the hinge
// itself (h = 0), where it has a KKT violation of at most h: only pairs with -h < e < 0 lie inside
// their box. So h = tol is small enough, and is reached from a wide band by fours. The Hessian I +
// X'LX, L the Laplacian of the pairs in the band, is gathered a query at a time; nothing is as
// large as pairs times features. (After O. Chapelle and S. Keerthi, Efficient algorithms for
// ranking with SVMs, who take squared losses.)
#pragma once

#include "base/interrupt.hpp"
#include "ranking/pair_descent.hpp"

namespace alphapath {

/// For rows of few features: the Hessian is dense. n_passes counts Newton steps.
PairResult solve_pairs_by_newton(const ScoreSpace& rows, const RankPairs& pairs,
                                 std::span<const double> upper, const Limits& limits);

} // namespace alphapath
