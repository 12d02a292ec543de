// Exact leave-one-out values from the full solution.
#pragma once

#include "problem/box_problem.hpp"
#include "problem/limits.hpp"

namespace alphapath {

struct LeaveOneOutResult {
  std::vector<double> values; // decision value of each left-out instance, bias included
  std::vector<std::int64_t> n_iter;
  std::vector<Status> statuses; // shorter than the list asked for where the run was stopped
  double solve_time = 0;
};

struct LeftOut {
  std::size_t instance;
  double total; // the sum constraint without it
};

/// For every instance listed: its decision value by the model trained without it, where `full` is
/// the solution with all instances. An instance whose absence changes nothing (beta = 0, total
/// unchanged) needs no call: its value is the full model's.
/// `only_signs`, for classifiers: a refit ends as soon as the sign of the value is certain.
LeaveOneOutResult leave_one_out(const BoxProblem& problem, const StartPoint& full,
                                std::span<const LeftOut> instances, const SolveOptions& options,
                                bool only_signs);

} // namespace alphapath
