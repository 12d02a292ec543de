// The two passes of an SMO iteration, over contiguous memory in chunks of 16 instances.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

/// Instances that share one set of marks.
inline constexpr std::size_t chunk = 16;

/// Which way each of 16 instances may move, and on which side of the kink at 0 it stands.
struct Marks {
  std::uint16_t up = 0;       // beta < upper
  std::uint16_t down = 0;     // beta > lower
  std::uint16_t nonneg = 0;   // beta >= 0: rising costs +epsilon
  std::uint16_t positive = 0; // beta > 0: falling gains epsilon
};

template <class T> struct Extremes {
  T min_up;   // smallest right slope among those that may rise
  T max_down; // largest left slope among those that may fall
  std::int64_t arg_up;
};

template <class T> struct Partner {
  T gain; // (slope difference)^2 / curvature; 0 if no instance may fall
  std::int64_t index;
};

#define ALPHAPATH_DECLARE_SMO_LOOPS(isa)                                                           \
  namespace isa {                                                                                  \
  template <class T>                                                                               \
  Extremes<T> update_and_select(T* g, const T* row_i, const T* row_j, T step, const Marks* marks,  \
                                std::size_t n_chunks, T epsilon);                                  \
  template <class T>                                                                               \
  Partner<T> select_partner(const T* g, const T* row_i, const T* diagonal, T own_curvature,        \
                            T slope_i, const Marks* marks, std::size_t n_chunks, T epsilon);       \
  }
ALPHAPATH_DECLARE_SMO_LOOPS(baseline)
#if defined(ALPHAPATH_X86)
ALPHAPATH_DECLARE_SMO_LOOPS(avx2)
ALPHAPATH_DECLARE_SMO_LOOPS(avx512)
#endif

} // namespace alphapath::simd
