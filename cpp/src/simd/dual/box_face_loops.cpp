#include "simd/dual/box_face_loops.hpp"

#include "simd/running_best.hpp"
#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t lanes = Vec<double>::width;
constexpr double infinity = __builtin_inf();

/// Minus the steps to the bounds of `lanes` members; -inf for those that do not move.
inline vdouble negated_steps(const double* x, const double* d, const double* lower,
                             const double* upper) {
  const vdouble low = load<vdouble>(lower), high = load<vdouble>(upper);
  const vdouble at = load<vdouble>(x), rate = load<vdouble>(d);
  const vint64 moves = (low < high) & (rate != 0.0);
  const vdouble negated = (at - (rate > 0.0 ? high : low)) / (moves ? rate : vdouble{} + 1.0);
  return moves ? smaller_of(negated, vdouble{}) : vdouble{} - infinity;
}

} // namespace

FirstHit find_first_hit(const double* x, const double* d, const double* lower, const double* upper,
                        std::size_t n) {
  RunningBest even(-infinity), odd(-infinity);
  std::size_t k = 0;
  for (; k + 2 * lanes <= n; k += 2 * lanes) {
    even.keep_larger(negated_steps(x + k, d + k, lower + k, upper + k), k);
    odd.keep_larger(
        negated_steps(x + k + lanes, d + k + lanes, lower + k + lanes, upper + k + lanes),
        k + lanes);
  }
  const Best best = reduce_best(even, odd);
  FirstHit found{-best.value, best.value == -infinity ? n : best.index};
  for (; k < n; ++k) {
    if (!(lower[k] < upper[k]) || d[k] == 0.0)
      continue;
    const double step = ((d[k] > 0 ? upper[k] : lower[k]) - x[k]) / d[k];
    if (step < found.step)
      found = {step > 0 ? step : 0.0, k};
  }
  return found;
}

void move_within(double step, const double* d, const double* lower, const double* upper,
                 std::size_t n, double* x) {
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    const vdouble moved = load<vdouble>(x + k) + step * load<vdouble>(d + k);
    store(x + k, smaller_of(larger_of(moved, load<vdouble>(lower + k)), load<vdouble>(upper + k)));
  }
  for (; k < n; ++k) {
    const double moved = x[k] + step * d[k];
    x[k] = moved < lower[k] ? lower[k] : moved > upper[k] ? upper[k] : moved;
  }
}

void add_multiple(double a, const double* x, std::size_t n, double* y) {
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes)
    store(y + k, load<vdouble>(y + k) + a * load<vdouble>(x + k));
  for (; k < n; ++k)
    y[k] += a * x[k];
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
