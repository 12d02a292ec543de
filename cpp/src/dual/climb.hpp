// A cold solve at a large C by way of smaller ones.
//
// At large C most of SMO's work is finding out which instances end up free. Solved at a small C
// first and then scaled up a few times, the partition is nearly right at every stage.
#pragma once

#include "problem/box_problem.hpp"

#include <vector>

namespace alphapath {

/// Shares of the box (ascending, all below 1) at which to solve first; empty where it does not pay.
std::vector<double> climbing_shares(const BoxProblem& problem);

/// The solution at one share of the box as a start at a larger one: unchanged where no beta was at
/// its outer bound (it is then optimal there too), else scaled, which keeps the partition.
void scale_start(const BoxProblem& problem, double old_share, double new_share,
                 std::vector<double>& beta, std::vector<double>& gradient);

} // namespace alphapath
