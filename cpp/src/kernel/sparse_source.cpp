#include "kernel/sparse_source.hpp"

#include "base/dispatch.hpp"

#include <limits>
#include <stdexcept>

namespace alphapath {

namespace {

std::vector<double> squared_norms_of(const Samples& samples) {
  const CsrView& csr = samples.csr();
  std::vector<double> norms(padded(samples.size()), 0.0);
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (auto at = csr.indptr[i]; at < csr.indptr[i + 1]; ++at) {
      const double x = csr.values[static_cast<std::size_t>(at)];
      norms[i] += x * x;
    }
  return norms;
}

Offsets<double> offsets_for(const Samples& samples, const KernelFunction& f,
                            std::span<const double> norms) {
  if (!has_centre(f.kind))
    return {constant_offsets(f.kind, samples.size()), true};
  const CentreProducts centre = samples.products_with_centre();
  return {offsets_about(f, centre, norms.first(samples.size())), false};
}

} // namespace

template <class T>
SparseSource<T>::SparseSource(const Samples& samples, const KernelFunction& f)
    : samples_(samples), f_(f), column_start_(samples.n_features() + 1, 0),
      row_index_(samples.csr().values.size()), values_(samples.csr().values.size()),
      norms_(squared_norms_of(samples)), offsets_(offsets_for(samples, f, norms_)) {
  const CsrView& csr = samples.csr();
  const std::size_t n = samples.size();
  if (n > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("Sparse data may have at most 4294967295 rows.");
  for (const auto k : csr.indices)
    ++column_start_[static_cast<std::size_t>(k) + 1];
  for (std::size_t k = 0; k < samples.n_features(); ++k)
    column_start_[k + 1] += column_start_[k];
  std::vector<std::size_t> next(column_start_.begin(), column_start_.end() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    for (auto at = csr.indptr[i]; at < csr.indptr[i + 1]; ++at) {
      const auto source = static_cast<std::size_t>(at);
      const std::size_t to = next[static_cast<std::size_t>(csr.indices[source])]++;
      row_index_[to] = static_cast<std::uint32_t>(i);
      values_[to] = csr.values[source];
    }
  }
}

template <class T> std::size_t SparseSource<T>::nbytes() const {
  return column_start_.size() * sizeof(std::size_t) + row_index_.size() * sizeof(std::uint32_t) +
         (values_.size() + norms_.size()) * sizeof(double);
}

template <class T>
simd::Terms<double> SparseSource<T>::terms(std::size_t i, std::size_t column) const {
  if (f_.kind == KernelKind::rbf || f_.kind == KernelKind::squared_distance)
    return {norms_[i], norms_.data() + column};
  return offsets_.terms(i, column);
}

/// Values of row i from column `first` (a multiple of 16) on; `products` has padded(size()) items.
template <class T>
void SparseSource<T>::write_row(std::size_t i, std::size_t first, std::vector<double>& products,
                                T* out) const {
  const CsrView& csr = samples_.csr();
  std::fill(products.begin() + static_cast<std::ptrdiff_t>(first), products.end(), 0.0);
  for (auto at = csr.indptr[i]; at < csr.indptr[i + 1]; ++at) {
    const auto k = static_cast<std::size_t>(csr.indices[static_cast<std::size_t>(at)]);
    const double x = csr.values[static_cast<std::size_t>(at)];
    const auto begin = row_index_.begin() + static_cast<std::ptrdiff_t>(column_start_[k]);
    const auto end = row_index_.begin() + static_cast<std::ptrdiff_t>(column_start_[k + 1]);
    const auto from = first == 0 ? begin : std::lower_bound(begin, end, first);
    const auto stop = static_cast<std::size_t>(end - row_index_.begin());
    for (auto e = static_cast<std::size_t>(from - row_index_.begin()); e < stop; ++e)
      products[row_index_[e]] += x * values_[e];
  }
  apply_kernel<double, T>()(f_, terms(i, first), products.data() + first, padded(size()) - first,
                            out + first);
  clear_padding(out, size());
}

template <class T>
void SparseSource<T>::write_rows(std::span<const std::size_t> which,
                                 std::span<T* const> out) const {
  std::vector<double> products(padded(size()));
  for (std::size_t r = 0; r < which.size(); ++r)
    write_row(which[r], 0, products, out[r]);
}

template <class T>
void SparseSource<T>::write_matrix(const MatrixOut<T>& matrix, const Team& team) const {
  std::vector<std::vector<double>> products(std::max<std::size_t>(team.n_threads, 1));
  for_each_piece(size(), team, [&](std::size_t i, std::size_t worker) {
    products[worker].resize(padded(size()));
    write_row(i, i / 16 * 16, products[worker], matrix.row(i));
  });
  mirror_upper(matrix, size(), team);
}

template <class T> std::vector<double> SparseSource<T>::diagonal() const {
  std::vector<double> diagonal(size(), 0.0);
  if (f_.kind == KernelKind::rbf || f_.kind == KernelKind::squared_distance)
    return diagonal;
  alignas(64) T value[row_padding];
  for (std::size_t i = 0; i < size(); ++i) {
    const std::size_t first = i / row_padding * row_padding;
    apply_kernel<double, T>()(f_, terms(i, first), norms_.data() + first, row_padding, value);
    diagonal[i] = static_cast<double>(value[i - first]);
  }
  return diagonal;
}

template <class T> void mirror_upper(const MatrixOut<T>& matrix, std::size_t n, const Team& team) {
  constexpr std::size_t block = 64;
  for_each_piece((n + block - 1) / block, team, [&](std::size_t b, std::size_t) {
    const std::size_t j = b * block; // the rows written: j .. j + block
    const std::size_t n_rows = std::min(block, n - j);
    for (std::size_t i = 0; i < j; i += block)
      transpose<T>({matrix.row(i) + j, matrix.stride, block, n_rows}, matrix.row(j) + i,
                   matrix.stride);
    for (std::size_t r = j + 1; r < j + n_rows; ++r)
      for (std::size_t c = j; c < r; ++c)
        matrix.row(r)[c] = matrix.row(c)[r];
  });
}

template class SparseSource<float>;
template class SparseSource<double>;

} // namespace alphapath
