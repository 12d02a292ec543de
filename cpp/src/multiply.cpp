#include "dispatch.hpp"
#include "gram.hpp"

#include <array>
#include <numeric>

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

template <class T, class Column>
void copy_true(const KernelRows& kernel, std::span<const std::size_t> rows, std::size_t n_columns,
               Column column, double* out) {
  const auto offset = kernel.offset();
  for_each_batch<T>(kernel, rows, 1, [&](std::size_t at, const std::vector<const T*>& row) {
    for (std::size_t c = 0; c < n_columns; ++c) {
      const std::size_t j = column(c);
      out[at * n_columns + c] = static_cast<double>(row[0][j]) + (offset[rows[at]] + offset[j]);
    }
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
  const auto identity = [](std::size_t c) { return c; };
  if (kernel.precision() == Precision::float32)
    copy_true<float>(kernel, rows, kernel.size(), identity, out);
  else
    copy_true<double>(kernel, rows, kernel.size(), identity, out);
}

void write_true_block(const KernelRows& kernel, std::span<const std::size_t> rows,
                      std::span<const std::size_t> columns, double* out) {
  const auto pick = [columns](std::size_t c) { return columns[c]; };
  if (kernel.precision() == Precision::float32)
    copy_true<float>(kernel, rows, columns.size(), pick, out);
  else
    copy_true<double>(kernel, rows, columns.size(), pick, out);
}

} // namespace alphapath
