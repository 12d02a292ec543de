#include "simd/joint_loops.hpp"

#include "simd/vec_ops.hpp"

#include <limits>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

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
    const std::size_t i =
        rows.list != nullptr ? static_cast<std::size_t>(rows.list[k]) : rows.first + k;
    store(out + k * n_together, dot_together(x, i, w));
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

typedef float flanes __attribute__((vector_size(n_together * sizeof(float))));

vtogether to_double(flanes v) {
  return __builtin_convertvector(v, vtogether);
}

struct Below {
  std::uint8_t bits;
  double distance;
};

/// Which lanes are below the kink; how far the nearest of those used is from it.
Below compare(vtogether margins, double kink, std::uint8_t used) {
  constexpr double far = std::numeric_limits<double>::infinity();
#if defined(__AVX512F__)
  const vtogether left = margins - kink;
  const vtogether sizes = left < 0.0 ? -left : left;
  const vtogether counted =
      (vtogether)_mm512_mask_mov_pd(_mm512_set1_pd(far), used, (__m512d)sizes);
  double nearest = far;
  for (std::size_t f = 0; f < n_together; ++f)
    nearest = counted[f] < nearest ? counted[f] : nearest;
  return {_mm512_cmp_pd_mask((__m512d)left, _mm512_setzero_pd(), _CMP_LT_OQ), nearest};
#else
  Below below{0, far};
  for (std::size_t f = 0; f < n_together; ++f) {
    const double left = margins[f] - kink;
    below.bits = static_cast<std::uint8_t>(below.bits | (left < 0.0) << f);
    const double size = left < 0.0 ? -left : left;
    if ((used >> f & 1u) && size < below.distance)
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

void find_below(const double* dots, const JointKink& kink, std::size_t count, std::uint8_t* bits,
                double* distances) {
  const vtogether bias = load<vtogether>(kink.bias);
  for (std::size_t k = 0; k < count; ++k) {
    const vtogether margins = kink.labels[k] * (load<vtogether>(dots + k * n_together) + bias);
    const Below below = compare(margins, kink.at, kink.used[k]);
    bits[k] = below.bits;
    distances[k] = below.distance;
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

void multiply_together(const CsrRows<float>& x, std::size_t n, const float* weights, const float* v,
                       float* __restrict out) {
  const float* const values = x.values;
  const std::int32_t* const columns = x.columns;
  const auto place = [&](std::size_t k) {
    return static_cast<std::size_t>(columns[k]) * n_together;
  };
  const auto add_to = [&](std::size_t k, flanes coef) {
    float* at = out + place(k);
    store(at, load<flanes>(at) + values[k] * coef);
  };
  std::size_t end = static_cast<std::size_t>(x.starts[0]);
  for (std::size_t row = 0; row < n; ++row) {
    const std::size_t first = end;
    end = static_cast<std::size_t>(x.starts[row + 1]);
    flanes sums[4] = {};
    std::size_t k = first;
    for (; k + 4 <= end; k += 4)
      for (std::size_t r = 0; r < 4; ++r)
        sums[r] += values[k + r] * load<flanes>(v + place(k + r));
    for (; k < end; ++k)
      sums[0] += values[k] * load<flanes>(v + place(k));
    const flanes coef =
        load<flanes>(weights + row * n_together) * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (k = first; k + 4 <= end; k += 4)
      for (std::size_t r = 0; r < 4; ++r)
        add_to(k + r, coef);
    for (; k < end; ++k)
      add_to(k, coef);
  }
}

void take_image(const LaneVectors& at, const float* scale, double* dots) {
  const flanes c = load<flanes>(scale);
  vtogether sum{};
  for (std::size_t j = 0; j < at.size * n_together; j += n_together) {
    const flanes r = load<flanes>(at.residual + j);
    const flanes image = r + c * load<flanes>(at.image + j);
    store(at.image + j, image);
    sum += to_double(r) * to_double(image);
  }
  store(dots, sum);
}

void turn_direction(const LaneVectors& at, const float* ratio, double* squares) {
  const flanes c = load<flanes>(ratio);
  vtogether sum{};
  for (std::size_t j = 0; j < at.size * n_together; j += n_together) {
    const flanes image = load<flanes>(at.image + j) + c * load<flanes>(at.direction_image + j);
    store(at.direction + j, load<flanes>(at.residual + j) + c * load<flanes>(at.direction + j));
    store(at.direction_image + j, image);
    sum += to_double(image) * to_double(image);
  }
  store(squares, sum);
}

void advance(const LaneVectors& at, const float* length, double* squares) {
  const flanes c = load<flanes>(length);
  vtogether sum{};
  for (std::size_t j = 0; j < at.size * n_together; j += n_together) {
    const flanes r = load<flanes>(at.residual + j) - c * load<flanes>(at.direction_image + j);
    store(at.step + j, load<flanes>(at.step + j) + c * load<flanes>(at.direction + j));
    store(at.residual + j, r);
    sum += to_double(r) * to_double(r);
  }
  store(squares, sum);
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
