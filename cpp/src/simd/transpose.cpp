#include "simd/transpose.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t cell = 16;

template <class T> void transpose_cell(const T* from, std::size_t from_ld, T* to, std::size_t ld) {
  T columns[cell][cell];
  for (std::size_t i = 0; i < cell; ++i)
    for (std::size_t j = 0; j < cell; ++j)
      columns[j][i] = from[i * from_ld + j];
  for (std::size_t j = 0; j < cell; ++j)
    __builtin_memcpy(to + j * ld, columns[j], sizeof columns[j]);
}

template <class T> void transpose(const Block<const T>& from, T* to, std::size_t ld) {
  const std::size_t whole_rows = from.n_rows / cell * cell;
  const std::size_t whole_columns = from.n_columns / cell * cell;
  for (std::size_t j = 0; j < whole_columns; j += cell)
    for (std::size_t i = 0; i < whole_rows; i += cell)
      transpose_cell(from.data + i * from.ld + j, from.ld, to + j * ld + i, ld);
  for (std::size_t j = 0; j < from.n_columns; ++j)
    for (std::size_t i = j < whole_columns ? whole_rows : 0; i < from.n_rows; ++i)
      to[j * ld + i] = from.data[i * from.ld + j];
}

} // namespace

void transpose_f32(const Block<const float>& from, float* to, std::size_t ld) {
  transpose(from, to, ld);
}

void transpose_f64(const Block<const double>& from, double* to, std::size_t ld) {
  transpose(from, to, ld);
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
