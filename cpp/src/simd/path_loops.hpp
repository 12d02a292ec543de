// The passes of a path over contiguous memory: the next crossing, and Givens rotations.
#pragma once

#include <cstddef>

namespace alphapath::simd {

#define ALPHAPATH_DECLARE_PATH_LOOPS(isa)                                                          \
  namespace isa {                                                                                  \
  /* The least step >= 0 at which some e + step * de leaves [lo, hi]; rates of at most `noise` */  \
  /* do not count. n is a multiple of 16; +inf where nobody leaves. */                             \
  double first_crossing(const double* e, const double* de, const double* lo, const double* hi,     \
                        std::size_t n, double noise);                                              \
  /* Of those that have left by `step`, the one with the largest rate. */                          \
  std::size_t steepest_crossing(const double* e, const double* de, const double* lo,               \
                                const double* hi, std::size_t n, double noise, double step);       \
  /* y += a x, and y += a; n is a multiple of 16. */                                               \
  void add_scaled(double a, const double* x, std::size_t n, double* y);                            \
  void add_constant(double a, std::size_t n, double* y);                                           \
  double sum_of(const double* x, std::size_t n);                                                   \
  /* out = c x + s v and v = c v - s x. */                                                         \
  void rotate_into(double c, double s, const double* x, double* v, double* out, std::size_t n);    \
  }
ALPHAPATH_DECLARE_PATH_LOOPS(baseline)
#if defined(ALPHAPATH_X86)
ALPHAPATH_DECLARE_PATH_LOOPS(avx2)
ALPHAPATH_DECLARE_PATH_LOOPS(avx512)
#endif
#undef ALPHAPATH_DECLARE_PATH_LOOPS

} // namespace alphapath::simd
