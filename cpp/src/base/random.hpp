// Numbers that a seed determines: the core has no other source of randomness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace alphapath {

/// SplitMix64: the next of a sequence that the seed determines.
inline std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Every order of `items` with the same chance, but for a bias of 2^-32 of their number.
template <class T> void shuffle(std::span<T> items, std::uint64_t& state) {
  for (std::size_t k = items.size(); k > 1; --k)
    std::swap(items[k - 1], items[((next_random(state) >> 32) * k) >> 32]);
}

} // namespace alphapath
