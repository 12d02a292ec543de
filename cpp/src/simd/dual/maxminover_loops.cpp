#include "simd/dual/maxminover_loops.hpp"

#include "simd/running_best.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

template <class T>
CounterPair counter_update(const CounterView& view, const T* row_a, const T* row_b, double up,
                           double down, double constant) {
  constexpr std::size_t lanes = Vec<double>::width;
  constexpr double none = -__builtin_inf();
  typedef T vrow __attribute__((vector_size(lanes * sizeof(T))));
  RunningBest lowest[2] = {RunningBest(none), RunningBest(none)}; // of -s
  RunningBest highest[2] = {RunningBest(none), RunningBest(none)};
  const double own = up - down;
  const auto visit = [&](std::size_t k, std::size_t turn) {
    vdouble s = load<vdouble>(view.s + k);
    if (row_a != nullptr) {
      const vdouble a = __builtin_convertvector(load<vrow>(row_a + k), vdouble);
      const vdouble b = __builtin_convertvector(load<vrow>(row_b + k), vdouble);
      s += up * a - down * b + (own * load<vdouble>(view.offset + k) + constant);
      store(view.s + k, s);
    }
    const vdouble counter = load<vdouble>(view.counters + k);
    lowest[turn].keep_larger(-(s + load<vdouble>(view.bar + k)), k);
    highest[turn].keep_larger(counter > 0 ? s : vdouble{} + none, k);
  };
  for (std::size_t k = 0; k < view.n_padded; k += 2 * lanes) {
    visit(k, 0);
    visit(k + lanes, 1);
  }
  const Best low = reduce_best(lowest[0], lowest[1]);
  const Best high = reduce_best(highest[0], highest[1]);
  return {low.index, high.index, -low.value, high.value};
}

template CounterPair counter_update(const CounterView&, const float*, const float*, double, double,
                                    double);
template CounterPair counter_update(const CounterView&, const double*, const double*, double,
                                    double, double);

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
