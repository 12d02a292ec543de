// How good a point of the box is: the quantities a Solution reports, from beta and its gradient.
//
// The same formulas as alphapath/optimality.py, which the certificate uses; the tests hold the two
// against each other.
#pragma once

#include "alphapath/box_problem.hpp"

namespace alphapath {

/// `gradient` is (K + D) beta - r with the offsets of the kernel included.
Quality measure_quality(const BoxProblem& problem, std::span<const double> beta,
                        std::span<const double> gradient, bool has_equality);

} // namespace alphapath
