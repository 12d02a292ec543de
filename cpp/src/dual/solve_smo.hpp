// Second-order SMO from a start to the tolerance: in float32 as far as that carries, by way of
// smaller C where the problem is cold and C large.
#pragma once

#include "dual/smo_state.hpp"
#include "dual/workspace.hpp"
#include "problem/box_problem.hpp"
#include "problem/solution.hpp"

#include <optional>

namespace alphapath {

/// For the family with the equality constraint.
SolveResult solve_smo(const BoxProblem& problem, const std::optional<StartPoint>& start,
                      const SolveOptions& options);

/// The same with a workspace that outlives it.
SolveResult solve_smo(const BoxProblem& problem, const std::optional<StartPoint>& start,
                      const SolveOptions& options, Workspace& workspace);

/// From the state's beta to its tolerance: in float32 as far as that carries, then in double.
Status descend(SmoState& state);

} // namespace alphapath
