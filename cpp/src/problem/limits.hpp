// The stopping limits of a solve, and how it ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace alphapath {

struct Limits {
  double tol = 1e-3;          // of what the solver reduces: as a rule the violation of optimality
  std::int64_t max_iter = -1; // -1: no limit
  double time_limit = 0;      // seconds; 0: no limit
  double gap_tol = 0;         // where a solver knows its relative gap: stop by it; 0: by tol
  std::function<bool()> wants_stop = {};
};

/// Limits, and options of solvers with an equality.
struct SolveOptions : Limits {
  bool free_set = true;         // solve the free set exactly between SMO steps when that is cheaper
  std::size_t memory_limit = 0; // bytes a solver may use for copies of kernel rows
};

/// The numbers are part of the Python interface (alphapath.Status).
enum class Status {
  solved = 0,
  iteration_limit = 1,
  time_limit = 2,
  interrupted = 3,
  stationary = 4, // optimality conditions hold, but negative curvature was met: K is not PSD
  stalled = 5     // rounding ended progress before the tolerance was reached
};

} // namespace alphapath
