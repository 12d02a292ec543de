#include "kernel/growing_matrix.hpp"

#include "base/isa.hpp"
#include "kernel/row_source.hpp"
#include "simd/kernel/kernel_functions.hpp"

#include <algorithm>
#include <vector>

namespace alphapath {

namespace {

/// expm1(-gamma d^2) in place of n squared distances; values up to padded(n) are overwritten.
void apply_rbf(double gamma, std::size_t n, double* values) {
  for (std::size_t k = 0; k < n; ++k)
    values[k] *= -gamma;
  ALPHAPATH_DISPATCH(expm1_f64)(values, padded(n), values);
}

} // namespace

void GrowingMatrix::begin(std::size_t n_slots, const Samples& samples, const KernelFunction& f,
                          const Team& team) {
  const bool is_rbf = f.kind == KernelKind::rbf;
  const KernelFunction written = is_rbf ? KernelFunction{KernelKind::squared_distance} : f;
  const auto source = make_source<double>(samples, written, team);
  const std::size_t n = samples.size(), width = padded(n_slots);
  values_ = Buffer<double>(n_slots * width);
  source->write_matrix({values_.data(), width}, team);
  std::fill(values_.data() + n * width, values_.data() + n_slots * width, 0.0);
  diagonal_.assign(n_slots, 0.0);
  offsets_ = source->offsets();
  offsets_.resize(n_slots, 0.0);
  std::vector<double> at_origin(values_.data(), values_.data() + padded(n));
  if (is_rbf)
    apply_rbf(f.gamma, n, at_origin.data());
  for (std::size_t i = 0; i < n; ++i) {
    double* row = values_.data() + i * width;
    if (is_rbf)
      apply_rbf(f.gamma, n, row);
    for (std::size_t k = 0; k < n; ++k)
      row[k] -= at_origin[i] + at_origin[k] - at_origin[0];
    std::fill(row + n, row + width, 0.0);
    diagonal_[i] = row[i];
    offsets_[i] += at_origin[i] + (is_rbf ? 0.5 : -at_origin[0] / 2);
  }
  n_filled_ += n;
}

void GrowingMatrix::reserve(std::size_t n_slots) {
  if (n_slots <= size())
    return;
  const std::size_t old_n = size(), old_stride = stride(), new_stride = padded(n_slots);
  Buffer<double> wider(n_slots * new_stride);
  std::fill_n(wider.data(), wider.size(), 0.0);
  for (std::size_t i = 0; i < old_n; ++i)
    std::copy_n(values_.data() + i * old_stride, old_n, wider.data() + i * new_stride);
  values_ = std::move(wider);
  diagonal_.resize(n_slots, 0.0);
  offsets_.resize(n_slots, 0.0);
}

void GrowingMatrix::fill(std::span<const std::size_t> slots, const double* offsets,
                         std::span<const std::size_t> others, const double* values) {
  n_filled_ += slots.size();
  const std::size_t width = stride(), n_others = others.size();
  for (std::size_t s = 0; s < slots.size(); ++s) {
    double* own = values_.data() + slots[s] * width;
    for (std::size_t k = 0; k < n_others; ++k)
      own[others[k]] = values[s * n_others + k];
  }
  // Row by row: new slots are mostly neighbours, and a row's line is fetched once for all of them.
  for (std::size_t k = 0; k < n_others; ++k) {
    double* row = values_.data() + others[k] * width;
    for (std::size_t s = 0; s < slots.size(); ++s)
      row[slots[s]] = values[s * n_others + k];
  }
  for (std::size_t s = 0; s < slots.size(); ++s) {
    offsets_[slots[s]] = offsets[s];
    diagonal_[slots[s]] = values_[slots[s] * width + slots[s]];
  }
}

void GrowingMatrix::fill_rbf(double gamma, std::span<const std::size_t> slots,
                             const double* at_origin, std::span<const std::size_t> others,
                             const double* others_at_origin, std::span<double> squares) {
  const std::size_t n_others = others.size();
  Buffer<double> row(padded(n_others));
  std::fill_n(row.data(), row.size(), 0.0);
  std::vector<double> offsets(slots.size());
  for (std::size_t s = 0; s < slots.size(); ++s) {
    double* own = squares.data() + s * n_others;
    for (std::size_t k = 0; k < n_others; ++k)
      row[k] = -gamma * own[k];
    ALPHAPATH_DISPATCH(expm1_f64)(row.data(), row.size(), row.data());
    for (std::size_t k = 0; k < n_others; ++k)
      own[k] = row[k] - at_origin[s] - others_at_origin[k];
    offsets[s] = at_origin[s] + 0.5;
  }
  fill(slots, offsets.data(), others, squares.data());
}

} // namespace alphapath
