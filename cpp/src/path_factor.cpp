#include "path_factor.hpp"

#include "alphapath/blas.hpp"
#include "simd/isa.hpp"
#include "simd/margin_loops.hpp"
#include "simd/path_loops.hpp"
#include "simd/triangular.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  return ALPHAPATH_DISPATCH(dot_product)(x.data(), y.data(), x.size());
}

} // namespace

PathFactor& PathFactor::operator=(const PathFactor& other) {
  size_ = 0;
  ones_ = other.ones_;
  carried_ = other.carried_;
  reserve(other.size_);
  size_ = other.size_;
  for (std::size_t c = 0; c < size_; ++c)
    std::copy_n(other.lower_.data() + c * other.capacity_ + c, size_ - c,
                lower_.data() + c * capacity_ + c);
  return *this;
}

void PathFactor::reserve(std::size_t m) {
  if (m <= capacity_)
    return;
  const std::size_t capacity = padded(std::max(m, capacity_ + capacity_ / 2 + 16));
  Buffer<double> wider(capacity * capacity);
  for (std::size_t c = 0; c < size_; ++c)
    std::copy_n(lower_.data() + c * capacity_ + c, size_ - c, wider.data() + c * capacity + c);
  lower_ = std::move(wider);
  capacity_ = capacity;
}

void PathFactor::solve_forward(double* x) const {
  ALPHAPATH_DISPATCH(solve_lower)(lower_.data(), capacity_, size_, x);
}

void PathFactor::solve_backward(double* x) const {
  ALPHAPATH_DISPATCH(solve_lower_transposed)(lower_.data(), capacity_, size_, x);
}

bool PathFactor::factor(std::size_t m, double least, std::span<const double> diagonal) {
  clear();
  const int n = static_cast<int>(m), ld = static_cast<int>(capacity_);
  int info = 0;
  if (m > 0)
    blas().dpotrf("L", &n, lower_.data(), &ld, &info);
  if (info != 0)
    return false;
  for (std::size_t c = 0; c < m; ++c) {
    const double root = lower_[c * capacity_ + c];
    if (!(root * root > least * diagonal[c]))
      return false;
  }
  size_ = m;
  ones_.assign(m, 1.0);
  carried_.assign(m, 0.0);
  solve_forward(ones_.data());
  return true;
}

double PathFactor::try_insert(std::span<const double> a, double own, std::size_t n_solved) {
  tried_.assign(a.begin(), a.end());
  if (n_solved == 0)
    solve_forward(tried_.data());
  else
    for (std::size_t r = n_solved; r < size_; ++r) {
      for (std::size_t c = 0; c < r; ++c)
        tried_[r] -= lower_[c * capacity_ + r] * tried_[c];
      tried_[r] /= lower_[r * capacity_ + r];
    }
  tried_pivot_ = own - dot(tried_, tried_);
  return own > 0 ? tried_pivot_ / own : tried_pivot_;
}

void PathFactor::solve_together(std::span<double> columns) const {
  ALPHAPATH_DISPATCH(solve_lower_together)(lower_.data(), capacity_, size_, columns.data());
}

void PathFactor::insert_tried(double rhs) {
  reserve(size_ + 1);
  const double root = std::sqrt(tried_pivot_);
  for (std::size_t c = 0; c < size_; ++c)
    lower_[c * capacity_ + size_] = tried_[c];
  lower_[size_ * capacity_ + size_] = root;
  const double known = dot(tried_, ones_), done = dot(tried_, carried_);
  ones_.push_back((1.0 - known) / root);
  carried_.push_back((rhs - done) / root);
  ++size_;
}

void PathFactor::null_direction(std::span<double> z) const {
  for (std::size_t k = 0; k < size_; ++k)
    z[k] = -tried_[k];
  solve_backward(z.data());
}

void PathFactor::remove(std::size_t k) {
  const std::size_t n_below = size_ - k - 1;
  scratch_.assign(lower_.data() + k * capacity_ + k + 1, lower_.data() + k * capacity_ + size_);
  ALPHAPATH_DISPATCH(move_up)(lower_.data() + k, capacity_, k, n_below);
  const auto rotate_into = ALPHAPATH_DISPATCH(rotate_into);
  double one = ones_[k], rhs = carried_[k];
  for (std::size_t j = k + 1; j < size_; ++j) {
    const double* from = lower_.data() + j * capacity_ + j;
    double* v = scratch_.data() + (j - k - 1);
    const double root = std::sqrt(from[0] * from[0] + v[0] * v[0]);
    const double c = from[0] / root, s = v[0] / root;
    rotate_into(c, s, from, v, lower_.data() + (j - 1) * capacity_ + (j - 1), size_ - j);
    const double own_one = ones_[j], own_rhs = carried_[j];
    ones_[j - 1] = c * own_one + s * one;
    carried_[j - 1] = c * own_rhs + s * rhs;
    one = c * one - s * own_one;
    rhs = c * rhs - s * own_rhs;
  }
  ones_.pop_back();
  carried_.pop_back();
  --size_;
}

void PathFactor::carry(std::span<const double> rhs) {
  carried_.assign(rhs.begin(), rhs.end());
  solve_forward(carried_.data());
}

void PathFactor::add_tried(double by, double shift) {
  for (std::size_t c = 0; c < size_; ++c)
    carried_[c] += by * tried_[c] + shift * ones_[c];
}

/// L^-1 of a column of L L' is a row of L.
void PathFactor::add_column(std::size_t k, double by, double shift) {
  for (std::size_t c = 0; c < size_; ++c)
    carried_[c] += shift * ones_[c];
  for (std::size_t c = 0; c <= k; ++c)
    carried_[c] += by * lower_[c * capacity_ + k];
}

double PathFactor::solve_bordered(std::span<double> x, double total) const {
  const double shift = (dot(ones_, carried_) - total) / dot(ones_, ones_);
  for (std::size_t k = 0; k < size_; ++k)
    x[k] = carried_[k] - shift * ones_[k];
  solve_backward(x.data());
  return shift;
}

void PathFactor::solve(std::span<double> x) const {
  std::copy(carried_.begin(), carried_.end(), x.begin());
  solve_backward(x.data());
}

} // namespace alphapath
