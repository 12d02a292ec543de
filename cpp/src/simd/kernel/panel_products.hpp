// Dot products and squared distances between rows of a matrix, one panel at a time.
//
// A panel holds `width` rows with the feature index running slowest: panel[k * width + lane].
// Every result is a sum over k = 0, 1, ... in this order, one accumulator a result, and zeros left
// out change none of its bits. So they depend on the two rows alone: not on the tile it fell in,
// not on which of the two came first, not on the number of threads. Equal rows therefore give
// exactly |x|^2, and a distance of exactly 0. A general BLAS promises none of this.
//
// Integers are multiplied as 16-bit numbers, two features at a time and several times faster; while
// |x| < 2^15 no sum passes 2^30, so that the products are exact. Where the processor multiplies
// bytes, those from 0 to 255 go four at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

/// Two features of a row of integers, the first in the low half.
enum class WholePair : std::int32_t {};

/// Four features of a row of integers from 0 to 255, the first in the lowest byte. Of at most
/// `most_quad_features` no sum passes 2^31.
enum class WholeQuad : std::int32_t {};
constexpr std::size_t most_quad_features = 65'000;

/// The elements of rows that a sum is over: all, or some where the others of the left side are 0.
struct Depth {
  std::size_t count;
  const std::uint16_t* which = nullptr; // ascending; null for 0, 1, ..., count - 1
  /// Whether the sums go on from what `out` holds, as if all were one sum. Not for integers.
  bool is_continued = false;
};

/// Elements E of the panels (a feature, or two integers), results P.
template <class E, class P = E> struct PairOps {
  /// Rows in a panel, and rows that `products` takes at once (a divisor of width).
  std::size_t width;
  std::size_t group;
  /// out[r * ld + lane] = sum_k a[k * lda + r] * panel[k * width + lane] for r < n_rows <= group.
  void (*products)(const E* a, std::size_t lda, std::size_t n_rows, const E* panel, Depth depth,
                   P* out, std::size_t ld);
  /// The same with (a - panel)^2 in place of the product, over all elements: half the speed, no
  /// cancellation. Null for integers, whose products are exact.
  void (*squared_differences)(const E* a, std::size_t lda, std::size_t n_rows, const E* panel,
                              Depth depth, P* out, std::size_t ld);
};

#if defined(ALPHAPATH_ISA)
// Accumulators of one call of PairOps: rows x vectors, sized to the register file (32, 16 and 16
// registers).
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
#endif

#define ALPHAPATH_DECLARE_WHOLE(isa)                                                               \
  namespace isa {                                                                                  \
  extern const PairOps<WholePair, float> pair_ops_whole_f32;                                       \
  extern const PairOps<WholePair, double> pair_ops_whole_f64;                                      \
  }
#define ALPHAPATH_DECLARE(isa)                                                                     \
  ALPHAPATH_DECLARE_WHOLE(isa)                                                                     \
  namespace isa {                                                                                  \
  extern const PairOps<float> pair_ops_f32;                                                        \
  extern const PairOps<double> pair_ops_f64;                                                       \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
ALPHAPATH_DECLARE_WHOLE(avx512vnni)
#undef ALPHAPATH_DECLARE
#undef ALPHAPATH_DECLARE_WHOLE

namespace avx512vnni {
extern const PairOps<WholeQuad, float> quad_ops_whole_f32;
extern const PairOps<WholeQuad, double> quad_ops_whole_f64;
} // namespace avx512vnni

} // namespace alphapath::simd
