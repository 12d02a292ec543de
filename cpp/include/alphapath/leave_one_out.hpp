// Exact leave-one-out values from the full solution.
#pragma once

#include "alphapath/box_problem.hpp"

namespace alphapath {

struct LeaveOneOutResult {
  std::vector<double> values; // decision value of each left-out instance, bias included
  std::vector<std::int64_t> n_iter;
  std::vector<Status> statuses; // shorter than the list asked for where the run was stopped
  double solve_time = 0;
};

/// For every instance t listed: the decision value at t of the model trained without t, where
/// `full` is the solution with all instances, and total_without[k] the sum constraint without the
/// k-th of them. An instance with beta = 0 needs no call: its value is the full model's.
LeaveOneOutResult leave_one_out(const BoxProblem& problem, const StartPoint& full,
                                std::span<const std::size_t> instances,
                                std::span<const double> total_without, const SolveOptions& options);

} // namespace alphapath
