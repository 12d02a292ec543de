#include "simd/path_loops.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

double first_crossing(const double* e, const double* de, const double* lo, const double* hi,
                      std::size_t n, double noise) {
  constexpr std::size_t lanes = Vec<double>::width;
  const double inf = __builtin_inf();
  const vdouble never = vdouble{} + inf;
  vdouble least = never;
  for (std::size_t i = 0; i < n; i += lanes) {
    const vdouble rate = load<vdouble>(de + i);
    const vdouble end = rate > 0.0 ? load<vdouble>(hi + i) : load<vdouble>(lo + i);
    const vdouble size = rate > 0.0 ? rate : -rate;
    const vdouble left = rate > 0.0 ? end - load<vdouble>(e + i) : load<vdouble>(e + i) - end;
    const vdouble step = larger_of(left, vdouble{}) / size;
    least = smaller_of(size > noise ? step : never, least);
  }
  double result = inf;
  for (std::size_t l = 0; l < lanes; ++l)
    result = least[l] < result ? least[l] : result;
  return result;
}

void rotate_into(double c, double s, const double* x, double* v, double* out, std::size_t n) {
  constexpr std::size_t lanes = Vec<double>::width;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const vdouble a = load<vdouble>(x + i), b = load<vdouble>(v + i);
    store(out + i, c * a + s * b);
    store(v + i, c * b - s * a);
  }
  for (; i < n; ++i) {
    const double a = x[i], b = v[i];
    out[i] = c * a + s * b;
    v[i] = c * b - s * a;
  }
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
