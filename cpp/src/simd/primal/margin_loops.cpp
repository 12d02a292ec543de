#include "simd/primal/margin_loops.hpp"

#include "simd/primal/row_products.hpp"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

// Listed rows lie scattered in memory, where the processor does not see them coming.
template <class Rows>
void take_dots(const Rows& x, const RowList& rows, const double* w, double* out) {
  constexpr std::size_t ahead = 6;
  if (rows.list == nullptr) {
    for (std::size_t k = 0; k < rows.count; ++k)
      out[k] = dot(x, rows.first + k, w);
    return;
  }
  for (std::size_t k = 0; k < rows.count; ++k) {
    if (k + ahead < rows.count)
      fetch_row(x, row_at(rows, k + ahead));
    out[k] = dot(x, row_at(rows, k), w);
  }
}

template <class Rows>
void add_all(const Rows& x, const RowList& rows, const double* coef, double* sum) {
  for (std::size_t k = 0; k < rows.count; ++k)
    // Exactly zero is how a caller leaves a row out.
    if (coef[k] != 0.0)
      add_row(x, row_at(rows, k), coef[k], sum);
}

// What the centres of rows first, first + 1, ... add to the change of their margins.
#if defined(__AVX512F__)
__m512 moves_16(const BoundScan& s, std::size_t first) {
  if (s.cluster == nullptr)
    return _mm512_setzero_ps();
  const void* own = s.cluster + first;
  const __m512i cluster = _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(own)));
  return _mm512_permutexvar_ps(cluster, _mm512_loadu_ps(s.moves));
}
#elif defined(__AVX2__)
__m256 moves_8(const BoundScan& s, std::size_t first) {
  if (s.cluster == nullptr)
    return _mm256_setzero_ps();
  const void* own = s.cluster + first;
  const __m256i cluster = _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(own)));
  const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(s.moves), cluster);
  const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(s.moves + 8), cluster);
  const __m256i is_high = _mm256_cmpgt_epi32(cluster, _mm256_set1_epi32(7));
  return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(is_high));
}
#endif

/// Bit r is set where row first + r has no proof.
std::uint32_t unproven_16(const BoundScan& s, std::size_t first) {
#if defined(__AVX512F__)
  const __m512 norm = _mm512_loadu_ps(s.norm + first);
  const __m512 sign_bit = _mm512_set1_ps(-0.0f);
  const __m512 known = _mm512_add_ps(moves_16(s, first), _mm512_set1_ps(s.bias));
  const __m512 ahead =
      _mm512_fmadd_ps(_mm512_loadu_ps(s.along + first), _mm512_set1_ps(s.run), known);
  const __m512 change =
      _mm512_fmadd_ps(_mm512_loadu_ps(s.across + first), _mm512_set1_ps(s.drift), ahead);
  const __m512 shift = _mm512_xor_ps(_mm512_and_ps(norm, sign_bit), change);
  const __m512 left = _mm512_fnmadd_ps(_mm512_abs_ps(norm), _mm512_set1_ps(s.path),
                                       _mm512_loadu_ps(s.reach + first));
  return _mm512_cmp_ps_mask(_mm512_add_ps(left, shift), _mm512_set1_ps(s.slack), _CMP_NGT_UQ);
#elif defined(__AVX2__)
  const __m256 sign_bit = _mm256_set1_ps(-0.0f);
  std::uint32_t bits = 0;
  for (std::size_t half = 0; half < 2; ++half) {
    const __m256 norm = _mm256_loadu_ps(s.norm + first + 8 * half);
    const __m256 known = _mm256_add_ps(moves_8(s, first + 8 * half), _mm256_set1_ps(s.bias));
    const __m256 ahead =
        _mm256_fmadd_ps(_mm256_loadu_ps(s.along + first + 8 * half), _mm256_set1_ps(s.run), known);
    const __m256 change = _mm256_fmadd_ps(_mm256_loadu_ps(s.across + first + 8 * half),
                                          _mm256_set1_ps(s.drift), ahead);
    const __m256 shift = _mm256_xor_ps(_mm256_and_ps(norm, sign_bit), change);
    const __m256 left = _mm256_fnmadd_ps(_mm256_andnot_ps(sign_bit, norm), _mm256_set1_ps(s.path),
                                         _mm256_loadu_ps(s.reach + first + 8 * half));
    const __m256 is_unproven =
        _mm256_cmp_ps(_mm256_add_ps(left, shift), _mm256_set1_ps(s.slack), _CMP_NGT_UQ);
    bits |= static_cast<std::uint32_t>(_mm256_movemask_ps(is_unproven)) << (8 * half);
  }
  return bits;
#else
  std::uint32_t bits = 0;
  for (std::size_t r = 0; r < 16; ++r) {
    const float norm = s.norm[first + r];
    const float left = s.reach[first + r] - __builtin_fabsf(norm) * s.path;
    const float move = s.cluster != nullptr ? s.moves[s.cluster[first + r]] : 0.0f;
    const float change = s.bias + move + s.along[first + r] * s.run + s.across[first + r] * s.drift;
    const float shift = __builtin_signbit(norm) ? -change : change;
    bits |= static_cast<std::uint32_t>(!(left + shift > s.slack)) << r;
  }
  return bits;
#endif
}

} // namespace

#define ALPHAPATH_DEFINE(name, Rows)                                                               \
  void dots_##name(const Rows& x, const RowList& rows, const double* w, double* out) {             \
    take_dots(x, rows, w, out);                                                                    \
  }                                                                                                \
  void add_rows_##name(const Rows& x, const RowList& rows, const double* coef, double* sum) {      \
    add_all(x, rows, coef, sum);                                                                   \
  }
ALPHAPATH_DEFINE(dense_f32, DenseRows<float>)
ALPHAPATH_DEFINE(dense_f64, DenseRows<double>)
ALPHAPATH_DEFINE(csr_f32, CsrRows<float>)
ALPHAPATH_DEFINE(csr_f64, CsrRows<double>)
#undef ALPHAPATH_DEFINE

double dot_product(const double* a, const double* b, std::size_t n) {
  return dot(DenseRows<double>{a, n}, 0, b);
}

double squared_distance(const double* a, double s, const double* u, double t, const double* v,
                        std::size_t n) {
  vdouble sum{};
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    const vdouble rest = load<vdouble>(a + j) - s * load<vdouble>(u + j) - t * load<vdouble>(v + j);
    sum += rest * rest;
  }
  double last = 0.0;
  for (; j < n; ++j) {
    const double rest = a[j] - s * u[j] - t * v[j];
    last += rest * rest;
  }
  return sum_of(sum) + last;
}

// The arrays are padded to a multiple of 16 with rows that are always proven.
std::size_t scan_bounds(const BoundScan& scan, std::int32_t* out) {
  std::size_t n_found = 0;
  for (std::size_t first = 0; first < scan.n; first += 16)
    for (std::uint32_t bits = unproven_16(scan, first); bits != 0; bits &= bits - 1)
      out[n_found++] = static_cast<std::int32_t>(first) + __builtin_ctz(bits);
  return n_found;
}

// One pass over the triangle: row i gives its part of out[i] and, mirrored, of out[j], j < i. Four
// rows at a time, so that x and out are read once for all of them.
void multiply_symmetric(const double* A, std::size_t n, std::size_t ld, const double* x,
                        double* out) {
  constexpr std::size_t block = 4;
  for (std::size_t first = 0; first < n; first += block) {
    const std::size_t n_rows = n - first < block ? n - first : block;
    std::size_t j = 0;
    if (n_rows == block) {
      const double* row[block];
      vdouble partial[block] = {};
      for (std::size_t r = 0; r < block; ++r)
        row[r] = A + (first + r) * ld;
      for (; j + lanes <= first; j += lanes) {
        const vdouble xj = load<vdouble>(x + j);
        vdouble mirrored = load<vdouble>(out + j);
        for (std::size_t r = 0; r < block; ++r) {
          const vdouble a = load<vdouble>(row[r] + j);
          partial[r] += a * xj;
          mirrored += a * x[first + r];
        }
        store(out + j, mirrored);
      }
      for (std::size_t r = 0; r < block; ++r)
        out[first + r] += sum_of(partial[r]);
    }
    for (std::size_t i = first; i < first + n_rows; ++i) {
      const double* row = A + i * ld;
      for (std::size_t k = j; k < i; ++k) {
        out[i] += row[k] * x[k];
        out[k] += row[k] * x[i];
      }
      out[i] += row[i] * x[i];
    }
  }
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
