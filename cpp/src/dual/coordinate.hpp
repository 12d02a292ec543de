// Greedy coordinate descent for the family without the equality constraint:
//
//   minimise  1/2 beta' (K + D) beta - r' beta   subject to  lower <= beta <= upper
//
//   repeat  i = argmax of the decrease a step in beta_i alone can bring
//           beta_i <- clip(beta_i - g_i / (K_ii + D_ii)),  g += step K_i
//
// One pass per step: the update of g and the search for the next i are fused. All in double; the
// kernel's offsets are added on the fly, since without the equality they do not cancel.
#pragma once

#include "base/interrupt.hpp"
#include "problem/box_problem.hpp"
#include "problem/solution.hpp"
#include "simd/dual/coordinate_loops.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace alphapath {

/// One problem, or several that differ in D alone: beta stays from one to the next.
class Coordinate {
public:
  Coordinate(const BoxProblem& problem, const std::optional<StartPoint>& start,
             const SolveOptions& options);

  /// From now on, D = factor * problem.ridge; on entry and exit gradient = (K + D) beta - r.
  void set_ridge_factor(double factor);

  /// Descends until the rule of the options holds: the KKT violation, or the feasibility gap, in
  /// which case beta is scaled so that the gap is that of beta itself. The limit on iterations is
  /// that of one call, the time limit that of all.
  Status descend();

  std::span<const double> beta() const { return std::span(beta_).first(n_); }
  std::span<const double> gradient() const { return std::span(gradient_).first(n_); }
  double gap() const { return gap_; }
  std::int64_t n_iter() const { return n_iter_; }
  std::int64_t n_refreshes() const { return n_refreshes_; }
  double seconds() const { return watch_.seconds(); }

private:
  Status descend_by_violation();
  Status descend_by_gap();
  bool meets_gap();
  double best_scale() const;
  double gap_at(double scale);
  void scale_by(double factor);
  std::optional<Status> find_limit();
  void step();
  void find_next();
  void refresh();
  simd::CoordinateView view();

  double ridge_of(std::size_t i) const { return ridge_factor_ * p_.ridge_of(i); }

  const BoxProblem& p_;
  const SolveOptions& options_;
  Watch watch_;
  std::size_t n_;
  double ridge_factor_ = 1;
  // Padded to a multiple of 16.
  std::vector<double> beta_, gradient_, lower_, upper_, curvature_, inverse_, offset_;
  std::vector<double> s_;
  simd::CoordinateCandidate next_{};
  double gap_ = 0;
  double last_move_ = 1;
  std::int64_t n_iter_ = 0, n_refreshes_ = 0;
  std::int64_t first_iter_ = 0; // n_iter_ when this descent began
  bool is_fresh_ = false;
};

/// One problem, from a start (epsilon = 0).
SolveResult solve_coordinate(const BoxProblem& problem, const std::optional<StartPoint>& start,
                             const SolveOptions& options);

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

/// One class with squared slacks for several C in turn: solves the problem with ridge factors[k] *
/// problem.ridge for every k, each from the solution before it; options.gap_tol is the stopping
/// rule.
RidgeChainResult solve_ridge_chain(const BoxProblem& problem, std::span<const double> factors,
                                   const std::optional<StartPoint>& start,
                                   const SolveOptions& options);

} // namespace alphapath
