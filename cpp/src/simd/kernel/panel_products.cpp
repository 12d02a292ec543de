#include "simd/kernel/panel_products.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

template <class T> constexpr std::size_t panel_width = panel_vectors * Vec<T>::width;

// The loops over accumulators are unrolled early, or the compiler keeps them in memory.
template <class T, std::size_t rows, bool is_difference, bool is_listed>
void accumulate(const T* a, std::size_t lda, const T* panel, Depth depth, T* out, std::size_t ld) {
  using V = typename Vec<T>::type;
  constexpr std::size_t lanes = Vec<T>::width;
  V sums[rows][panel_vectors] = {};
  if (depth.is_continued) {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 3
      for (std::size_t v = 0; v < panel_vectors; ++v)
        sums[r][v] = load<V>(out + r * ld + v * lanes);
  }
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

} // namespace

const PairOps<float> pair_ops_f32 = pair_ops<float>;
const PairOps<double> pair_ops_f64 = pair_ops<double>;

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
