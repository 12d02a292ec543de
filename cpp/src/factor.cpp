#include "factor.hpp"

#include "alphapath/blas.hpp"
#include "simd/isa.hpp"
#include "simd/path_loops.hpp"
#include "simd/triangular.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
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
constexpr std::size_t rows_at_once = 8; // of L that are filled together: its columns are contiguous

} // namespace

void Factor::reserve(std::size_t n, std::size_t n_kept) {
  if (n <= capacity_)
    return;
  const std::size_t capacity = std::max(n + n / 4 + 16, capacity_);
  Buffer<double> larger(capacity * capacity);
  for (std::size_t c = 0; c < n_kept; ++c)
    std::copy_n(lower_.data() + c * capacity_ + c, n_kept - c, larger.data() + c * capacity + c);
  lower_ = std::move(larger);
  capacity_ = capacity;
}

void Factor::copy_from(const Factor& other) {
  members_.clear();
  const std::size_t m = other.members_.size();
  reserve(m, 0);
  for (std::size_t c = 0; c < m; ++c)
    std::copy_n(other.lower_.data() + c * other.capacity_ + c, m - c,
                lower_.data() + c * capacity_ + c);
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

void Factor::fill_rows(std::size_t first) {
  std::array<std::vector<double>, rows_at_once> rows;
  for (std::size_t start = first; start < members_.size(); start += rows_at_once) {
    const std::size_t height = std::min(rows_at_once, members_.size() - start);
    for (std::size_t k = 0; k < height; ++k) {
      rows[k].resize(members_.size());
      fill_column(members_[start + k], std::span(rows[k]).first(start + k + 1));
      rows[k][start + k] += ridge_;
    }
    for (std::size_t c = 0; c < start + height; ++c)
      for (std::size_t k = c > start ? c - start : 0; k < height; ++k)
        lower_[c * capacity_ + start + k] = rows[k][c];
  }
}

/// Cholesky of a panel's diagonal block, row by row; dependent members get a pivot so large
/// that they stay where they are.
void Factor::factor_guarded(std::size_t start, std::size_t width,
                            std::span<const double> diagonal) {
  double* block = lower_.data() + start * capacity_ + start;
  const auto at = [&](std::size_t r, std::size_t c) -> double& { return block[c * capacity_ + r]; };
  const double least =
      kernel_.precision() == Precision::float32 ? least_pivot_float32 : least_pivot_float64;
  for (std::size_t r = 0; r < width; ++r) {
    double pivot = at(r, r);
    for (std::size_t c = 0; c < r; ++c) {
      double x = at(r, c);
      for (std::size_t k = 0; k < c; ++k)
        x -= at(c, k) * at(r, k);
      at(r, c) = x / at(c, c);
      pivot -= at(r, c) * at(r, c);
    }
    is_dependent_[start + r] = !(pivot > least * diagonal[r]);
    pivots_[start + r] = pivot;
    at(r, r) = std::sqrt(is_dependent_[start + r] ? fixing_pivot * sigma_ : pivot);
  }
}

bool Factor::factor_rows(std::size_t first, Watch& watch) {
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
    double* panel = lower_.data() + start;
    double* block = panel + start * capacity_;
    diagonal.clear();
    for (std::size_t c = 0; c < w; ++c)
      diagonal.push_back(block[c * capacity_ + c]);
    if (above > 0) {
      lib.dtrsm("R", "L", "T", "N", &width, &above, &one, lower_.data(), &ld, panel, &ld);
      lib.dsyrk("L", "N", &width, &above, &minus_one, panel, &ld, &one, block, &ld);
    }
    saved.resize(w * w);
    for (std::size_t c = 0; c < w; ++c)
      std::copy_n(block + c * capacity_ + c, w - c, saved.data() + c * w + c);
    int info = 0;
    lib.dpotrf("L", &width, block, &ld, &info);
    bool is_sound = info == 0;
    for (std::size_t c = 0; c < w && is_sound; ++c) {
      const double root = block[c * capacity_ + c];
      is_sound = root * root > least * diagonal[c];
    }
    if (!is_sound) {
      for (std::size_t c = 0; c < w; ++c)
        std::copy_n(saved.data() + c * w + c, w - c, block + c * capacity_ + c);
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
  fill_rows(n_kept);
  if (!factor_rows(n_kept, watch)) {
    members_.clear();
    return false;
  }
  ones_.assign(members_.size(), 1.0);
  solve(ones_);
  ones_sum_ = std::accumulate(ones_.begin(), ones_.end(), 0.0);
  return true;
}

void Factor::remove(std::span<const std::size_t> positions) {
  for (std::size_t k = positions.size(); k-- > 0;)
    remove_row(positions[k]);
  n_removed_ += positions.size();
}

/// Row p leaves L; its own column below is rotated into the columns after it.
void Factor::remove_row(std::size_t p) {
  const std::size_t m = members_.size();
  leaving_.assign(lower_.data() + p * capacity_ + p + 1, lower_.data() + p * capacity_ + m);
  for (std::size_t c = 0; c < p; ++c) {
    double* column = lower_.data() + c * capacity_ + p;
    std::memmove(column, column + 1, (m - p - 1) * sizeof(double));
  }
  const auto rotate_into = ALPHAPATH_DISPATCH(rotate_into);
  for (std::size_t j = p + 1; j < m; ++j) {
    const double* from = lower_.data() + j * capacity_ + j;
    double* v = leaving_.data() + (j - p - 1);
    const double root = std::sqrt(from[0] * from[0] + v[0] * v[0]);
    rotate_into(from[0] / root, v[0] / root, from, v, lower_.data() + (j - 1) * capacity_ + (j - 1),
                m - j);
  }
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(p));
}

double Factor::null_vector(std::size_t k, std::span<double> z) const {
  std::fill(z.begin(), z.end(), 0.0);
  for (std::size_t c = 0; c < k; ++c)
    z[c] = -lower_[c * capacity_ + k];
  ALPHAPATH_DISPATCH(solve_lower_transposed)(lower_.data(), capacity_, k, z.data());
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
  const std::size_t n = members_.size();
  const double* corner = lower_.data() + first * capacity_ + first;
  ALPHAPATH_DISPATCH(solve_lower)(corner, capacity_, n - first, x.data() + first);
  ALPHAPATH_DISPATCH(solve_lower_transposed)(lower_.data(), capacity_, n, x.data());
}

} // namespace alphapath
