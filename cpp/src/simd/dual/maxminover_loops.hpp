// The one pass of a MaxMinOver step.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

/// All arrays padded to a multiple of 16: s 0, counters 0, bar infinity, offset 0.
struct CounterView {
  double* s;
  const double* counters;
  const double* bar;    // 0, or infinity for instances that are held out
  const double* offset; // K_ij = stored_ij + offset_i + offset_j
  std::size_t n_padded;
};

/// Who rises and who falls next; ties go to the smallest index.
struct CounterPair {
  std::size_t lowest;  // argmin of s over the instances that take part
  std::size_t highest; // argmax of s over those with a positive counter
  double s_lowest;
  double s_highest; // -infinity where every counter is 0
};

#define ALPHAPATH_DECLARE_MAXMINOVER_LOOPS(isa)                                                    \
  namespace isa {                                                                                  \
  /* s_k += up (a_k + offset_k) - down (b_k + offset_k) + constant, where rows are given; then the \
     next pair. `constant` holds the offsets of the two rows themselves. */                        \
  template <class T>                                                                               \
  CounterPair counter_update(const CounterView& view, const T* row_a, const T* row_b, double up,   \
                             double down, double constant);                                        \
  }
ALPHAPATH_DECLARE_MAXMINOVER_LOOPS(baseline)
#if defined(ALPHAPATH_X86)
ALPHAPATH_DECLARE_MAXMINOVER_LOOPS(avx2)
ALPHAPATH_DECLARE_MAXMINOVER_LOOPS(avx512)
#endif

} // namespace alphapath::simd
