// A lower triangular matrix L, column-major, its columns `ld` apart: solves, and the reflections
// that take rows out of it.
#pragma once

#include <cstddef>

namespace alphapath::simd {

/// Right-hand sides that are solved for together.
inline constexpr std::size_t right_sides = 8;

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* x <- L^-1 x of order n */                                                                     \
  void solve_lower(const double* l, std::size_t ld, std::size_t n, double* x);                     \
  /* x <- L'^-1 x of order n */                                                                    \
  void solve_lower_transposed(const double* l, std::size_t ld, std::size_t n, double* x);          \
  /* X <- L^-1 X for right_sides columns X, which lie side by side: n rows of right_sides. */      \
  void solve_lower_together(const double* l, std::size_t ld, std::size_t n, double* x);            \
  /* For each of n rows (x_r, v_r), v_r in n_v columns `ld` apart: take scale * (row' u) u out. */ \
  void reflect_rows(double u0, const double* u, double scale, double* x, double* v,                \
                    std::size_t ld, std::size_t n_v, std::size_t n);                               \
  }
ALPHAPATH_DECLARE(baseline)
#if defined(ALPHAPATH_X86)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#endif
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
