// Quadratic-loss SVMs without a bias, for every lambda:
//
//   minimise  1/2 a' (Q + lambda I) a - lambda r' a   subject to  0 <= a <= u
//
// Q = D Y K Y D with the labels Y and the roots D of the sample weights folded in, r = rho D 1,
// u = h D 1 (u = infinity: squared hinge). Optimal when, with q = Q a and z = r - q / lambda,
// a_i = clip(z_i, 0, u_i). The decision function is f(x) = 1/lambda sum_i y_i d_i a_i K(x_i, x).
// Karasuyama, "Multi-parametric approaches ...", chapter 5, equations (5.10)-(5.12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace alphapath {

/// Q, r and u; rows of Q start on 64-byte boundaries, `stride` apart, their padding zero.
class QuadraticProblem {
public:
  /// Q_ij = scale_i scale_j K_ij for a symmetric matrix K of n x n values, row after row.
  QuadraticProblem(std::span<const double> kernel, std::span<const double> scale,
                   std::span<const double> targets, std::span<const double> upper);
  ~QuadraticProblem();

  std::size_t size() const { return targets_.size(); }
  std::size_t stride() const { return stride_; }
  const double* matrix() const { return matrix_; }
  std::span<const double> targets() const { return targets_; }
  std::span<const double> upper() const { return upper_; }

private:
  QuadraticProblem(const QuadraticProblem&) = delete;
  QuadraticProblem& operator=(const QuadraticProblem&) = delete;

  std::size_t stride_;
  double* matrix_;
  std::vector<double> targets_, upper_;
};

/// The solution at one lambda.
struct QuadraticSolution {
  std::vector<double> a, q;
  double violation = 0; // largest |a_i - z_i| that the box lets a_i follow
  std::int64_t n_iter = 0;
  bool is_solved = false; // violation <= tol
  bool is_interrupted = false;
  bool is_convex = true; // false: a free block of Q + lambda I was not positive definite
};

struct NewtonOptions {
  double tol = 1e-9;
  int max_iter = 200;
  std::function<bool()> wants_stop;
};

/// Active-set Newton. `guess` gives a and the first sets; empty or zero means cold.
QuadraticSolution solve_quadratic(const QuadraticProblem& problem, double lambda,
                                  std::span<const double> guess, const NewtonOptions& options);

/// Where an instance is: 0 < a < u (the paper's C), a = 0 (R), a = u (L).
enum class Side : std::int8_t { free = 0, zero = 1, bound = 2 };

struct QuadraticPathOptions {
  double lambda_start = 0, lambda_end = 0; // either may be the larger
  bool uses_eigen = false;                 // all eigenvalues at each event, instead of Lanczos
  bool has_cutoff = true;                  // false: solve each equation to the end, to count
  bool keeps_segments = true;              // false: only the events
  std::int64_t max_events = -1;
  double time_limit = 0; // seconds; 0: none
  std::function<bool()> wants_stop;
};

/// One set change, at `lambda`.
struct QuadraticEvent {
  double lambda;
  std::int32_t instance;
  Side from, to;
};

/// A piece of the path: for lambda between `first` and `last`, with x = first - lambda,
///   a(lambda) = a_first - x (drift + sum_k Z_k / (D_k - x))   on the free instances.
/// The drift is zero but for rounding: it takes the fractions to the refined a at `last`.
struct QuadraticSegment {
  double first = 0, last = 0;
  std::size_t n_events;              // set changes before this piece
  std::vector<std::int32_t> members; // the free instances
  std::vector<double> a, drift, poles,
      residues; // residues: one column of members.size() for each pole
};

enum class QuadraticPathStatus {
  finished = 0,
  event_limit = 1,
  interrupted = 2,
  not_convex = 3,
  time_limit = 4
};

struct QuadraticPath {
  std::vector<Side> first_sides; // at lambda_start
  std::vector<double> last_a;    // at the end
  double lambda_end = 0;         // how far it came
  std::vector<QuadraticEvent> events;
  std::vector<QuadraticSegment> segments;
  std::vector<std::pair<double, double>> gaps; // jumps that a piece bridges in a straight line
  QuadraticPathStatus status = QuadraticPathStatus::finished;
  std::int64_t n_equations = 0, n_iterations = 0; // bracketing iterations over all equations
  std::int64_t n_poles = 0;                       // over all pieces
  std::int64_t n_factorizations = 0;
  std::int64_t n_resets = 0;   // degenerate places passed by the Newton solver
  double largest_residual = 0; // of the optimality condition on the free set, at piece ends
};

/// The exact path from lambda_start to lambda_end; `guess` as for solve_quadratic.
QuadraticPath follow_quadratic_path(const QuadraticProblem& problem, std::span<const double> guess,
                                    const QuadraticPathOptions& options);

/// Zeros of s_i + x (e_i + sum_k W_ik / (D_k - x)) for x between 0 and `end` (of either sign), all
/// of them, row by row: the places where decision values change their sign.
struct Crossing {
  std::int32_t row;
  double x;
};
struct RationalRows {
  std::span<const double> s, e; // one value a row
  std::span<const double> W;    // one column of s.size() values for each pole
  std::span<const double> poles;
};
std::vector<Crossing> find_crossings(const RationalRows& rows, double end);

} // namespace alphapath
