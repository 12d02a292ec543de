#include "kernel/matrix_source.hpp"

#include "base/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace alphapath {

namespace {

// Rows handed out together: one row of a small matrix is less work than handing it out.
constexpr std::size_t piece = 32;
// A tile and the one across the diagonal stay in the first-level cache.
constexpr std::size_t tile = 32;

template <class P> double mean_of(const P* values, std::size_t n) {
  constexpr std::size_t lanes = 16; // one sum would wait for each addition
  double sums[lanes] = {};
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += static_cast<double>(values[j + lane]);
  for (; j < n; ++j)
    sums[j % lanes] += static_cast<double>(values[j]);
  return std::accumulate(sums, sums + lanes, 0.0) / static_cast<double>(n);
}

/// With m the mean of the rows that the products are of: m'x_i is the mean of row i of them.
template <class P>
CentreProducts products_with_mean(const MatrixView<P>& products, const Team& team) {
  const std::size_t n = products.n;
  CentreProducts centre{std::vector<double>(n), 0.0};
  for_each_piece((n + piece - 1) / piece, team, [&](std::size_t p, std::size_t) {
    for (std::size_t i = p * piece; i < std::min(n, (p + 1) * piece); ++i)
      centre.with_rows[i] = mean_of(products.data + i * products.stride, n);
  });
  centre.squared_norm = mean_of(centre.with_rows.data(), n);
  return centre;
}

/// To some leading bits: instances that a given matrix tells apart by a little on its diagonal only
/// then have the same offset, and the same values with all others after it is added back.
void round_offsets(std::vector<double>& offsets) {
  double largest = 0;
  for (const double offset : offsets)
    largest = std::max(largest, std::abs(offset));
  if (largest == 0)
    return;
  const double unit = std::ldexp(1.0, std::ilogb(largest) - 26);
  for (double& offset : offsets)
    offset = std::nearbyint(offset / unit) * unit;
}

template <class P>
Offsets<P> offsets_for(const MatrixView<P>& products, const KernelFunction& f, const Team& team) {
  if (!has_centre(f.kind))
    return {constant_offsets(f.kind, products.n), true};
  std::vector<double> squared_norms(products.n);
  for (std::size_t i = 0; i < products.n; ++i)
    squared_norms[i] = static_cast<double>(products.data[i * products.stride + i]);
  std::vector<double> offsets = offsets_about(f, products_with_mean(products, team), squared_norms);
  if (f.kind == KernelKind::linear) // a matrix that is given
    round_offsets(offsets);
  return {std::move(offsets), false};
}

} // namespace

template <class P, class T>
MatrixSource<P, T>::MatrixSource(const MatrixView<P>& products, const KernelFunction& f,
                                 const Team& team)
    : products_(products), f_(f), offsets_(offsets_for(products, f, team)) {}

template <class P, class T> void MatrixSource<P, T>::write_row(std::size_t i, T* out) const {
  const std::size_t n = products_.n;
  const P* row = products_.data + i * products_.stride;
  const std::size_t whole = n / 16 * 16;
  apply_kernel<P, T>()(f_, offsets_.terms(i, 0), row, whole, out);
  if (whole == n)
    return;
  // A given matrix has no padding to read.
  alignas(64) P last[16] = {};
  std::copy(row + whole, row + n, last);
  apply_kernel<P, T>()(f_, offsets_.terms(i, whole), last, 16, out + whole);
  clear_padding(out, n);
}

template <class P, class T>
void MatrixSource<P, T>::write_rows(std::span<const std::size_t> which,
                                    std::span<T* const> out) const {
  for (std::size_t r = 0; r < which.size(); ++r)
    write_row(which[r], out[r]);
}

template <class P, class T>
void MatrixSource<P, T>::write_matrix(const MatrixOut<T>& matrix, const Team& team) const {
  const std::size_t n = products_.n;
  for_each_piece((n + piece - 1) / piece, team, [&](std::size_t p, std::size_t) {
    for (std::size_t i = p * piece; i < std::min(n, (p + 1) * piece); ++i)
      write_row(i, matrix.row(i));
  });
}

template <class P, class T> std::vector<double> MatrixSource<P, T>::diagonal() const {
  std::vector<double> values(size());
  alignas(64) P product[row_padding] = {};
  alignas(64) T value[row_padding];
  for (std::size_t i = 0; i < size(); ++i) {
    const std::size_t first = i / row_padding * row_padding;
    product[i - first] = products_.data[i * products_.stride + i];
    apply_kernel<P, T>()(f_, offsets_.terms(i, first), product, row_padding, value);
    values[i] = static_cast<double>(value[i - first]);
  }
  return values;
}

template class MatrixSource<float, float>;
template class MatrixSource<double, float>;
template class MatrixSource<double, double>;

simd::PairFacts look_at_matrix(const double* values, std::size_t n) {
  const auto look_at_pairs = ALPHAPATH_DISPATCH(look_at_pairs);
  simd::PairFacts facts;
  alignas(64) double across[tile * tile];
  for (std::size_t i0 = 0; i0 < n; i0 += tile) {
    const std::size_t n_rows = std::min(tile, n - i0);
    for (std::size_t j0 = i0; j0 < n; j0 += tile) {
      const std::size_t n_columns = std::min(tile, n - j0);
      transpose<double>({values + j0 * n + i0, n, n_columns, n_rows}, across, tile);
      for (std::size_t r = 0; r < n_rows; ++r)
        look_at_pairs(values + (i0 + r) * n + j0, across + r * tile, n_columns, facts);
    }
  }
  return facts;
}

} // namespace alphapath
