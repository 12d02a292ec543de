#include "simd/kernel/panel_products.hpp"
#include "simd/vec_ops.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t lanes = vector_bytes / sizeof(std::int32_t);
constexpr std::size_t width = panel_vectors * lanes;

/// sum + a0 b0 + a1 b1 of the two 16-bit halves of every lane.
inline vint32 add_products(vint32 sum, vint32 a, vint32 b) {
#if defined(__AVX512VNNI__)
  return (vint32)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(__AVX512BW__)
  return sum + (vint32)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return sum + (vint32)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return sum + (vint32)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  return sum + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

/// How the elements of panels are multiplied.
template <class E> struct Multiplier;

template <> struct Multiplier<WholePair> {
  vint32 read(const WholePair* panel) const { return load<vint32>(panel); }
  template <std::size_t rows> void look_at(const WholePair*) {}
  vint32 add(vint32 sum, vint32 a, vint32 b) const { return add_products(sum, a, b); }
  vint32 finish(vint32 sum, std::size_t) const { return sum; }
};

#if defined(__AVX512VNNI__)
/// The instruction takes bytes without a sign from the left and with one from the right: those are
/// the bytes less 128, and 128 times the sum of the left row is added at the end.
template <> struct Multiplier<WholeQuad> {
  vint32 read(const WholeQuad* panel) const {
    return load<vint32>(panel) ^ static_cast<std::int32_t>(0x80808080);
  }
  template <std::size_t rows> void look_at(const WholeQuad* left) {
    static_assert(rows == 1 || rows == 8);
    const __m256i own = rows == 1 ? _mm256_set1_epi32(static_cast<std::int32_t>(*left))
                                  : _mm256_loadu_si256(reinterpret_cast<const __m256i*>(left));
    row_sums = _mm256_dpbusd_epi32(row_sums, own, _mm256_set1_epi8(1));
  }
  vint32 add(vint32 sum, vint32 a, vint32 b) const {
    return (vint32)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
  }
  vint32 finish(vint32 sum, std::size_t row) const {
    alignas(32) std::int32_t sums[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums), row_sums);
    return sum + 128 * sums[row];
  }

  __m256i row_sums = _mm256_setzero_si256();
};
#endif

inline void store_whole(float* to, vint32 v) {
  store(to, __builtin_convertvector(v, vfloat));
}

inline void store_whole(double* to, vint32 v) {
  typedef std::int32_t vhalf __attribute__((vector_size(vector_bytes / 2)));
  vhalf halves[2];
  __builtin_memcpy(halves, &v, sizeof(v));
  store(to, __builtin_convertvector(halves[0], vdouble));
  store(to + lanes / 2, __builtin_convertvector(halves[1], vdouble));
}

// The loops over accumulators are unrolled early, or the compiler keeps them in memory.
template <class E, class P, std::size_t rows, bool is_listed>
void accumulate(const E* a, std::size_t lda, const E* panel, Depth depth, P* out, std::size_t ld) {
  Multiplier<E> multiplier;
  vint32 sums[rows][panel_vectors] = {};
  for (std::size_t t = 0; t < depth.count; ++t) {
    const std::size_t k = is_listed ? depth.which[t] : t;
    const E* const left = a + k * lda;
    const E* const right = panel + k * width;
    multiplier.template look_at<rows>(left);
    vint32 b[panel_vectors];
#pragma GCC unroll 3
    for (std::size_t v = 0; v < panel_vectors; ++v)
      b[v] = multiplier.read(right + v * lanes);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r) {
      const vint32 own = static_cast<std::int32_t>(left[r]) + vint32{};
#pragma GCC unroll 3
      for (std::size_t v = 0; v < panel_vectors; ++v)
        sums[r][v] = multiplier.add(sums[r][v], own, b[v]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (std::size_t v = 0; v < panel_vectors; ++v)
      store_whole(out + r * ld + v * lanes, multiplier.finish(sums[r][v], r));
}

template <class E, class P, bool is_listed>
void accumulate_rows(const E* a, std::size_t lda, std::size_t n_rows, const E* panel, Depth depth,
                     P* out, std::size_t ld) {
  if (n_rows == group_rows)
    return accumulate<E, P, group_rows, is_listed>(a, lda, panel, depth, out, ld);
  for (std::size_t r = 0; r < n_rows; ++r)
    accumulate<E, P, 1, is_listed>(a + r, lda, panel, depth, out + r * ld, ld);
}

template <class E, class P>
void products(const E* a, std::size_t lda, std::size_t n_rows, const E* panel, Depth depth, P* out,
              std::size_t ld) {
  const auto accumulate =
      depth.which == nullptr ? accumulate_rows<E, P, false> : accumulate_rows<E, P, true>;
  accumulate(a, lda, n_rows, panel, depth, out, ld);
}

template <class E, class P>
constexpr PairOps<E, P> whole_ops{width, group_rows, products<E, P>, nullptr};

} // namespace

const PairOps<WholePair, float> pair_ops_whole_f32 = whole_ops<WholePair, float>;
const PairOps<WholePair, double> pair_ops_whole_f64 = whole_ops<WholePair, double>;
#if defined(__AVX512VNNI__)
const PairOps<WholeQuad, float> quad_ops_whole_f32 = whole_ops<WholeQuad, float>;
const PairOps<WholeQuad, double> quad_ops_whole_f64 = whole_ops<WholeQuad, double>;
#endif

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
