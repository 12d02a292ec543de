#include "simd/pair_products.hpp"

#include "simd/vec_ops.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

// Accumulators of one call: rows x vectors, sized to the register file (32, 16 and 16 registers).
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

template <class T> constexpr std::size_t panel_width = panel_vectors * Vec<T>::width;

// The loops over accumulators are unrolled early, or the compiler keeps them in memory.
template <class T, std::size_t rows, bool is_difference, bool is_listed>
void accumulate(const T* a, std::size_t lda, const T* panel, Depth depth, T* out, std::size_t ld) {
  using V = typename Vec<T>::type;
  constexpr std::size_t lanes = Vec<T>::width;
  V sums[rows][panel_vectors] = {};
  for (std::size_t t = 0; t < depth.count; ++t) {
    const std::size_t k = is_listed ? depth.which[t] : t;
    const T* const left = a + k * lda;
    const T* const right = panel + k * panel_width<T>;
    V b[panel_vectors];
#pragma GCC unroll 3
    for (std::size_t v = 0; v < panel_vectors; ++v)
      b[v] = load<V>(right + v * lanes);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < panel_vectors; ++v) {
        if constexpr (is_difference) {
          const V gap = left[r] - b[v];
          sums[r][v] += gap * gap;
        } else {
          sums[r][v] += left[r] * b[v];
        }
      }
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (std::size_t v = 0; v < panel_vectors; ++v)
      store(out + r * ld + v * lanes, sums[r][v]);
}

template <class T, bool is_difference, bool is_listed>
void accumulate_rows(const T* a, std::size_t lda, std::size_t n_rows, const T* panel, Depth depth,
                     T* out, std::size_t ld) {
  if (n_rows == group_rows)
    return accumulate<T, group_rows, is_difference, is_listed>(a, lda, panel, depth, out, ld);
  for (std::size_t r = 0; r < n_rows; ++r)
    accumulate<T, 1, is_difference, is_listed>(a + r, lda, panel, depth, out + r * ld, ld);
}

template <class T>
void products(const T* a, std::size_t lda, std::size_t n_rows, const T* panel, Depth depth, T* out,
              std::size_t ld) {
  const auto accumulate =
      depth.which == nullptr ? accumulate_rows<T, false, false> : accumulate_rows<T, false, true>;
  accumulate(a, lda, n_rows, panel, depth, out, ld);
}

template <class T>
constexpr PairOps<T> pair_ops{panel_width<T>, group_rows, products<T>,
                              accumulate_rows<T, true, false>};

constexpr std::size_t whole_lanes = vector_bytes / sizeof(WholePair);
constexpr std::size_t whole_width = panel_vectors * whole_lanes;

/// a0 b0 + a1 b1 of the two 16-bit halves of every lane.
inline vint32 multiply_pairs(vint32 a, vint32 b) {
#if defined(__AVX512BW__)
  return (vint32)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (vint32)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (vint32)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  return (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

inline void store_whole(float* to, vint32 v) {
  store(to, __builtin_convertvector(v, vfloat));
}

inline void store_whole(double* to, vint32 v) {
  typedef std::int32_t vhalf __attribute__((vector_size(vector_bytes / 2)));
  vhalf halves[2];
  __builtin_memcpy(halves, &v, sizeof(v));
  store(to, __builtin_convertvector(halves[0], vdouble));
  store(to + whole_lanes / 2, __builtin_convertvector(halves[1], vdouble));
}

template <class P, std::size_t rows, bool is_listed>
void accumulate_whole(const WholePair* a, std::size_t lda, const WholePair* panel, Depth depth,
                      P* out, std::size_t ld) {
  vint32 sums[rows][panel_vectors] = {};
  for (std::size_t t = 0; t < depth.count; ++t) {
    const std::size_t k = is_listed ? depth.which[t] : t;
    const WholePair* const left = a + k * lda;
    const WholePair* const right = panel + k * whole_width;
    vint32 b[panel_vectors];
#pragma GCC unroll 3
    for (std::size_t v = 0; v < panel_vectors; ++v)
      b[v] = load<vint32>(right + v * whole_lanes);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r) {
      const vint32 own = static_cast<std::int32_t>(left[r]) + vint32{};
#pragma GCC unroll 3
      for (std::size_t v = 0; v < panel_vectors; ++v)
        sums[r][v] += multiply_pairs(own, b[v]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (std::size_t v = 0; v < panel_vectors; ++v)
      store_whole(out + r * ld + v * whole_lanes, sums[r][v]);
}

template <class P, bool is_listed>
void accumulate_whole_rows(const WholePair* a, std::size_t lda, std::size_t n_rows,
                           const WholePair* panel, Depth depth, P* out, std::size_t ld) {
  if (n_rows == group_rows)
    return accumulate_whole<P, group_rows, is_listed>(a, lda, panel, depth, out, ld);
  for (std::size_t r = 0; r < n_rows; ++r)
    accumulate_whole<P, 1, is_listed>(a + r, lda, panel, depth, out + r * ld, ld);
}

template <class P>
void whole_products(const WholePair* a, std::size_t lda, std::size_t n_rows, const WholePair* panel,
                    Depth depth, P* out, std::size_t ld) {
  const auto accumulate =
      depth.which == nullptr ? accumulate_whole_rows<P, false> : accumulate_whole_rows<P, true>;
  accumulate(a, lda, n_rows, panel, depth, out, ld);
}

template <class P>
constexpr PairOps<WholePair, P> whole_ops{whole_width, group_rows, whole_products<P>, nullptr};

} // namespace

const PairOps<float> pair_ops_f32 = pair_ops<float>;
const PairOps<double> pair_ops_f64 = pair_ops<double>;
const PairOps<WholePair, float> pair_ops_whole_f32 = whole_ops<float>;
const PairOps<WholePair, double> pair_ops_whole_f64 = whole_ops<double>;

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
