// Newton's method on a regularised sum of margin losses, along a sequence of C.
//
//   minimise  F(theta) = 1/2 |w|^2 + penalty/2 b^2 + C sum_i s_i l(m_i)
//
// On fixed segments F is a quadratic function, and its minimiser one linear system away. Where the
// rows of that minimiser lie on the segments assumed, it is the answer; otherwise the segments are
// updated and the next system solved, with a halved step should F ever rise. Each C starts from the
// theta and the segments of the last.
//
// The gap is half the squared gradient norm: with the dual variables -C s l'(m) Fenchel's
// inequality is tight for every row, and only |theta - sum beta x|^2 / 2 is left of the duality
// gap.
#pragma once

#include "alphapath/box_problem.hpp"
#include "alphapath/interrupt.hpp"
#include "segment_state.hpp"

#include <cstdint>
#include <vector>

namespace alphapath {

struct NewtonOptions {
  bool has_bias = false;
  double bias_penalty = 1.0; // 0: free
  bool keeps_gram = true;
  double tol = 1e-6; // of the gap, relative to F
  std::int64_t max_iter = 200;
};

struct NewtonResult {
  double objective = 0.0;
  double gap = 0.0;
  std::int64_t n_iter = 0;
  std::int64_t n_products = 0; // with the Hessian
  std::int64_t n_factors = 0;
  int status = 0; // as Status
};

class NewtonPath {
public:
  NewtonPath(const MarginTask& task, const NewtonOptions& options, const double* gram);

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
  double evaluate(double C, std::vector<double>& gradient) const;
  void find_step(double C, NewtonResult& result);
  void factor(double C);
  void solve_factored(std::vector<double>& x) const;
  void multiply(double C, const std::vector<double>& v, std::vector<double>& out) const;
  void conjugate_gradients(double C, double accuracy, NewtonResult& result);
  double penalty(std::size_t j) const;

  bool finish(Status status);

  NewtonOptions options_;
  SegmentState state_;
  NewtonResult result_;
  double C_ = 1.0;
  bool is_finished_ = true;
  bool needs_step_ = true;
  bool is_refreshed_ = false; // the moments, since begin()
  bool is_exact_ = false;     // the segments of theta are those its system was solved for
  std::vector<double> origin_, trial_;
  double length_ = 1.0; // of the step tried
  double slope_ = 0.0;
  double damping_ = 0.0; // ridge on a free bias
  double start_objective_ = 0.0;
  std::size_t n_crossed_ = 0;
  int n_halvings_ = 0;
  std::vector<double> factor_; // U'U, upper triangle in Fortran's order
  std::vector<double> gradient_, step_, product_, residual_, direction_;
};

} // namespace alphapath
