#include "simd/path_loops.hpp"

#include "simd/running_best.hpp"
#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t lanes = Vec<double>::width;

/// How far the first of `lanes` instances may go: +inf where the rate is at most `noise`.
vdouble steps_to_end(const double* e, const double* de, const double* lo, const double* hi,
                     double noise) {
  const vdouble never = vdouble{} + __builtin_inf();
  const vdouble rate = load<vdouble>(de), at = load<vdouble>(e);
  const vdouble left = rate > 0.0 ? load<vdouble>(hi) - at : at - load<vdouble>(lo);
  const vdouble size = rate > 0.0 ? rate : -rate;
  return size > noise ? larger_of(left, vdouble{}) / size : never;
}

} // namespace

double first_crossing(const double* e, const double* de, const double* lo, const double* hi,
                      std::size_t n, double noise) {
  const double inf = __builtin_inf();
  vdouble least = vdouble{} + inf;
  for (std::size_t i = 0; i < n; i += lanes)
    least = smaller_of(steps_to_end(e + i, de + i, lo + i, hi + i, noise), least);
  double result = inf;
  for (std::size_t l = 0; l < lanes; ++l)
    result = least[l] < result ? least[l] : result;
  return result;
}

std::size_t steepest_crossing(const double* e, const double* de, const double* lo, const double* hi,
                              std::size_t n, double noise, double step) {
  RunningBest even(-1), odd(-1);
  for (std::size_t i = 0; i < n; i += 2 * lanes)
    for (std::size_t u = 0; u < 2; ++u) {
      const std::size_t at = i + u * lanes;
      const vdouble rate = load<vdouble>(de + at);
      const vdouble size = rate > 0.0 ? rate : -rate;
      const vdouble way = steps_to_end(e + at, de + at, lo + at, hi + at, noise);
      (u == 0 ? even : odd).keep_larger(way <= step ? size : vdouble{} - 2.0, at);
    }
  return reduce_best(even, odd).index;
}

void add_scaled(double a, const double* x, std::size_t n, double* y) {
  for (std::size_t i = 0; i < n; i += lanes)
    store(y + i, load<vdouble>(y + i) + a * load<vdouble>(x + i));
}

void add_constant(double a, std::size_t n, double* y) {
  for (std::size_t i = 0; i < n; i += lanes)
    store(y + i, load<vdouble>(y + i) + a);
}

double sum_of(const double* x, std::size_t n) {
  vdouble sums[2] = {};
  for (std::size_t i = 0; i < n; i += 2 * lanes)
    for (std::size_t u = 0; u < 2; ++u)
      sums[u] += load<vdouble>(x + i + u * lanes);
  const vdouble both = sums[0] + sums[1];
  double sum = 0;
  for (std::size_t l = 0; l < lanes; ++l)
    sum += both[l];
  return sum;
}

void rotate_into(double c, double s, const double* x, double* v, double* out, std::size_t n) {
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
