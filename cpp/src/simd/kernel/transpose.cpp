#include "simd/kernel/transpose.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

// The first or second halves of two vectors, element by element in turn.
template <std::size_t lanes> struct Interleave;
template <> struct Interleave<2> {
  template <class V> static V low(V a, V b) { return __builtin_shufflevector(a, b, 0, 2); }
  template <class V> static V high(V a, V b) { return __builtin_shufflevector(a, b, 1, 3); }
};
template <> struct Interleave<4> {
  template <class V> static V low(V a, V b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
  template <class V> static V high(V a, V b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
};
template <> struct Interleave<8> {
  template <class V> static V low(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  }
  template <class V> static V high(V a, V b) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
};
template <> struct Interleave<16> {
  template <class V> static V low(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
  template <class V> static V high(V a, V b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
  }
};

// A square of one vector each way: log2(lanes) rounds of interleaving row i with row i + lanes/2.
template <class T>
void transpose_square(const T* from, std::size_t from_ld, T* to, std::size_t ld) {
  using V = typename Vec<T>::type;
  constexpr std::size_t lanes = Vec<T>::width;
  V rows[lanes];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < lanes; ++i)
    rows[i] = load<V>(from + i * from_ld);
#pragma GCC unroll 4
  for (std::size_t round = 1; round < lanes; round *= 2) {
    V next[lanes];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < lanes / 2; ++i) {
      next[2 * i] = Interleave<lanes>::low(rows[i], rows[i + lanes / 2]);
      next[2 * i + 1] = Interleave<lanes>::high(rows[i], rows[i + lanes / 2]);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < lanes; ++i)
      rows[i] = next[i];
  }
#pragma GCC unroll 16
  for (std::size_t j = 0; j < lanes; ++j)
    store(to + j * ld, rows[j]);
}

template <class T> void transpose(const Block<const T>& from, T* to, std::size_t ld) {
  constexpr std::size_t lanes = Vec<T>::width;
  const std::size_t whole_rows = from.n_rows / lanes * lanes;
  const std::size_t whole_columns = from.n_columns / lanes * lanes;
  for (std::size_t j = 0; j < whole_columns; j += lanes)
    for (std::size_t i = 0; i < whole_rows; i += lanes)
      transpose_square(from.data + i * from.ld + j, from.ld, to + j * ld + i, ld);
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
