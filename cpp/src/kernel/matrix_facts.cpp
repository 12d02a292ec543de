#include "kernel/matrix_facts.hpp"

#include "base/dispatch.hpp"

#include <algorithm>

namespace alphapath {

namespace {

// A tile and the one across the diagonal stay in the first-level cache.
constexpr std::size_t tile = 32;

} // namespace

simd::PairFacts look_at_matrix(const double* values, std::size_t n) {
  const auto look_at_pairs = ALPHAPATH_DISPATCH(look_at_pairs);
  simd::PairFacts facts;
  alignas(64) double across[tile * tile];
  for (std::size_t i0 = 0; i0 < n; i0 += tile) {
    const std::size_t n_rows = std::min(tile, n - i0);
    for (std::size_t j0 = i0; j0 < n; j0 += tile) {
      const std::size_t n_columns = std::min(tile, n - j0);
      transpose<double>({values + j0 * n + i0, n, n_columns, n_rows}, across, tile);
      for (std::size_t r = 0; r < n_rows; ++r)
        look_at_pairs(values + (i0 + r) * n + j0, across + r * tile, n_columns, facts);
    }
  }
  return facts;
}

} // namespace alphapath
