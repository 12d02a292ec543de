// Portable vectors (GCC/Clang vector extensions) at the width of the instruction set this file is
// compiled for. Included only by the files of cpp/src/simd, which must not instantiate anything
// from the standard library: an inline function compiled here for AVX-512 could be the copy the
// linker keeps for everybody.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

typedef float vfloat __attribute__((vector_size(vector_bytes)));
typedef std::int32_t vint32 __attribute__((vector_size(vector_bytes)));
typedef double vdouble __attribute__((vector_size(vector_bytes)));
typedef std::int64_t vint64 __attribute__((vector_size(vector_bytes)));

template <class T> struct Vec;
template <> struct Vec<float> {
  using type = vfloat;
  using mask = vint32;
  using lane = std::int32_t;
  static constexpr std::size_t width = vector_bytes / sizeof(float);
};
template <> struct Vec<double> {
  using type = vdouble;
  using mask = vint64;
  using lane = std::int64_t;
  static constexpr std::size_t width = vector_bytes / sizeof(double);
};

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
