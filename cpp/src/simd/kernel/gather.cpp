#include "simd/kernel/gather.hpp"

#include "simd/vec_ops.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t chunk = 16;

template <class S, class T>
inline std::size_t copy_chunk(const S* row, std::uint16_t mask, T* out) {
  std::size_t count = 0;
  for (unsigned left = mask; left != 0; left &= left - 1)
    out[count++] = static_cast<T>(row[__builtin_ctz(left)]);
  return count;
}

#if defined(__AVX512F__)

inline __m512 read_floats(const float* row) {
  return _mm512_loadu_ps(row);
}

inline __m512 read_floats(const double* row) {
  const __m256 low = _mm512_maskz_cvtpd_ps(0xff, _mm512_loadu_pd(row));
  const __m256 high = _mm512_maskz_cvtpd_ps(0xff, _mm512_loadu_pd(row + 8));
  return _mm512_maskz_insertf32x8(0xffff, _mm512_castps256_ps512(low), high, 1);
}

inline __m512d read_doubles(const float* row) {
  return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(row));
}

inline __m512d read_doubles(const double* row) {
  return _mm512_loadu_pd(row);
}

// Compressed in a register and stored whole: what is beyond is overwritten by the next.
template <class S> inline void store_chunk(const S* row, std::uint16_t mask, float* out) {
  _mm512_storeu_ps(out, _mm512_maskz_compress_ps(mask, read_floats(row)));
}

template <class S> inline void store_chunk(const S* row, std::uint16_t mask, double* out) {
  const __mmask8 low = static_cast<__mmask8>(mask), high = static_cast<__mmask8>(mask >> 8);
  _mm512_storeu_pd(out, _mm512_maskz_compress_pd(low, read_doubles(row)));
  _mm512_storeu_pd(out + __builtin_popcount(low),
                   _mm512_maskz_compress_pd(high, read_doubles(row + 8)));
}

#endif

} // namespace

template <class S, class T>
void gather_members(const S* row, const MemberChunk* chunks, std::size_t n_chunks, T* out,
                    [[maybe_unused]] std::size_t room) {
  std::size_t c = 0;
#if defined(__AVX512F__)
  for (std::size_t written = 0; c < n_chunks && written + chunk <= room; ++c) {
    store_chunk(row + chunks[c].first, chunks[c].mask, out);
    const auto count = static_cast<std::size_t>(__builtin_popcount(chunks[c].mask));
    out += count;
    written += count;
  }
#endif
  for (; c < n_chunks; ++c)
    out += copy_chunk(row + chunks[c].first, chunks[c].mask, out);
}

template <class S, class T>
void pick_values(const S* row, const std::uint32_t* columns, std::size_t n, T* out) {
  for (std::size_t c = 0; c < n; ++c)
    out[c] = static_cast<T>(row[columns[c]]);
}

template <class S>
void pick_true_values(const S* row, const std::uint32_t* columns, const double* offsets,
                      std::size_t n, double own, double* out) {
  for (std::size_t c = 0; c < n; ++c)
    out[c] = static_cast<double>(row[columns[c]]) + (own + offsets[c]);
}

template void pick_true_values(const float*, const std::uint32_t*, const double*, std::size_t,
                               double, double*);
template void pick_true_values(const double*, const std::uint32_t*, const double*, std::size_t,
                               double, double*);

#define ALPHAPATH_INSTANTIATE(S, T)                                                                \
  template void gather_members(const S*, const MemberChunk*, std::size_t, T*, std::size_t);        \
  template void pick_values(const S*, const std::uint32_t*, std::size_t, T*);
ALPHAPATH_INSTANTIATE(float, float)
ALPHAPATH_INSTANTIATE(double, float)
ALPHAPATH_INSTANTIATE(float, double)
ALPHAPATH_INSTANTIATE(double, double)
#undef ALPHAPATH_INSTANTIATE

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
