#include "quadratic/poles.hpp"

#include "base/blas.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace alphapath::quadratic {

namespace {

constexpr double one_value = 1.0, zero_value = 0.0, minus_one = -1.0;
constexpr int one = 1;

double norm_of(std::span<const double> v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

} // namespace

bool ShiftedInverse::factor(const double* Q, std::size_t stride, std::size_t m, double shift) {
  if (M_.is_empty() && capacity_ > 0)
    M_ = Buffer<double>(capacity_ * capacity_);
  m_ = m;
  shift_ = shift;
  if (m == 0)
    return true;
  for (std::size_t j = 0; j < m; ++j) {
    double* column = M_.data() + j * capacity_;
    std::memcpy(column + j, Q + j * stride + j, (m - j) * sizeof(double));
    column[j] += shift;
  }
  const int size = static_cast<int>(m), ld = static_cast<int>(capacity_);
  int info = 0;
  blas().dpotrf("L", &size, M_.data(), &ld, &info);
  if (info == 0)
    blas().dpotri("L", &size, M_.data(), &ld, &info);
  return info == 0;
}

void ShiftedInverse::multiply(const double* x, double* y) const {
  const int size = static_cast<int>(m_), ld = static_cast<int>(capacity_);
  if (size > 0)
    blas().dsymv("L", &size, &one_value, M_.data(), &ld, x, &one, &zero_value, y, &one);
}

double ShiftedInverse::bound_on(std::size_t i, const double* e) const {
  double sum = 0;
  for (std::size_t j = 0; j < m_; ++j)
    sum += std::abs(j < i ? M_[i + j * capacity_] : M_[j + i * capacity_]) * e[j];
  return sum;
}

void ShiftedInverse::insert(const double* row) {
  // [A b; b' d]^-1 = [M + p p'/s, -p/s; -p'/s, 1/s] with p = M b, s = d - b'p.
  column_.resize(m_ + 1);
  multiply(row, column_.data());
  double s = row[m_] + shift_;
  for (std::size_t i = 0; i < m_; ++i)
    s -= row[i] * column_[i];
  // Positive definite, so s >= shift but for rounding.
  s = std::max(s, 0.5 * shift_);
  const int size = static_cast<int>(m_), ld = static_cast<int>(capacity_);
  const double scale = 1 / s;
  if (size > 0)
    blas().dsyr("L", &size, &scale, column_.data(), &one, M_.data(), &ld);
  for (std::size_t i = 0; i < m_; ++i)
    M_[m_ + i * capacity_] = -scale * column_[i];
  M_[m_ + m_ * capacity_] = scale;
  ++m_;
}

void ShiftedInverse::remove(std::size_t j) {
  column_.resize(m_);
  for (std::size_t i = 0; i < m_; ++i)
    column_[i] = i < j ? M_[j + i * capacity_] : M_[i + j * capacity_];
  const int size = static_cast<int>(m_), ld = static_cast<int>(capacity_);
  const double scale = -1 / column_[j];
  blas().dsyr("L", &size, &scale, column_.data(), &one, M_.data(), &ld);
  const std::size_t last = --m_;
  if (j == last)
    return;
  for (std::size_t k = 0; k < j; ++k)
    M_[j + k * capacity_] = M_[last + k * capacity_];
  for (std::size_t k = j + 1; k < last; ++k)
    M_[k + j * capacity_] = M_[last + k * capacity_];
  M_[j + j * capacity_] = M_[last + last * capacity_];
}

/// |tau| beta_k |y_k| for (I - tau T) y = T e_1 norm, by elimination on the tridiagonal T.
double Poles::residual_at(double tau, double norm, std::size_t k) {
  double pivot = 1 - tau * diagonal_[0], value = diagonal_[0] * norm;
  for (std::size_t j = 1; j < k; ++j) {
    const double factor = -tau * off_[j - 1] / pivot;
    value = (j == 1 ? off_[0] * norm : 0.0) - factor * value;
    pivot = 1 - tau * diagonal_[j] + factor * tau * off_[j - 1];
  }
  return std::abs(tau * off_[k - 1] * value / pivot);
}

void Poles::from_lanczos(const ShiftedInverse& M, std::span<const double> v, double near,
                         double far, double tol) {
  const std::size_t m = v.size();
  const double norm = norm_of(v);
  sigma.clear();
  if (!(norm > 0))
    return;
  V_.resize(m);
  diagonal_.clear();
  off_.clear();
  for (std::size_t i = 0; i < m; ++i)
    V_[i] = v[i] / norm;
  const int rows = static_cast<int>(m);
  std::size_t k = 0;
  while (true) {
    V_.resize((k + 2) * m);
    double* next = V_.data() + (k + 1) * m;
    const double* current = V_.data() + k * m;
    M.multiply(current, next);
    diagonal_.push_back(std::inner_product(current, current + m, next, 0.0));
    ++k;
    product_.resize(k);
    const int columns = static_cast<int>(k);
    for (int pass = 0; pass < 2; ++pass) {
      blas().dgemv("T", &rows, &columns, &one_value, V_.data(), &rows, next, &one, &zero_value,
                   product_.data(), &one);
      blas().dgemv("N", &rows, &columns, &minus_one, V_.data(), &rows, product_.data(), &one,
                   &one_value, next, &one);
    }
    const double beta = norm_of({next, m});
    off_.push_back(beta);
    // An invariant subspace, to rounding: what follows would be noise.
    if (k == m || !(beta > 1e-14 * diagonal_[0]))
      break;
    if (k >= 2 && residual_at(M.shift() - far, norm, k) <= tol &&
        residual_at(M.shift() - near, norm, k) <= tol)
      break;
    for (std::size_t i = 0; i < m; ++i)
      next[i] /= beta;
  }
  ritz(m, k, M.shift(), norm);
}

/// Eigenvalues of T and Z = V S diag(s_1k norm).
void Poles::ritz(std::size_t m, std::size_t k, double shift, double norm) {
  const int size = static_cast<int>(k), rows = static_cast<int>(m);
  d_ = diagonal_;
  e_ = off_;
  S_.resize(k * k);
  work_.resize(2 * k);
  int info = 0;
  blas().dstev("V", &size, d_.data(), e_.data(), S_.data(), &size, work_.data(), &info);
  sigma.resize(k);
  for (std::size_t j = 0; j < k; ++j) {
    // Rounding may put a Ritz value a little above 1 / shift; no pole lies beyond lambda = 0.
    sigma[j] = std::max(1 / std::max(d_[j], 1e-300) - shift, 0.0);
    const double weight = S_[j * k] * norm;
    for (std::size_t i = 0; i < k; ++i)
      S_[i + j * k] *= weight;
  }
  Z.resize(m * k);
  blas().dgemm("N", "N", &rows, &size, &size, &one_value, V_.data(), &rows, S_.data(), &size,
               &zero_value, Z.data(), &rows);
}

void Poles::from_eigen(const double* Q, std::size_t stride, std::span<const double> v) {
  const std::size_t m = v.size();
  sigma.resize(m);
  Z.resize(m * m);
  if (m == 0)
    return;
  for (std::size_t j = 0; j < m; ++j)
    std::memcpy(Z.data() + j * m, Q + j * stride, m * sizeof(double));
  const int size = static_cast<int>(m), n_work = 1 + 6 * size + 2 * size * size;
  const int n_integers = 3 + 5 * size;
  work_.resize(static_cast<std::size_t>(n_work));
  std::vector<int> integers(static_cast<std::size_t>(n_integers));
  int info = 0;
  blas().dsyevd("V", "L", &size, Z.data(), &size, sigma.data(), work_.data(), &n_work,
                integers.data(), &n_integers, &info);
  for (std::size_t k = 0; k < m; ++k) {
    sigma[k] = std::max(sigma[k], 0.0);
    double* column = Z.data() + k * m;
    const double weight = std::inner_product(v.begin(), v.end(), column, 0.0);
    for (std::size_t i = 0; i < m; ++i)
      column[i] *= weight;
  }
}

} // namespace alphapath::quadratic
