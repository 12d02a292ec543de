// Accumulators of one call of PairOps: rows x vectors, sized to the register file (32, 16 and 16
// registers).
#pragma once

#include <cstddef>

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

#if defined(__AVX512F__)
constexpr std::size_t group_rows = 8;
constexpr std::size_t panel_vectors = 3;
#elif defined(__AVX2__)
constexpr std::size_t group_rows = 4;
constexpr std::size_t panel_vectors = 3;
#else
constexpr std::size_t group_rows = 4;
constexpr std::size_t panel_vectors = 2;
#endif

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
