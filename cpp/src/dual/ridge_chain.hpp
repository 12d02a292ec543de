// One class with squared slacks for several C in turn, on one kernel.
#pragma once

#include "problem/box_problem.hpp"

namespace alphapath {

struct ChainNode {
  Status status;
  std::int64_t n_iter;
  std::int64_t n_refreshes;
  double gap;
  double seconds;
};

struct RidgeChainResult {
  std::vector<ChainNode> nodes;       // shorter than the list asked for where the run was stopped
  std::vector<double> beta, gradient; // one row of n values a node
};

/// Solves the problem with ridge factors[k] * problem.ridge for every k, each from the solution
/// before it; options.gap_tol is the stopping rule.
RidgeChainResult solve_ridge_chain(const BoxProblem& problem, std::span<const double> factors,
                                   const std::optional<StartPoint>& start,
                                   const SolveOptions& options);

} // namespace alphapath
