// The one pass of a coordinate-descent step.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

struct CoordinateView {
  double* gradient;
  const double *beta, *lower, *upper;
  const double* inverse; // 1 / (K_ii + ridge)
  std::size_t n;
};

struct CoordinateCandidate {
  std::size_t index;
  double gain;      // decrease of the objective, twice
  double violation; // largest slope along which some beta may still move
};

#define ALPHAPATH_DECLARE_COORDINATE_LOOPS(isa)                                                    \
  namespace isa {                                                                                  \
  /* g_k += step (row_k + offset_k + own_offset), where row is given; then the best next step. */  \
  template <class T>                                                                               \
  CoordinateCandidate coordinate_update(const CoordinateView& view, const T* row,                  \
                                        const double* offset, double step, double own_offset);     \
  }
ALPHAPATH_DECLARE_COORDINATE_LOOPS(baseline)
#if defined(ALPHAPATH_X86)
ALPHAPATH_DECLARE_COORDINATE_LOOPS(avx2)
ALPHAPATH_DECLARE_COORDINATE_LOOPS(avx512)
#endif

} // namespace alphapath::simd
