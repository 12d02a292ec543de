// Loads and stores for the vectors of vec.hpp; like it, only for the files of cpp/src/simd.
#pragma once

#include "simd/vec.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

template <class V, class T> inline V load(const T* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}

template <class V, class T> inline void store(T* to, V v) {
  __builtin_memcpy(to, &v, sizeof(V));
}

template <class V> inline V smaller_of(V a, V b) {
  return a < b ? a : b;
}
template <class V> inline V larger_of(V a, V b) {
  return a > b ? a : b;
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
