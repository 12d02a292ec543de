// What a solver of the box problem returns.
#pragma once

#include "problem/limits.hpp"
#include "problem/quality.hpp"

#include <cstdint>
#include <vector>

namespace alphapath {

struct SolveResult {
  std::vector<double> beta, gradient; // gradient of all instances, held-out ones included
  Status status = Status::solved;
  Quality quality;
  double hidden = 0; // the part of quality.violation that only rounding may have put there
  std::int64_t n_iter = 0;
  std::int64_t n_free_set_solves = 0;
  std::int64_t n_bound_hits = 0;
  std::int64_t n_refreshes = 0;
  double solve_time = 0;
};

/// A point whose violation is far beyond the tolerance, or whose slopes are rounded by more than
/// that, is not solved: it stalled. What rounding may hide there is part of its violation.
void admit_rounding(double tol, SolveResult& result);

} // namespace alphapath
