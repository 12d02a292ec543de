// The one pass of a coordinate-descent step.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

/// All arrays padded with zeros to a multiple of 16.
struct CoordinateView {
  double* gradient;
  const double *beta, *lower, *upper;
  const double* curvature; // K_ii + D_ii, positive; 1 in the padding
  const double* inverse;   // 1 / curvature
  const double* offset;    // K_ij = stored_ij + offset_i + offset_j
  std::size_t n_padded;
};

/// Ties go to the smallest index.
struct CoordinateCandidate {
  std::size_t index;
  double gain;      // decrease of the objective, twice
  double violation; // largest slope along which some beta may still move
};

#define ALPHAPATH_DECLARE_COORDINATE_LOOPS(isa)                                                    \
  namespace isa {                                                                                  \
  /* g_k += step (row_k + offset_k + own_offset), where row is given; then the best next step. */  \
  template <class T>                                                                               \
  CoordinateCandidate coordinate_update(const CoordinateView& view, const T* row, double step,     \
                                        double own_offset);                                        \
  }
ALPHAPATH_DECLARE_COORDINATE_LOOPS(baseline)
#if defined(ALPHAPATH_X86)
ALPHAPATH_DECLARE_COORDINATE_LOOPS(avx2)
ALPHAPATH_DECLARE_COORDINATE_LOOPS(avx512)
#endif

} // namespace alphapath::simd
