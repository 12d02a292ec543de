// The poles of a piece of the path: w(lambda) = (Q_FF + lambda I)^-1 v as a sum of few fractions.
//
// With M = (Q_FF + l I)^-1 and Lanczos on M from v (M V = V T + ..., T = S diag(theta) S'),
//
//   w(lambda) = sum_k Z_k / (sigma_k + lambda),  sigma_k = 1/theta_k - l,  Z_k = V s_k s_1k |v|,
//
// to a residual of |l - lambda| beta_k |y_k| (y the coordinates of w in V): l within a factor of
// two of lambda makes that fall by about 1/30 a vector. The eigendecomposition of Q_FF gives the
// same form with all poles (5.14)-(5.16).
#pragma once

#include "base/buffer.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace alphapath::quadratic {

/// M = (Q_FF + shift I)^-1, its lower triangle, column after column, kept through set changes.
class ShiftedInverse {
public:
  explicit ShiftedInverse(std::size_t capacity) : capacity_(capacity) {}

  /// From scratch; false where Q_FF + shift I is not positive definite. Q: leading m x m block.
  bool factor(const double* Q, std::size_t stride, std::size_t m, double shift);
  /// The next position joins: its row of Q.
  void insert(const double* row);
  /// Position j leaves, the last one takes its place.
  void remove(std::size_t j);
  /// y = M x
  void multiply(const double* x, double* y) const;

  /// sum_j |M_ij| e_j
  double bound_on(std::size_t i, const double* e) const;

  std::size_t size() const { return m_; }
  double shift() const { return shift_; }

private:
  std::size_t capacity_, m_ = 0;
  double shift_ = 0;
  Buffer<double> M_;
  std::vector<double> column_;
};

/// sigma_k and Z (m values a pole); kept buffers make repeated use free of allocation.
class Poles {
public:
  /// Lanczos for lambda between `near` and `far`, until far's (and near's) residual is below `tol`.
  void from_lanczos(const ShiftedInverse& M, std::span<const double> v, double near, double far,
                    double tol);
  /// All eigenvalues of the leading m x m block of Q.
  void from_eigen(const double* Q, std::size_t stride, std::span<const double> v);

  std::size_t count() const { return sigma.size(); }

  std::vector<double> sigma;
  std::vector<double> Z;

private:
  double residual_at(double tau, double norm, std::size_t k);
  void ritz(std::size_t m, std::size_t k, double shift, double norm);

  std::vector<double> V_, diagonal_, off_, work_, product_, S_, d_, e_;
};

} // namespace alphapath::quadratic
