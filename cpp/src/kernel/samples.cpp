#include "kernel/samples.hpp"

#include "base/isa.hpp"
#include "simd/kernel/sample_loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace alphapath {

namespace {

// The share of numbers that are not zero up to which groups of rows have many zeros in common.
constexpr double few_nonzeros = 0.3;

/// Whether panels of all d columns beat products by a CSC transpose. In cycles, a pair of rows
/// costs d / 16 in a panel; sparse, two for each feature that is nonzero in both, and three for
/// the separate passes over the row.
bool is_cheaper_dense(const CsrView& csr, std::size_t d, std::size_t dense_limit) {
  const double n = static_cast<double>(csr.indptr.size() - 1);
  if (4.0 * n * static_cast<double>(d) > static_cast<double>(dense_limit))
    return false;
  std::vector<double> counts(d, 0.0);
  for (const auto k : csr.indices)
    counts[static_cast<std::size_t>(k)] += 1;
  double n_common = 0;
  for (const double count : counts)
    n_common += (count / n) * (count / n);
  return static_cast<double>(d) / 16 <= 3 + 2 * n_common;
}

bool is_whole(double x) {
  constexpr double all_whole = 0x1p52; // from here on; and a conversion always fits below
  return !(std::abs(x) < all_whole) || x == static_cast<double>(static_cast<std::int64_t>(x));
}

} // namespace

bool is_on_grid(const double* values, std::size_t n, std::size_t d, double step, double tolerance) {
  std::vector<double> whole(d);
  for (std::size_t i = 0; i < n; ++i)
    if (!(ALPHAPATH_DISPATCH(round_to_grid)(values + i * d, d, step, whole.data()) <= tolerance))
      return false;
  return true;
}

void hash_rows(const double* values, std::size_t n, std::size_t d, const std::uint64_t* multipliers,
               std::uint64_t* hashes) {
  const auto hash_row = ALPHAPATH_DISPATCH(hash_row);
  for (std::size_t i = 0; i < n; ++i)
    hashes[i] = hash_row(values + i * d, multipliers, d);
}

double largest_squared_norm(const double* values, std::size_t n, std::size_t d) {
  const auto squared_norm = ALPHAPATH_DISPATCH(squared_norm);
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double own = squared_norm(values + i * d, d);
    if (!std::isfinite(own))
      return own;
    largest = std::max(largest, own);
  }
  return largest;
}

Samples::Samples(const double* values, std::size_t n, std::size_t d, double step)
    : n_(n), d_(d), dense_(values), step_(step) {
  compute_dense_statistics();
}

Samples::Samples(const CsrView& csr, std::size_t d, std::size_t dense_limit)
    : n_(csr.indptr.size() - 1), d_(d), csr_(csr),
      is_dense_(is_cheaper_dense(csr, d, dense_limit)) {
  if (is_dense_)
    compute_dense_statistics();
  else
    compute_sparse_statistics();
}

void Samples::copy_row(std::size_t i, std::span<const double> shift, double* out) const {
  if (dense_ != nullptr && step_ != 0) {
    ALPHAPATH_DISPATCH(round_to_grid)(dense_ + i * d_, d_, step_, out);
  } else if (dense_ != nullptr) {
    std::memcpy(out, dense_ + i * d_, d_ * sizeof(double));
  } else {
    std::fill_n(out, d_, 0.0);
    for (auto at = csr_.indptr[i]; at < csr_.indptr[i + 1]; ++at) {
      const auto k = static_cast<std::size_t>(at);
      out[static_cast<std::size_t>(csr_.indices[k])] = csr_.values[k];
    }
  }
  if (shift.empty())
    return;
  for (std::size_t k = 0; k < d_; ++k)
    out[k] -= shift[k];
}

void Samples::mark_not_finite() {
  raw_.max_squared_norm = centred_.max_squared_norm = std::numeric_limits<double>::infinity();
}

/// Sums of columns to their means.
void Samples::finish_centre() {
  for (double& mean : centre_) {
    mean /= static_cast<double>(n_);
    if (raw_.is_integer)
      mean = std::nearbyint(mean);
  }
}

const double* Samples::dense_row(std::size_t i, std::vector<double>& room) const {
  if (is_stored())
    return dense_ + i * d_;
  copy_row(i, {}, room.data());
  return room.data();
}

void Samples::compute_dense_statistics() {
  const auto look_at_row = ALPHAPATH_DISPATCH(look_at_row);
  const auto squared_distance = ALPHAPATH_DISPATCH(squared_distance);
  std::vector<double> room(d_), squared_norms(n_);
  centre_.assign(d_, 0.0);
  raw_.is_integer = true;
  double smallest = 0, largest = 0;
  std::size_t n_nonzero = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    const simd::RowFacts row = look_at_row(dense_row(i, room), d_, centre_.data());
    if (!std::isfinite(row.squared_norm))
      return mark_not_finite();
    squared_norms[i] = row.squared_norm;
    raw_.max_squared_norm = std::max(raw_.max_squared_norm, row.squared_norm);
    raw_.is_integer &= row.is_integer;
    smallest = std::min(smallest, row.smallest);
    largest = std::max(largest, row.largest);
    n_nonzero += row.n_nonzero;
  }
  raw_.is_byte = raw_.is_integer && smallest == 0 && largest <= 255;
  raw_.median_squared_norm = median_magnitude(squared_norms);
  raw_.is_mostly_zero = static_cast<double>(n_nonzero) <=
                        few_nonzeros * static_cast<double>(n_) * static_cast<double>(d_);
  finish_centre();
  centred_.is_integer = raw_.is_integer;
  for (std::size_t i = 0; i < n_; ++i) {
    squared_norms[i] = squared_distance(dense_row(i, room), centre_.data(), d_);
    centred_.max_squared_norm = std::max(centred_.max_squared_norm, squared_norms[i]);
  }
  centred_.median_squared_norm = median_magnitude(std::move(squared_norms));
}

void Samples::compute_sparse_statistics() {
  centre_.assign(d_, 0.0);
  raw_.is_integer = std::all_of(csr_.values.begin(), csr_.values.end(), is_whole);
  for (std::size_t i = 0; i < n_; ++i) {
    double squared_norm = 0;
    for (auto at = csr_.indptr[i]; at < csr_.indptr[i + 1]; ++at) {
      const auto k = static_cast<std::size_t>(at);
      squared_norm += csr_.values[k] * csr_.values[k];
      centre_[static_cast<std::size_t>(csr_.indices[k])] += csr_.values[k];
    }
    raw_.max_squared_norm = std::max(raw_.max_squared_norm, squared_norm);
    if (!std::isfinite(squared_norm))
      return mark_not_finite();
  }
  finish_centre();
  centred_ = raw_;
}

CentreProducts Samples::products_with_centre() const {
  CentreProducts products{std::vector<double>(n_, 0.0), 0.0};
  for (const double m : centre_)
    products.squared_norm += m * m;
  if (is_dense_) {
    // Several rows side by side: each sum waits for its last term.
    constexpr std::size_t n_lanes = 8;
    std::vector<double> rooms[n_lanes];
    for (std::size_t i = 0; i < n_; i += n_lanes) {
      const std::size_t n_rows = std::min(n_lanes, n_ - i);
      const double* rows[n_lanes];
      for (std::size_t r = 0; r < n_lanes; ++r) {
        rooms[r].resize(is_stored() ? 0 : d_);
        rows[r] = dense_row(i + std::min(r, n_rows - 1), rooms[r]);
      }
      double sums[n_lanes] = {};
      for (std::size_t k = 0; k < d_; ++k)
        for (std::size_t r = 0; r < n_lanes; ++r)
          sums[r] += centre_[k] * rows[r][k];
      std::copy_n(sums, n_rows, products.with_rows.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return products;
  }
  for (std::size_t i = 0; i < n_; ++i)
    for (auto at = csr_.indptr[i]; at < csr_.indptr[i + 1]; ++at) {
      const auto k = static_cast<std::size_t>(at);
      products.with_rows[i] += centre_[static_cast<std::size_t>(csr_.indices[k])] * csr_.values[k];
    }
  return products;
}

double median_magnitude(std::vector<double> values) {
  for (double& value : values)
    value = std::abs(value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace alphapath
