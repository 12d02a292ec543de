// OneClassMaxMinOver (Timm, Klement, Martinetz): one class with squared slacks.
#pragma once

#include "problem/box_problem.hpp"
#include "problem/solution.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace alphapath {

struct MaxMinOverOptions {
  Limits limits;                       // tol is the relative feasibility gap
  std::int64_t recompute_every = 1000; // steps between fresh computations of s
  std::int64_t check_every = 0;        // steps between evaluations of the gap; 0: by the work
};

struct GapRecord {
  std::int64_t n_iter;
  double gap;
};

struct MaxMinOverResult {
  SolveResult solution;         // beta = counters / rho, gradient = s / rho - 1
  std::vector<double> counters; // unscaled: what the next node starts from
  double gap = 0;
  std::vector<GapRecord> trace; // the gap at every evaluation
};

/// Counters as integers, steps +2 and -1. `start->beta` holds counters (any feasible beta is
/// accepted), `start->gradient` s - 1 of the same counters where the caller has it.
MaxMinOverResult solve_maxminover(const BoxProblem& problem, const std::optional<StartPoint>& start,
                                  const MaxMinOverOptions& options);

} // namespace alphapath
