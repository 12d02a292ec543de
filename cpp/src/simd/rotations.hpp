// Rotations that keep a Cholesky factor triangular.
#pragma once

#include <cstddef>

namespace alphapath::simd {

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* U'U = A of order m, column-major: drops row and column p of A, leaving order m - 1.        */ \
  /* cosines and sines are room for m values each.                                              */ \
  void remove_from_factor(double* u, std::size_t ld, std::size_t m, std::size_t p,                 \
                          double* cosines, double* sines);                                         \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
