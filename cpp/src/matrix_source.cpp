#include "matrix_source.hpp"

#include "dispatch.hpp"

namespace alphapath {

template <class P, class T> void MatrixSource<P, T>::write_row(std::size_t i, T* out) const {
  const std::size_t n = products_.n;
  const P* row = products_.data + i * products_.stride;
  const std::size_t whole = n / 16 * 16;
  apply_kernel<P, T>()(f_, {}, row, whole, out);
  if (whole == n)
    return;
  // A given matrix has no padding to read.
  alignas(64) P last[16] = {};
  std::copy(row + whole, row + n, last);
  apply_kernel<P, T>()(f_, {}, last, 16, out + whole);
  clear_padding(out, n);
}

template <class P, class T>
void MatrixSource<P, T>::write_rows(std::span<const std::size_t> which,
                                    std::span<T* const> out) const {
  for (std::size_t r = 0; r < which.size(); ++r)
    write_row(which[r], out[r]);
}

template <class P, class T>
void MatrixSource<P, T>::write_matrix(T* matrix, const Team& team) const {
  // Pieces of many rows: a row of a small matrix is less work than handing it out.
  constexpr std::size_t piece = 32;
  const std::size_t n = products_.n;
  for_each_piece((n + piece - 1) / piece, team, [&](std::size_t p, std::size_t) {
    for (std::size_t i = p * piece; i < std::min(n, (p + 1) * piece); ++i)
      write_row(i, matrix + i * padded(n));
  });
}

template <class P, class T> std::vector<double> MatrixSource<P, T>::diagonal() const {
  std::vector<double> values(size());
  alignas(64) P product[16] = {};
  alignas(64) T value[16];
  for (std::size_t i = 0; i < size(); ++i) {
    product[0] = products_.data[i * products_.stride + i];
    apply_kernel<P, T>()(f_, {}, product, 16, value);
    values[i] = static_cast<double>(value[0]);
  }
  return values;
}

template <class P, class T> std::vector<double> MatrixSource<P, T>::offsets() const {
  return std::vector<double>(size(), f_.kind == KernelKind::rbf ? 0.5 : 0.0);
}

template class MatrixSource<float, float>;
template class MatrixSource<double, float>;
template class MatrixSource<double, double>;

} // namespace alphapath
