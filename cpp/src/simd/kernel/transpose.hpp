// Moving finished tiles to their place in the matrix.
#pragma once

#include <cstddef>

namespace alphapath::simd {

/// `n_rows` x `n_columns` numbers, rows `ld` apart.
template <class T> struct Block {
  T* data;
  std::size_t ld, n_rows, n_columns;
};

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* to[j * ld + i] = from[i * from.ld + j] */                                                     \
  void transpose_f32(const Block<const float>& from, float* to, std::size_t ld);                   \
  void transpose_f64(const Block<const double>& from, double* to, std::size_t ld);                 \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
