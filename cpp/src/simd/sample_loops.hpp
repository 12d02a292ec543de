// What is to be known of one row of data, in one pass.
#pragma once

#include <cstddef>

namespace alphapath::simd {

struct RowFacts {
  double squared_norm;
  std::size_t n_nonzero;
  bool is_integer; // every number
  double smallest, largest;
};

#define ALPHAPATH_DECLARE_SAMPLE_LOOPS(isa)                                                        \
  namespace isa {                                                                                  \
  /* Of row x; it is added to `sums`. */                                                           \
  RowFacts look_at_row(const double* x, std::size_t d, double* sums);                              \
  /* out = x / step, rounded; returns the largest |x - step out|. Quotients below 2^51. */         \
  double round_to_grid(const double* x, std::size_t d, double step, double* out);                  \
  /* |x|^2 */                                                                                      \
  double squared_norm(const double* x, std::size_t d);                                             \
  /* |x - centre|^2 */                                                                             \
  double squared_distance(const double* x, const double* centre, std::size_t d);                   \
  }
ALPHAPATH_DECLARE_SAMPLE_LOOPS(baseline)
#if defined(ALPHAPATH_X86)
ALPHAPATH_DECLARE_SAMPLE_LOOPS(avx2)
ALPHAPATH_DECLARE_SAMPLE_LOOPS(avx512)
#endif
#undef ALPHAPATH_DECLARE_SAMPLE_LOOPS

} // namespace alphapath::simd
