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
#include <span>
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

/// Where an instance is: 0 < a < u (the paper's C), a = 0 (R), a = u (L).
enum class Side : std::int8_t { free = 0, zero = 1, bound = 2 };

} // namespace alphapath
