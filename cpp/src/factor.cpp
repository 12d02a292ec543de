#include "factor.hpp"

#include "alphapath/blas.hpp"
#include "simd/isa.hpp"
#include "simd/rotations.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace alphapath {

namespace {

// Added to the diagonal, relative to its mean: what keeps a kernel rounded to float32 definite.
// Double needs none; members that depend on earlier ones are held fixed instead.
constexpr double relative_ridge_float32 = 1e-6;
// A pivot below this share of its diagonal is rounding: the member depends on those before it.
constexpr double least_pivot_float32 = 1e-7;
constexpr double least_pivot_float64 = 1e-12;
constexpr double fixing_pivot = 1e30; // relative; a member with this pivot does not move
constexpr std::size_t panel_width = 96;

} // namespace

void Factor::reserve(std::size_t n, std::size_t n_kept) {
  if (n <= capacity_)
    return;
  const std::size_t capacity = std::max(n + n / 4 + 16, capacity_);
  Buffer<double> larger(capacity * capacity);
  for (std::size_t c = 0; c < n_kept; ++c)
    std::copy_n(upper_.data() + c * capacity_, c + 1, larger.data() + c * capacity);
  upper_ = std::move(larger);
  capacity_ = capacity;
}

void Factor::copy_from(const Factor& other) {
  members_.clear();
  reserve(other.members_.size(), 0);
  for (std::size_t c = 0; c < other.members_.size(); ++c)
    std::copy_n(other.upper_.data() + c * other.capacity_, c + 1, upper_.data() + c * capacity_);
  members_ = other.members_;
  is_dependent_ = other.is_dependent_;
  pivots_ = other.pivots_;
  n_removed_ = other.n_removed_;
  ones_ = other.ones_;
  ones_sum_ = other.ones_sum_;
  origin_row_ = other.origin_row_;
  origin_norm_ = other.origin_norm_;
  sigma_ = other.sigma_;
  ridge_ = other.ridge_;
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
  ridge_ = kernel_.precision() == Precision::float32 ? sigma_ * relative_ridge_float32 : 0;
}

template <class T>
void Factor::gather_column(std::size_t instance, std::span<double> column) const {
  const KernelRow row = kernel_.row(instance);
  const T* values = static_cast<const T*>(row.data);
  const double shift = sigma_ + origin_norm_ - origin_row_[instance];
  for (std::size_t r = 0; r < column.size(); ++r) {
    const std::uint32_t i = members_[r];
    column[r] = static_cast<double>(values[i]) - origin_row_[i] + shift;
  }
}

void Factor::fill_column(std::size_t instance, std::span<double> column) const {
  if (kernel_.precision() == Precision::float32)
    gather_column<float>(instance, column);
  else
    gather_column<double>(instance, column);
}

void Factor::fill_columns(std::size_t first) {
  for (std::size_t c = first; c < members_.size(); ++c) {
    double* column = upper_.data() + c * capacity_;
    fill_column(members_[c], {column, c + 1});
    column[c] += ridge_;
  }
}

/// Cholesky of a panel's diagonal block, column by column; dependent members get a pivot so large
/// that they stay where they are.
void Factor::factor_guarded(std::size_t start, std::size_t width,
                            std::span<const double> diagonal) {
  double* block = upper_.data() + start * capacity_ + start;
  const double least =
      kernel_.precision() == Precision::float32 ? least_pivot_float32 : least_pivot_float64;
  for (std::size_t c = 0; c < width; ++c) {
    double* column = block + c * capacity_;
    double pivot = column[c];
    for (std::size_t r = 0; r < c; ++r) {
      const double* earlier = block + r * capacity_;
      double x = column[r];
      for (std::size_t k = 0; k < r; ++k)
        x -= earlier[k] * column[k];
      column[r] = x / earlier[r];
      pivot -= column[r] * column[r];
    }
    is_dependent_[start + c] = !(pivot > least * diagonal[c]);
    pivots_[start + c] = pivot;
    column[c] = std::sqrt(is_dependent_[start + c] ? fixing_pivot * sigma_ : pivot);
  }
}

bool Factor::factor_columns(std::size_t first, Watch& watch) {
  const Blas& lib = blas();
  const int ld = static_cast<int>(capacity_);
  const double one = 1, minus_one = -1;
  const double least =
      kernel_.precision() == Precision::float32 ? least_pivot_float32 : least_pivot_float64;
  std::vector<double> diagonal, saved;
  for (std::size_t start = first; start < members_.size(); start += panel_width) {
    const int above = static_cast<int>(start);
    const int width = static_cast<int>(std::min(panel_width, members_.size() - start));
    const std::size_t w = static_cast<std::size_t>(width);
    double* panel = upper_.data() + start * capacity_;
    double* block = panel + start;
    diagonal.clear();
    for (std::size_t c = 0; c < w; ++c)
      diagonal.push_back(block[c * capacity_ + c]);
    if (above > 0) {
      lib.dtrsm("L", "U", "T", "N", &above, &width, &one, upper_.data(), &ld, panel, &ld);
      lib.dsyrk("U", "T", &width, &above, &minus_one, panel, &ld, &one, block, &ld);
    }
    saved.resize(w * w);
    for (std::size_t c = 0; c < w; ++c)
      std::copy_n(block + c * capacity_, c + 1, saved.data() + c * w);
    int info = 0;
    lib.dpotrf("U", &width, block, &ld, &info);
    bool is_sound = info == 0;
    for (std::size_t c = 0; c < w && is_sound; ++c) {
      const double root = block[c * capacity_ + c];
      is_sound = root * root > least * diagonal[c];
    }
    if (!is_sound) {
      for (std::size_t c = 0; c < w; ++c)
        std::copy_n(saved.data() + c * w, c + 1, block + c * capacity_);
      factor_guarded(start, w, diagonal);
    }
    if (watch.should_stop())
      return false;
  }
  return true;
}

bool Factor::set_members(std::vector<std::uint32_t> members, std::size_t n_kept, Watch& watch) {
  reserve(members.size(), n_kept);
  members_ = std::move(members);
  is_dependent_.assign(members_.size(), 0);
  pivots_.assign(members_.size(), 0.0);
  if (members_.empty())
    return true;
  if (n_kept == 0) {
    choose_origin();
    n_removed_ = 0;
  }
  fill_columns(n_kept);
  if (!factor_columns(n_kept, watch)) {
    members_.clear();
    return false;
  }
  ones_.assign(members_.size(), 1.0);
  solve(ones_);
  ones_sum_ = std::accumulate(ones_.begin(), ones_.end(), 0.0);
  return true;
}

void Factor::remove(std::span<const std::size_t> positions) {
  cosines_.resize(capacity_);
  sines_.resize(capacity_);
  const auto remove_from = ALPHAPATH_DISPATCH(remove_from_factor);
  for (std::size_t k = positions.size(); k-- > 0;) {
    const std::size_t p = positions[k];
    remove_from(upper_.data(), capacity_, members_.size(), p, cosines_.data(), sines_.data());
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(p));
  }
  n_removed_ += positions.size();
}

double Factor::null_vector(std::size_t k, std::span<double> z) const {
  const double* column = upper_.data() + k * capacity_;
  std::fill(z.begin(), z.end(), 0.0);
  for (std::size_t r = 0; r < k; ++r)
    z[r] = -column[r];
  const int n = static_cast<int>(k), ld = static_cast<int>(capacity_), stride = 1;
  blas().dtrsv("U", "N", "N", &n, upper_.data(), &ld, z.data(), &stride);
  z[k] = 1;
  return std::max(pivots_[k], 0.0);
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
