#include "kernel/kernel_rows.hpp"

#include "base/dispatch.hpp"
#include "base/isa.hpp"
#include "simd/kernel/gather.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace alphapath {

namespace {

// Rows asked for at once: enough for a row cache to compute them together.
constexpr std::size_t rows_ahead = 32;

/// Calls use(k, row) for every idx[k], rows of type T; rows of one batch stay pinned together.
template <class T, class Use>
void for_each_batch(const KernelRows& kernel, std::span<const std::size_t> idx, std::size_t batch,
                    Use use) {
  std::vector<KernelRow> pins;
  std::vector<const T*> rows;
  for (std::size_t at = 0; at < idx.size(); at += batch) {
    if (at % rows_ahead == 0)
      kernel.prefetch(idx.subspan(at, std::min(rows_ahead, idx.size() - at)));
    const std::size_t n_rows = std::min(batch, idx.size() - at);
    pins.clear();
    rows.clear();
    for (std::size_t r = 0; r < n_rows; ++r) {
      pins.push_back(kernel.row(idx[at + r]));
      rows.push_back(static_cast<const T*>(pins.back().data));
    }
    use(at, rows);
  }
}

template <class T>
void multiply_add_rows(const KernelRows& kernel, std::span<const std::size_t> idx,
                       std::span<const double> coef, std::span<double> out) {
  for_each_batch<T>(
      kernel, idx, simd::max_rows_at_once, [&](std::size_t at, const std::vector<const T*>& rows) {
        add_rows<T>(rows.data(), coef.data() + at, rows.size(), kernel.size(), out.data());
      });
}

template <class T>
void copy_true(const KernelRows& kernel, std::span<const std::size_t> rows,
               std::span<const std::uint32_t> columns, double* out) {
  const auto offset = kernel.offset();
  const auto pick = ALPHAPATH_DISPATCH(pick_true_values<T>);
  std::vector<double> offsets;
  for (const std::uint32_t j : columns)
    offsets.push_back(offset[j]);
  for_each_batch<T>(kernel, rows, 1, [&](std::size_t at, const std::vector<const T*>& row) {
    pick(row[0], columns.data(), offsets.data(), columns.size(), offset[rows[at]],
         out + at * columns.size());
  });
}

} // namespace

void multiply_add(const KernelRows& kernel, std::span<const std::size_t> idx,
                  std::span<const double> coef, std::span<double> out) {
  if (kernel.precision() == Precision::float32)
    multiply_add_rows<float>(kernel, idx, coef, out);
  else
    multiply_add_rows<double>(kernel, idx, coef, out);
}

void multiply_true(const KernelRows& kernel, std::span<const std::size_t> idx,
                   std::span<const double> coef, std::span<double> out) {
  const auto offset = kernel.offset();
  double sum = 0;
  double constant = 0;
  for (std::size_t k = 0; k < idx.size(); ++k) {
    sum += coef[k];
    constant += coef[k] * offset[idx[k]];
  }
  std::fill(out.begin(), out.end(), 0.0);
  multiply_add(kernel, idx, coef, out);
  for (std::size_t j = 0; j < out.size(); ++j)
    out[j] += sum * offset[j] + constant;
}

void write_true_rows(const KernelRows& kernel, std::span<const std::size_t> rows, double* out) {
  std::vector<std::size_t> everybody(kernel.size());
  std::iota(everybody.begin(), everybody.end(), std::size_t{0});
  write_true_block(kernel, rows, everybody, out);
}

void write_true_block(const KernelRows& kernel, std::span<const std::size_t> rows,
                      std::span<const std::size_t> columns, double* out) {
  const std::vector<std::uint32_t> own(columns.begin(), columns.end());
  if (kernel.precision() == Precision::float32)
    copy_true<float>(kernel, rows, own, out);
  else
    copy_true<double>(kernel, rows, own, out);
}

} // namespace alphapath
