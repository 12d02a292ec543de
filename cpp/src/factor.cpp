#include "factor.hpp"

#include "alphapath/blas.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// Relative to the mean diagonal: the smallest ridge with which factorisations do not fail on
// kernels rounded to that precision.
constexpr double relative_ridge_float32 = 1e-6;
constexpr double relative_ridge_float64 = 1e-12;
constexpr std::size_t panel_width = 96;

} // namespace

std::size_t Factor::kept_prefix(std::span<const char> is_free) const {
  std::size_t k = 0;
  while (k < members_.size() && is_free[members_[k]])
    ++k;
  return k;
}

void Factor::reserve(std::size_t n, std::size_t n_kept) {
  if (n <= capacity_)
    return;
  const std::size_t capacity = std::max(n + n / 4 + 16, capacity_);
  std::vector<double> larger(capacity * capacity);
  for (std::size_t c = 0; c < n_kept; ++c)
    std::copy_n(upper_.data() + c * capacity_, c + 1, larger.data() + c * capacity);
  upper_.swap(larger);
  capacity_ = capacity;
}

void Factor::choose_origin() {
  const std::size_t ref = members_.front();
  const KernelRow row = kernel_.row(ref);
  origin_row_.resize(kernel_.size());
  if (kernel_.precision() == Precision::float32)
    std::copy_n(static_cast<const float*>(row.data), kernel_.size(), origin_row_.begin());
  else
    std::copy_n(static_cast<const double*>(row.data), kernel_.size(), origin_row_.begin());
  origin_norm_ = kernel_.diagonal()[ref];
  double sum = 0;
  for (const std::uint32_t i : members_)
    sum += std::abs(kernel_.diagonal()[i] - 2 * origin_row_[i] + origin_norm_);
  sigma_ = sum / static_cast<double>(members_.size());
  ridge_ = sigma_ * (kernel_.precision() == Precision::float32 ? relative_ridge_float32
                                                               : relative_ridge_float64);
}

template <class T> void Factor::fill_columns_from(std::size_t first) {
  const std::size_t n = members_.size();
  for (std::size_t c = first; c < n; ++c) {
    const KernelRow row = kernel_.row(members_[c]);
    const T* values = static_cast<const T*>(row.data);
    double* column = upper_.data() + c * capacity_;
    const double shift = sigma_ + origin_norm_ - origin_row_[members_[c]];
    for (std::size_t r = 0; r <= c; ++r) {
      const std::uint32_t i = members_[r];
      column[r] = static_cast<double>(values[i]) - origin_row_[i] + shift;
    }
    column[c] += ridge_;
  }
}

void Factor::fill_columns(std::size_t first) {
  if (kernel_.precision() == Precision::float32)
    fill_columns_from<float>(first);
  else
    fill_columns_from<double>(first);
}

bool Factor::factor_columns(std::size_t first, Watch& watch) {
  const Blas& lib = blas();
  const int ld = static_cast<int>(capacity_);
  const double one = 1, minus_one = -1;
  for (std::size_t start = first; start < members_.size(); start += panel_width) {
    const int above = static_cast<int>(start);
    const int width = static_cast<int>(std::min(panel_width, members_.size() - start));
    double* panel = upper_.data() + start * capacity_;
    if (above > 0) {
      lib.dtrsm("L", "U", "T", "N", &above, &width, &one, upper_.data(), &ld, panel, &ld);
      lib.dsyrk("U", "T", &width, &above, &minus_one, panel, &ld, &one, panel + start, &ld);
    }
    int info = 0;
    lib.dpotrf("U", &width, panel + start, &ld, &info);
    if (info != 0 || watch.should_stop())
      return false;
  }
  return true;
}

bool Factor::set_members(std::vector<std::uint32_t> members, std::size_t n_kept, Watch& watch) {
  reserve(members.size(), n_kept);
  members_ = std::move(members);
  if (members_.empty())
    return true;
  if (n_kept == 0)
    choose_origin();
  fill_columns(n_kept);
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (factor_columns(n_kept, watch))
      return true;
    if (watch.should_stop())
      break;
    n_kept = 0;
    ridge_ *= 30;
    fill_columns(0);
  }
  members_.clear();
  return false;
}

void Factor::solve(std::span<double> x) const {
  solve_from(0, x);
}

void Factor::solve_unit(std::size_t p, std::span<double> x) const {
  std::fill(x.begin(), x.end(), 0.0);
  x[p] = 1;
  solve_from(p, x);
}

void Factor::solve_from(std::size_t first, std::span<double> x) const {
  const Blas& lib = blas();
  const int n = static_cast<int>(members_.size());
  const int n_below = n - static_cast<int>(first);
  const int ld = static_cast<int>(capacity_);
  const int stride = 1;
  const double* corner = upper_.data() + first * capacity_ + first;
  lib.dtrsv("U", "T", "N", &n_below, corner, &ld, x.data() + first, &stride);
  lib.dtrsv("U", "N", "N", &n, upper_.data(), &ld, x.data(), &stride);
}

} // namespace alphapath
