#include "factor/free_set_factor.hpp"

#include "base/blas.hpp"
#include "base/isa.hpp"
#include "simd/triangular.hpp"

#include <algorithm>
#include <array>
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
// Beside the square of a diagonal element, less than rounding.
constexpr double negligible_square = 1e-34;
constexpr std::size_t panel_width = 96;
// Rows are solved for without the library where L stays in the cache, or where they are few.
constexpr std::size_t max_cached = 400, max_few_rows = 16;
constexpr std::size_t rows_at_once = 8; // of L that are filled together: its columns are contiguous

} // namespace

void FreeSetFactor::reserve(std::size_t n, std::size_t n_kept) {
  if (n <= capacity_)
    return;
  const std::size_t capacity = std::max(n + n / 4 + 16, capacity_);
  Buffer<double> larger(capacity * capacity);
  for (std::size_t c = 0; c < n_kept; ++c)
    std::copy_n(lower_.data() + c * capacity_ + c, n_kept - c, larger.data() + c * capacity + c);
  lower_ = std::move(larger);
  capacity_ = capacity;
}

void FreeSetFactor::copy_from(const FreeSetFactor& other) {
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

void FreeSetFactor::choose_origin() {
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
void FreeSetFactor::gather_column(std::size_t instance, std::span<double> column) const {
  const KernelRow row = kernel_.row(instance);
  const T* values = static_cast<const T*>(row.data);
  const double shift = sigma_ + origin_norm_ - origin_row_[instance];
  for (std::size_t r = 0; r < column.size(); ++r) {
    const std::uint32_t i = members_[r];
    column[r] = static_cast<double>(values[i]) - origin_row_[i] + shift;
  }
}

void FreeSetFactor::fill_column(std::size_t instance, std::span<double> column) const {
  if (kernel_.precision() == Precision::float32)
    gather_column<float>(instance, column);
  else
    gather_column<double>(instance, column);
}

void FreeSetFactor::fill_rows(std::size_t first) {
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
void FreeSetFactor::factor_guarded(std::size_t start, std::size_t width,
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

/// The rows from `start` on, of all columns before it: B <- B L'^-1, where a library call would
/// spend most of its time on arranging L.
void FreeSetFactor::solve_few_rows(std::size_t start, std::size_t n_rows) {
  constexpr std::size_t group = simd::right_sides;
  const auto solve_lower_together = ALPHAPATH_DISPATCH(solve_lower_together);
  few_rows_.assign(start * group, 0.0);
  for (std::size_t first = 0; first < n_rows; first += group) {
    const std::size_t count = std::min(group, n_rows - first);
    double* panel = lower_.data() + start + first;
    for (std::size_t c = 0; c < start; ++c)
      std::copy_n(panel + c * capacity_, count, few_rows_.data() + c * group);
    solve_lower_together(lower_.data(), capacity_, start, few_rows_.data());
    for (std::size_t c = 0; c < start; ++c)
      std::copy_n(few_rows_.data() + c * group, count, panel + c * capacity_);
  }
}

bool FreeSetFactor::factor_rows(std::size_t first, Watch& watch) {
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
    if (above > 0 && (start <= max_cached || w <= max_few_rows))
      solve_few_rows(start, w);
    else if (above > 0)
      lib.dtrsm("R", "L", "T", "N", &width, &above, &one, lower_.data(), &ld, panel, &ld);
    if (above > 0)
      lib.dsyrk("L", "N", &width, &above, &minus_one, panel, &ld, &one, block, &ld);
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

bool FreeSetFactor::set_members(std::vector<std::uint32_t> members, std::size_t n_kept,
                                Watch& watch) {
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

/// The rows leave L, and so do the columns of their own numbers: what these hold below is taken up
/// by the columns after them, one reflection each.
void FreeSetFactor::remove(std::span<const std::size_t> positions) {
  if (positions.empty())
    return;
  const std::size_t m = members_.size(), first = positions.front();
  std::vector<std::uint32_t>
      kept; // the old number of each row that stays, from the first removed on
  std::vector<char> leaves(m, 0);
  for (const std::size_t p : positions)
    leaves[p] = 1;
  for (std::size_t r = first; r < m; ++r)
    if (!leaves[r])
      kept.push_back(static_cast<std::uint32_t>(r));
  const std::size_t n_rows = kept.size();
  // Writes those rows of an old column from number `at` on, in place or to a column before it.
  const auto move_rows = [&](std::size_t column, std::size_t at, double* to) {
    const double* from = lower_.data() + column * capacity_;
    for (std::size_t r = at; r < n_rows; ++r)
      to[r] = from[kept[r]];
  };
  for (std::size_t c = 0; c < first; ++c)
    move_rows(c, 0, lower_.data() + c * capacity_ + first);
  leaving_.resize(positions.size() * n_rows);
  std::size_t n_leaving = 0;
  for (std::size_t c = first; c < m; ++c) {
    const std::size_t own =
        c - first - n_leaving; // how many columns stayed since the first removed
    if (leaves[c]) {
      move_rows(c, own, leaving_.data() + n_leaving++ * n_rows);
      continue;
    }
    double* column = lower_.data() + (first + own) * capacity_ + first;
    move_rows(c, own, column);
    take_up(column + own, leaving_.data() + own, n_rows, n_leaving, n_rows - own);
  }
  std::size_t k = 0;
  std::erase_if(members_, [&](std::uint32_t) { return leaves[k++] != 0; });
  n_removed_ += positions.size();
}

/// Reflects (x_r, v_r) of all rows so that v of the first row becomes 0: x x' + v v' stays.
void FreeSetFactor::take_up(double* x, double* v, std::size_t ld, std::size_t n_v,
                            std::size_t n_rows) {
  reflector_.resize(n_v);
  double squares = 0;
  for (std::size_t c = 0; c < n_v; ++c) {
    reflector_[c] = v[c * ld];
    squares += reflector_[c] * reflector_[c];
  }
  if (squares <= negligible_square * x[0] * x[0])
    return;
  const double norm = std::sqrt(x[0] * x[0] + squares);
  const double sum = x[0] + norm;
  ALPHAPATH_DISPATCH(reflect_rows)
  (-squares / sum, reflector_.data(), sum / (norm * squares), x + 1, v + 1, ld, n_v, n_rows - 1);
  x[0] = norm;
}

double FreeSetFactor::null_vector(std::size_t k, std::span<double> z) const {
  std::fill(z.begin(), z.end(), 0.0);
  for (std::size_t c = 0; c < k; ++c)
    z[c] = -lower_[c * capacity_ + k];
  ALPHAPATH_DISPATCH(solve_lower_transposed)(lower_.data(), capacity_, k, z.data());
  z[k] = 1;
  return std::max(pivots_[k], 0.0);
}

void FreeSetFactor::solve(std::span<double> x) const {
  solve_from(0, x);
}

void FreeSetFactor::solve_unit(std::size_t p, std::span<double> x) const {
  std::fill(x.begin(), x.end(), 0.0);
  x[p] = 1;
  solve_from(p, x);
}

void FreeSetFactor::solve_from(std::size_t first, std::span<double> x) const {
  const std::size_t n = members_.size();
  const double* corner = lower_.data() + first * capacity_ + first;
  ALPHAPATH_DISPATCH(solve_lower)(corner, capacity_, n - first, x.data() + first);
  ALPHAPATH_DISPATCH(solve_lower_transposed)(lower_.data(), capacity_, n, x.data());
}

} // namespace alphapath
