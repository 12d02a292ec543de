// Solves with a lower triangular matrix L, column-major, its columns `ld` apart.
#pragma once

#include <cstddef>

namespace alphapath::simd {

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* x <- L^-1 x of order n */                                                                     \
  void solve_lower(const double* l, std::size_t ld, std::size_t n, double* x);                     \
  /* x <- L'^-1 x of order n */                                                                    \
  void solve_lower_transposed(const double* l, std::size_t ld, std::size_t n, double* x);          \
  }
ALPHAPATH_DECLARE(baseline)
#if defined(ALPHAPATH_X86)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#endif
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
