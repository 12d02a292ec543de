// The one problem family (signed dual):
//
//   minimise    1/2 beta' (K + D) beta - r' beta + epsilon |beta|_1      D = diag(ridge)
//   subject to  lower <= beta <= upper   and, where the model has a free bias,  sum(beta) = total
//
// g = (K + D) beta - r is the gradient of the smooth part.
#pragma once

#include "kernel/kernel_rows.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace alphapath {

struct BoxProblem {
  const KernelRows& kernel;
  std::span<const double> targets, lower, upper;
  double epsilon = 0;
  std::span<const double> ridge = {}; // one value an instance; empty: none
  double total = 0;

  double ridge_of(std::size_t i) const { return ridge.empty() ? 0.0 : ridge[i]; }
};

/// A feasible beta, with its gradient where the caller has it (empty: the solver computes it).
struct StartPoint {
  std::span<const double> beta, gradient;
};

struct SolveOptions {
  double tol = 1e-3;
  std::int64_t max_iter = -1;   // -1: no limit
  double time_limit = 0;        // seconds; 0: no limit
  bool free_set = true;         // solve the free set exactly between SMO steps when that is cheaper
  std::size_t memory_limit = 0; // bytes a solver may use for copies of kernel rows
  double gap_tol = 0; // for one class with squared slacks: stop by this feasibility gap, not by tol
  std::function<bool()> wants_stop;
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

/// What a Solution reports of its point (see quality.hpp).
struct Quality {
  double bias = 0;
  double objective = 0;
  double gap = 0;       // primal minus dual for this beta and this bias
  double violation = 0; // of the optimality conditions: LIBSVM's stopping quantity
  double rounding = 0;  // of the slopes, which may hide as much of the violation
  double n_free = 0;    // instances strictly inside their boxes (and off the kink)
};

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

/// Second-order SMO for the family with the equality constraint.
SolveResult solve_smo(const BoxProblem& problem, const std::optional<StartPoint>& start,
                      const SolveOptions& options);

/// Greedy one-variable coordinate descent for the family without it (epsilon = 0).
SolveResult solve_coordinate(const BoxProblem& problem, const std::optional<StartPoint>& start,
                             const SolveOptions& options);

} // namespace alphapath
