// What is to be known of one row of data, in one pass.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

struct RowFacts {
  double squared_norm;
  std::size_t n_nonzero;
  bool is_integer; // every number
  double smallest, largest;
};

/// Of pairs of numbers.
struct PairFacts {
  double lowest = 0, highest = 0, widest_gap = 0;
  bool is_finite = true; // the others mean nothing where it is false
};

#define ALPHAPATH_DECLARE_SAMPLE_LOOPS(isa)                                                        \
  namespace isa {                                                                                  \
  /* Of row x; it is added to `sums`. */                                                           \
  RowFacts look_at_row(const double* x, std::size_t d, double* sums);                              \
  /* sum_k multipliers[k] * mixed bits of x[k] modulo 2^64; equal for 0 and -0, which add nothing. \
   */                                                                                              \
  std::uint64_t hash_row(const double* x, const std::uint64_t* multipliers, std::size_t d);        \
  /* out = x / step, rounded; returns the largest |x - step out|. Quotients below 2^51. */         \
  double round_to_grid(const double* x, std::size_t d, double step, double* out);                  \
  /* Adds the pairs (a[k], b[k]) to `facts`. */                                                    \
  void look_at_pairs(const double* a, const double* b, std::size_t n, PairFacts& facts);           \
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
