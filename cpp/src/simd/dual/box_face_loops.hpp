// The passes over the members of a face: who hits a bound first, and moving until then.
#pragma once

#include <cstddef>

namespace alphapath::simd {

struct FirstHit {
  double step;
  std::size_t at;
};

#define ALPHAPATH_DECLARE_FACE_LOOPS(isa)                                                          \
  namespace isa {                                                                                  \
  /* The least step >= 0 at which some x + step * d reaches its bound, and who does; +inf and n */ \
  /* where nobody moves. A member with lower = upper stays where it is. */                         \
  FirstHit find_first_hit(const double* x, const double* d, const double* lower,                   \
                          const double* upper, std::size_t n);                                     \
  /* x += step * d, held within the bounds. */                                                     \
  void move_within(double step, const double* d, const double* lower, const double* upper,         \
                   std::size_t n, double* x);                                                      \
  /* y += a x */                                                                                   \
  void add_multiple(double a, const double* x, std::size_t n, double* y);                          \
  }
ALPHAPATH_DECLARE_FACE_LOOPS(baseline)
#if defined(ALPHAPATH_X86)
ALPHAPATH_DECLARE_FACE_LOOPS(avx2)
ALPHAPATH_DECLARE_FACE_LOOPS(avx512)
#endif
#undef ALPHAPATH_DECLARE_FACE_LOOPS

} // namespace alphapath::simd
