#include "simd/primal/fold_loops.hpp"

#include "simd/vec_ops.hpp"

#include <limits>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

std::size_t row_at(const RowList& rows, std::size_t k) {
  return rows.list != nullptr ? static_cast<std::size_t>(rows.list[k]) : rows.first + k;
}

typedef double vtogether __attribute__((vector_size(n_together * sizeof(double))));

template <class T> vtogether dot_together(const DenseRows<T>& x, std::size_t row, const double* w) {
  const T* v = x.values + row * x.n_columns;
  vtogether sum{};
  for (std::size_t j = 0; j < x.n_columns; ++j)
    sum += static_cast<double>(v[j]) * load<vtogether>(w + j * n_together);
  return sum;
}

template <class T> vtogether dot_together(const CsrRows<T>& x, std::size_t row, const double* w) {
  const std::size_t end = static_cast<std::size_t>(x.starts[row + 1]);
  std::size_t k = static_cast<std::size_t>(x.starts[row]);
  vtogether even{}, odd{};
  const auto weights = [&](std::size_t at) {
    return load<vtogether>(w + static_cast<std::size_t>(x.columns[at]) * n_together);
  };
  for (; k + 2 <= end; k += 2) {
    even += static_cast<double>(x.values[k]) * weights(k);
    odd += static_cast<double>(x.values[k + 1]) * weights(k + 1);
  }
  if (k < end)
    even += static_cast<double>(x.values[k]) * weights(k);
  return even + odd;
}

template <class Rows>
void take_together(const Rows& x, const RowList& rows, const double* w, double* out) {
  for (std::size_t k = 0; k < rows.count; ++k) {
    store(out + k * n_together, dot_together(x, row_at(rows, k), w));
  }
}

template <class T>
void add_one(const DenseRows<T>& x, std::size_t row, vtogether coef, double* sum) {
  const T* v = x.values + row * x.n_columns;
  for (std::size_t j = 0; j < x.n_columns; ++j)
    store(sum + j * n_together,
          load<vtogether>(sum + j * n_together) + static_cast<double>(v[j]) * coef);
}

template <class T> void add_one(const CsrRows<T>& x, std::size_t row, vtogether coef, double* sum) {
  const std::size_t end = static_cast<std::size_t>(x.starts[row + 1]);
  for (std::size_t k = static_cast<std::size_t>(x.starts[row]); k < end; ++k) {
    double* at = sum + static_cast<std::size_t>(x.columns[k]) * n_together;
    store(at, load<vtogether>(at) + static_cast<double>(x.values[k]) * coef);
  }
}

template <class Rows>
void add_all_together(const Rows& x, std::size_t first, std::size_t count, const double* coef,
                      double* sum) {
  for (std::size_t k = 0; k < count; ++k) {
    const double* c = coef + k * n_together;
    bool is_zero = true; // exactly zero is how a caller leaves a lane out
    for (std::size_t f = 0; f < n_together; ++f)
      is_zero &= c[f] == 0.0;
    if (!is_zero)
      add_one(x, first + k, load<vtogether>(c), sum);
  }
}

struct Below {
  std::uint8_t bits;
  double distance;
};

/// Which lanes are below the kink; how far the nearest of those that train is from it, or that
/// which holds the row out from 0.
Below compare(vtogether margins, double kink, const JointRow& row) {
  constexpr double far = std::numeric_limits<double>::infinity();
  const vtogether left = margins - kink;
#if defined(__AVX512F__)
  const __mmask8 held = static_cast<__mmask8>(1u << row.holder); // none where it is n_together
  __m512d sizes = _mm512_mask_abs_pd(_mm512_set1_pd(far), row.trains, (__m512d)left);
  sizes = _mm512_mask_abs_pd(sizes, held, (__m512d)margins);
  return {_mm512_cmp_pd_mask((__m512d)left, _mm512_setzero_pd(), _CMP_LT_OQ),
          _mm512_reduce_min_pd(sizes)};
#else
  Below below{0, far};
  for (std::size_t f = 0; f < n_together; ++f) {
    below.bits = static_cast<std::uint8_t>(below.bits | (left[f] < 0.0) << f);
    const double from = f == row.holder ? margins[f] : left[f];
    const double size = from < 0.0 ? -from : from;
    if ((f == row.holder || (row.trains >> f & 1u)) && size < below.distance)
      below.distance = size;
  }
  return below;
#endif
}

} // namespace

#define ALPHAPATH_DEFINE(name, Rows)                                                               \
  void dots_together_##name(const Rows& x, const RowList& rows, const double* w, double* out) {    \
    take_together(x, rows, w, out);                                                                \
  }                                                                                                \
  void add_together_##name(const Rows& x, std::size_t first, std::size_t count,                    \
                           const double* coef, double* sum) {                                      \
    add_all_together(x, first, count, coef, sum);                                                  \
  }
ALPHAPATH_DEFINE(dense_f32, DenseRows<float>)
ALPHAPATH_DEFINE(dense_f64, DenseRows<double>)
ALPHAPATH_DEFINE(csr_f32, CsrRows<float>)
ALPHAPATH_DEFINE(csr_f64, CsrRows<double>)
#undef ALPHAPATH_DEFINE

void dots_together_indicator(const IndicatorRows& x, const RowList& rows, const double* w,
                             double* out) {
  const auto weights = [&](std::size_t k) {
    return load<vtogether>(w + static_cast<std::size_t>(x.columns[k]) * n_together);
  };
  for (std::size_t r = 0; r < rows.count; ++r) {
    const std::size_t row = row_at(rows, r);
    const std::size_t end = static_cast<std::size_t>(x.starts[row + 1]);
    std::size_t k = static_cast<std::size_t>(x.starts[row]);
    vtogether even{}, odd{};
    for (; k + 2 <= end; k += 2) {
      even += weights(k);
      odd += weights(k + 1);
    }
    if (k < end)
      even += weights(k);
    store(out + r * n_together, even + odd);
  }
}

void find_below(const double* dots, const JointKink& kink, const RowList& rows, std::uint8_t* bits,
                double* distances, double* held_out) {
  const vtogether bias = load<vtogether>(kink.bias);
  for (std::size_t k = 0; k < rows.count; ++k) {
    const std::size_t i = row_at(rows, k);
    const JointRow& row = kink.rows[i];
    const vtogether values = load<vtogether>(dots + k * n_together) + bias;
    const Below below = compare(static_cast<double>(row.label) * values, kink.at, row);
    bits[k] = below.bits;
    distances[k] = below.distance;
    if (row.holder < n_together)
      held_out[i] = dots[k * n_together + row.holder] + kink.bias[row.holder];
  }
}

std::size_t scan_reach(const float* reach, const float* norm, std::size_t n, float path,
                       std::int32_t* out) {
  std::size_t n_found = 0;
  for (std::size_t first = 0; first < n; first += 16) {
    std::uint32_t bits = 0;
#if defined(__AVX512F__)
    const __m512 left = _mm512_fnmadd_ps(_mm512_loadu_ps(norm + first), _mm512_set1_ps(path),
                                         _mm512_loadu_ps(reach + first));
    bits = _mm512_cmp_ps_mask(left, _mm512_setzero_ps(), _CMP_NGT_UQ);
#else
    for (std::size_t r = 0; r < 16; ++r)
      bits |= static_cast<std::uint32_t>(!(reach[first + r] - norm[first + r] * path > 0.0f)) << r;
#endif
    for (; bits != 0; bits &= bits - 1)
      out[n_found++] = static_cast<std::int32_t>(first) + __builtin_ctz(bits);
  }
  return n_found;
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
