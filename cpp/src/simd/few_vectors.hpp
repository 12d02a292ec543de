// Products of many long rows with a few vectors, in one pass over the rows.
#pragma once

#include <cstddef>

namespace alphapath::simd {

/// Rows of `length` values each, anywhere in memory.
struct LongRows {
  const double* const* rows;
  std::size_t n_rows;
  std::size_t length;
};

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* out[a * n_rows + i] = rows[i]' vectors[a], vectors of `length` values one after the other. */ \
  void multiply_few(const LongRows& x, const double* vectors, std::size_t n_vectors, double* out); \
  /* out[a] += sum_i coefs[a * n_rows + i] rows[i], vectors of `length` values. */                 \
  void combine_few(const LongRows& x, const double* coefs, std::size_t n_vectors, double* out);    \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
