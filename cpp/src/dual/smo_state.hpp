// The state of an SMO run in double precision, whatever it iterates in.
#pragma once

#include "base/interrupt.hpp"
#include "dual/workspace.hpp"
#include "problem/box_problem.hpp"
#include "problem/solution.hpp"
#include "simd/dual/state_loops.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace alphapath {

/// Kernel values beyond this are not trusted to float32, whose range ends at 3.4e38.
inline constexpr double largest_in_float32 = 1e36;

class SmoState {
public:
  /// `workspace` is borrowed, so that it can outlive this run.
  SmoState(const BoxProblem& problem, const std::optional<StartPoint>& start,
           const SolveOptions& options, Workspace& workspace);

  /// Brings `gradient` up to date with beta, by the rows of the instances that changed.
  void refresh();
  /// Restores what rounding took from the sum at the free instances with the most room.
  void restore_sum();
  /// Brings the sum to its total by the moves that cost the objective least: the instance with the
  /// most favourable slope goes to its bound, and so on. Keeps the gradient up to date.
  void restore_sum_greedily();
  /// Puts what only rounding keeps off a bound on it. Returns whether any moved.
  bool snap_to_bounds();
  /// By how much the objective changed since beta was `before`, where the gradient was `slopes` up
  /// to a constant. The sum is the same, and the gradient up to date.
  double change_since(std::span<const double> before, std::span<const double> slopes) const;
  SlopeRange slope_range() const { return alphapath::slope_range(problem, beta, gradient); }
  /// Whether its values may be rounded to float32 without becoming infinite.
  bool fits_float32() const { return kernel_size <= largest_in_float32; }
  simd::Point point() const {
    return {beta.data(),          gradient.data(), problem.lower.data(),
            problem.upper.data(), beta.size(),     problem.epsilon};
  }
  /// Gradient in the caller's terms (offsets of the kernel store added back).
  SolveResult finish(Status status);

  double rising_slope(std::size_t i) const {
    return gradient[i] + (beta[i] >= 0 ? problem.epsilon : -problem.epsilon);
  }
  double falling_slope(std::size_t i) const {
    return gradient[i] + (beta[i] > 0 ? problem.epsilon : -problem.epsilon);
  }
  bool may_rise(std::size_t i) const { return beta[i] < problem.upper[i]; }
  bool may_fall(std::size_t i) const { return beta[i] > problem.lower[i]; }
  bool is_at_iteration_limit() const {
    return options.max_iter >= 0 && result.n_iter >= options.max_iter;
  }
  /// The limit that ended the run, if one did.
  std::optional<Status> limit_reached() const;

  const BoxProblem& problem;
  const SolveOptions& options;
  Watch watch;
  Workspace& workspace;
  CopyBudget copies;
  std::vector<double> beta;
  std::vector<double> gradient;       // of the stored kernel at `reference`: K~ reference - r
  std::vector<std::uint32_t> movable; // lower < upper
  bool has_negative_curvature = false;
  // Set by who starts close to the solution with a factor at hand: the first free-set solve then
  // comes early.
  bool is_nearly_solved = false;
  // Whether to iterate first on what the workspace says is near.
  bool begins_near = false;
  // Asked when the gradient is up to date: true ends the run before the tolerance is reached.
  std::function<bool()> is_enough;
  SolveResult result; // counters

private:
  void start_cold();
  void start_from(const StartPoint& start);
  void gradient_from_scratch();
  double offset_product() const;
  double size_of_box() const;
  bool is_rounded_by_the_past() const;
  void add_changes();
  void measure();

  double kernel_size = 0; // of its stored values, at most
  double moved = 0;       // |betas| that went into the gradient, and out again
  std::vector<double> reference;
  std::vector<std::size_t> changed; // room for refresh
  std::vector<double> change;
};

} // namespace alphapath
