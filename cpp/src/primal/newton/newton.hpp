// Newton's method on a regularised sum of margin losses, along a sequence of C.
//
//   minimise  F(theta) = 1/2 |w|^2 + penalty/2 b^2 + C sum_i s_i l(m_i)
//
// On fixed segments F is a quadratic function, and its minimiser one linear system away. Where the
// rows of that minimiser lie on the segments assumed, it is the answer; otherwise the segments are
// updated and the next system solved. Should F rise, the step goes to the minimum along it (of
// paths side by side: it is halved). Each C starts from the theta and the segments of the last.
//
// Where the second moments are kept as a matrix, a system is solved by conjugate gradients with the
// factor of an earlier one, of another C or another fold, as preconditioner; without the matrix by
// conjugate residuals over the rows on the parabola, which make the gradient small soonest. Where
// the parabola is steep and has few rows, their dual variables are the unknowns
// (parabola_system.hpp).
//
// The gap is half the squared gradient norm: with the dual variables -C s l'(m) Fenchel's
// inequality is tight for every row, and only |theta - sum beta x|^2 / 2 is left of the duality
// gap. Two rules bound the norm of the gradient g, whatever the start was. The gap |g|^2 / 2 must
// be within tol of F. Where C is small, F is nearly that of theta = 0 and this asks for little:
// there |g| must be within a share of |g(0)|, as in LIBLINEAR. But LIBLINEAR stops after whole
// Newton steps, and where C is small these converge quadratically: it ends far below its own rule,
// at about the square of it. So the share rule q is squared against the gap rule G where it is the
// smaller one: |g| <= q^2 / G. As C falls, that bound meets G without a jump and falls on with C^2.
#pragma once

#include "base/interrupt.hpp"
#include "factor/normal_factor.hpp"
#include "primal/margin_loss.hpp"
#include "primal/newton/parabola_system.hpp"
#include "primal/newton/segment_state.hpp"
#include "problem/limits.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace alphapath {

struct NewtonPathOptions {
  bool has_bias = false;
  double bias_penalty = 1.0; // 0: free
  bool keeps_gram = true;
  bool are_signs_enough = false; // of held-out decision values, for paths side by side
  double tol = 1e-6;             // of the gap, relative to F
  // Of the gradient norm, relative to that at theta = 0 times the share of the rarer class.
  double gradient_tol = std::numeric_limits<double>::infinity();
  // Of the slope of a free bias, times how far the bias may still go (as if to 0 and 1 further),
  // relative to F: there the gap knows nothing of it.
  double bias_tol = std::numeric_limits<double>::infinity();
  std::int64_t max_iter = 200;
};

struct NewtonResult {
  double objective = 0.0;
  double gap = 0.0;
  std::int64_t n_iter = 0;
  std::int64_t n_products = 0; // with the Hessian
  std::int64_t n_factors = 0;
  Status status = Status::solved;
};

class NewtonPath {
public:
  NewtonPath(const MarginTask& task, const NewtonPathOptions& options, const double* gram);
  /// Moved together with others, with which it shares the factor. `start`: as for SegmentState.
  NewtonPath(const MarginTask& task, const NewtonPathOptions& options, ParabolaMoments start,
             std::shared_ptr<NormalFactor> factor);

  NewtonResult solve(double C, Watch& watch);

  /// The same in pieces, for several paths side by side: begin(C); then, while propose() finds
  /// something to try, the caller moves the state to trial() and calls take().
  void begin(double C);
  bool propose(Watch& watch);
  const std::vector<double>& trial() const { return trial_; }
  void take(std::size_t n_crossed);
  const NewtonResult& result() const { return result_; }

  SegmentState& state() { return state_; }
  const SegmentState& state() const { return state_; }

private:
  void measure_zero();
  double evaluate(double C, std::vector<double>& gradient) const;
  double largest_gradient() const;
  bool is_small_enough(double size) const;
  void find_step();
  double find_minimum_along() const;
  void solve_with_factor();
  bool conjugate_gradients(std::size_t max_products);
  void conjugate_residuals();
  void factor();
  void multiply(const std::vector<double>& v, std::vector<double>& out);
  double penalty(std::size_t j) const;

  bool finish(Status status);

  NewtonPathOptions options_;
  SegmentState state_;
  std::shared_ptr<NormalFactor> factor_;
  bool is_joint_;
  ParabolaSystem parabola_;
  NewtonResult result_;
  double C_ = 1.0;
  bool is_finished_ = true;
  bool needs_step_ = true;
  bool is_refreshed_ = false;  // the moments, since begin()
  bool is_exact_ = false;      // the segments of theta are those its system was solved for
  bool is_fresh_ = false;      // the system of this step was factored itself
  double zero_gradient_ = 0.0; // norm of the gradient of the losses at 0, times the rarer class
  std::vector<double> origin_, trial_;
  double goal_ = 0.0;   // of the residual of a system
  double length_ = 1.0; // of the step tried
  double slope_ = 0.0;
  double damping_ = 0.0; // ridge on a free bias
  double start_objective_ = 0.0;
  double least_size_ = 0.0; // of the gradient, since begin()
  std::size_t n_crossed_ = 0;
  int n_halvings_ = 0;
  int n_level_ = 0; // steps in a row that did not bring F down
  std::vector<double> gradient_, step_, product_, residual_, direction_, preconditioned_;
};

/// Of the weights.
double share_of_rarer_class(const MarginTask& task);

/// The gradient norm at which to stop. `zero_gradient`: that at theta = 0, times the share of the
/// rarer class.
double largest_gradient(const NewtonPathOptions& options, double zero_gradient, double objective);

} // namespace alphapath
