#include "factor/margin_set_factor.hpp"

#include "base/blas.hpp"
#include "base/isa.hpp"
#include "simd/path_loops.hpp"
#include "simd/primal/margin_loops.hpp"
#include "simd/triangular.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// Beside the square of a diagonal element, less than rounding.
constexpr double negligible_square = 1e-34;

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  return ALPHAPATH_DISPATCH(dot_product)(x.data(), y.data(), x.size());
}

} // namespace

MarginSetFactor& MarginSetFactor::operator=(const MarginSetFactor& other) {
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

void MarginSetFactor::reserve(std::size_t m) {
  if (m <= capacity_)
    return;
  const std::size_t capacity = padded(std::max(m, capacity_ + capacity_ / 2 + 16));
  Buffer<double> wider(capacity * capacity);
  for (std::size_t c = 0; c < size_; ++c)
    std::copy_n(lower_.data() + c * capacity_ + c, size_ - c, wider.data() + c * capacity + c);
  lower_ = std::move(wider);
  capacity_ = capacity;
}

void MarginSetFactor::solve_forward(double* x) const {
  ALPHAPATH_DISPATCH(solve_lower)(lower_.data(), capacity_, size_, x);
}

void MarginSetFactor::solve_backward(double* x) const {
  ALPHAPATH_DISPATCH(solve_lower_transposed)(lower_.data(), capacity_, size_, x);
}

bool MarginSetFactor::factor(std::size_t m, double least, std::span<const double> diagonal) {
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

double MarginSetFactor::try_insert(std::span<const double> a, double own, std::size_t n_solved) {
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

void MarginSetFactor::solve_together(std::span<double> columns) const {
  ALPHAPATH_DISPATCH(solve_lower_together)(lower_.data(), capacity_, size_, columns.data());
}

void MarginSetFactor::insert_tried(double rhs) {
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

void MarginSetFactor::append(std::span<const double> left, std::span<const double> corner,
                             std::size_t n_new, std::size_t stride) {
  reserve(size_ + n_new);
  const std::size_t m = size_;
  std::vector<double> sums(n_new, 1.0);
  for (std::size_t c = 0; c < m; ++c) {
    const double* from = left.data() + c * n_new;
    double* to = lower_.data() + c * capacity_ + m;
    for (std::size_t r = 0; r < n_new; ++r) {
      to[r] = from[r];
      sums[r] -= ones_[c] * from[r];
    }
  }
  for (std::size_t r = 0; r < n_new; ++r) {
    const double* row = corner.data() + r * stride;
    for (std::size_t c = 0; c <= r; ++c)
      lower_[(m + c) * capacity_ + m + r] = row[c];
    for (std::size_t c = 0; c < r; ++c)
      sums[r] -= ones_[m + c] * row[c];
    ones_.push_back(sums[r] / row[r]);
  }
  size_ += n_new;
  carried_.assign(size_, 0.0);
}

void MarginSetFactor::null_direction(std::span<double> z) const {
  for (std::size_t k = 0; k < size_; ++k)
    z[k] = -tried_[k];
  solve_backward(z.data());
}

void MarginSetFactor::remove(std::size_t k) {
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

/// As FreeSetFactor::remove: the rows leave L, and what the columns of their numbers hold below is
/// taken up by the columns after them, one reflection each. p goes along as one more row, the last
/// one.
void MarginSetFactor::remove_all(std::span<const std::size_t> positions) {
  const std::size_t n_left = positions.size();
  if (n_left == 0)
    return;
  const std::size_t first = positions.front(), n_rows = size_ - first - n_left;
  // Rows that stay, of an old column from row `from` on, to where `to` has the row `first`.
  const auto move_rows = [&](std::size_t column, std::size_t from, double* to) {
    const double* values = lower_.data() + column * capacity_;
    for (std::size_t k = 0; k < n_left; ++k) {
      const std::size_t begin = std::max(from, positions[k] + 1);
      const std::size_t end = k + 1 < n_left ? positions[k + 1] : size_;
      if (begin < end)
        std::copy(values + begin, values + end, to + (begin - first - k - 1));
    }
  };
  for (std::size_t c = 0; c < first; ++c)
    move_rows(c, first, lower_.data() + c * capacity_ + first);
  const std::size_t length = n_rows + 1;
  scratch_.resize(n_left * length);
  for (std::size_t k = 0, c = first; c < size_; ++c) {
    const std::size_t own = c - first - k; // how many columns stayed since the first removed
    if (k < n_left && positions[k] == c) {
      move_rows(c, c, scratch_.data() + k * length);
      scratch_[k * length + n_rows] = ones_[c];
      ++k;
      continue;
    }
    move_rows(c, c, lower_.data() + (first + own) * capacity_ + first);
    ones_[first + own] = ones_[c];
    take_up(first + own, k, n_rows, own);
  }
  size_ -= n_left;
  ones_.resize(size_);
  carried_.assign(size_, 0.0);
}

/// Reflects the rows of a column and of the first n_left of those taken out, so that these become 0
/// in its first row, number `own` of n_rows.
void MarginSetFactor::take_up(std::size_t column, std::size_t n_left, std::size_t n_rows,
                              std::size_t own) {
  const std::size_t length = n_rows + 1;
  double* x = lower_.data() + column * capacity_ + column;
  double* v = scratch_.data() + own;
  reflector_.resize(n_left);
  double squares = 0;
  for (std::size_t k = 0; k < n_left; ++k) {
    reflector_[k] = v[k * length];
    squares += reflector_[k] * reflector_[k];
  }
  if (squares <= negligible_square * x[0] * x[0])
    return;
  const double norm = std::sqrt(x[0] * x[0] + squares), sum = x[0] + norm;
  const double u0 = -squares / sum, scale = sum / (norm * squares);
  const auto reflect_rows = ALPHAPATH_DISPATCH(reflect_rows);
  reflect_rows(u0, reflector_.data(), scale, x + 1, v + 1, length, n_left, n_rows - own - 1);
  reflect_rows(u0, reflector_.data(), scale, ones_.data() + column, scratch_.data() + n_rows,
               length, n_left, 1);
  x[0] = norm;
}

void MarginSetFactor::carry(std::span<const double> rhs) {
  carried_.assign(rhs.begin(), rhs.end());
  solve_forward(carried_.data());
}

void MarginSetFactor::add_tried(double by, double shift) {
  for (std::size_t c = 0; c < size_; ++c)
    carried_[c] += by * tried_[c] + shift * ones_[c];
}

/// L^-1 of a column of L L' is a row of L.
void MarginSetFactor::add_column(std::size_t k, double by, double shift) {
  for (std::size_t c = 0; c < size_; ++c)
    carried_[c] += shift * ones_[c];
  for (std::size_t c = 0; c <= k; ++c)
    carried_[c] += by * lower_[c * capacity_ + k];
}

double MarginSetFactor::solve_bordered(std::span<double> x, double total) const {
  const double shift = (dot(ones_, carried_) - total) / dot(ones_, ones_);
  for (std::size_t k = 0; k < size_; ++k)
    x[k] = carried_[k] - shift * ones_[k];
  solve_backward(x.data());
  return shift;
}

void MarginSetFactor::solve(std::span<double> x) const {
  std::copy(carried_.begin(), carried_.end(), x.begin());
  solve_backward(x.data());
}

} // namespace alphapath
