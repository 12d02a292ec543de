#include "simd/pair_products.hpp"

#include "simd/vec_ops.hpp"

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
template <class T, std::size_t rows, bool is_difference>
void accumulate(const T* a, std::size_t lda, const T* panel, std::size_t depth, T* out,
                std::size_t ld) {
  using V = typename Vec<T>::type;
  constexpr std::size_t lanes = Vec<T>::width;
  V sums[rows][panel_vectors] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    V b[panel_vectors];
#pragma GCC unroll 3
    for (std::size_t v = 0; v < panel_vectors; ++v)
      b[v] = load<V>(panel + v * lanes);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < panel_vectors; ++v) {
        if constexpr (is_difference) {
          const V gap = a[r] - b[v];
          sums[r][v] += gap * gap;
        } else {
          sums[r][v] += a[r] * b[v];
        }
      }
    }
    a += lda;
    panel += panel_width<T>;
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (std::size_t v = 0; v < panel_vectors; ++v)
      store(out + r * ld + v * lanes, sums[r][v]);
}

template <class T, bool is_difference>
void accumulate_rows(const T* a, std::size_t lda, std::size_t n_rows, const T* panel,
                     std::size_t depth, T* out, std::size_t ld) {
  if (n_rows == group_rows)
    return accumulate<T, group_rows, is_difference>(a, lda, panel, depth, out, ld);
  for (std::size_t r = 0; r < n_rows; ++r)
    accumulate<T, 1, is_difference>(a + r, lda, panel, depth, out + r * ld, ld);
}

template <class T>
constexpr PairOps<T> pair_ops{panel_width<T>, group_rows, accumulate_rows<T, false>,
                              accumulate_rows<T, true>};

} // namespace

const PairOps<float> pair_ops_f32 = pair_ops<float>;
const PairOps<double> pair_ops_f64 = pair_ops<double>;

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
