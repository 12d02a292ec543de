// Uninitialised memory on 64-byte boundaries. Large blocks come from fresh pages, so what is never
// touched costs nothing.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

namespace alphapath {

inline constexpr std::size_t row_padding = 16; // elements; rows are padded to a multiple of it

inline std::size_t padded(std::size_t n) {
  return (n + row_padding - 1) / row_padding * row_padding;
}

struct FreeMemory {
  void operator()(void* p) const { std::free(p); }
};

template <class T> using AlignedArray = std::unique_ptr<T[], FreeMemory>;

template <class T> AlignedArray<T> make_aligned(std::size_t n) {
  const std::size_t bytes = (n * sizeof(T) + 63) / 64 * 64;
  void* p = std::aligned_alloc(64, bytes > 0 ? bytes : 64);
  if (p == nullptr)
    throw std::bad_alloc();
  return AlignedArray<T>(static_cast<T*>(p));
}

} // namespace alphapath
