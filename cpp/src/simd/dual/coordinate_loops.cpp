#include "simd/dual/coordinate_loops.hpp"

#include "simd/running_best.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

template <class T>
CoordinateCandidate coordinate_update(const CoordinateView& view, const T* row, double step,
                                      double own_offset) {
  constexpr std::size_t lanes = Vec<double>::width;
  typedef T vrow __attribute__((vector_size(lanes * sizeof(T))));
  RunningBest gain[2] = {RunningBest(0), RunningBest(0)};
  vdouble violation[2] = {};
  const auto visit = [&](std::size_t k, std::size_t turn) {
    vdouble g = load<vdouble>(view.gradient + k);
    if (row != nullptr) {
      const vdouble stored = __builtin_convertvector(load<vrow>(row + k), vdouble);
      g += step * (stored + load<vdouble>(view.offset + k) + own_offset);
      store(view.gradient + k, g);
    }
    const vdouble beta = load<vdouble>(view.beta + k);
    const vdouble room_down = load<vdouble>(view.lower + k) - beta;
    const vdouble room_up = load<vdouble>(view.upper + k) - beta;
    const vdouble newton = -g * load<vdouble>(view.inverse + k);
    const vdouble move = smaller_of(larger_of(newton, room_down), room_up);
    // -2 (g move + curvature move^2 / 2) with the Newton step factored out.
    const vdouble decrease = move * (2 * newton - move) * load<vdouble>(view.curvature + k);
    const vdouble slope = move != 0 ? (g < 0 ? -g : g) : vdouble{};
    violation[turn] = larger_of(slope, violation[turn]);
    gain[turn].keep_larger(decrease, k);
  };
  for (std::size_t k = 0; k < view.n_padded; k += 2 * lanes) {
    visit(k, 0);
    visit(k + lanes, 1);
  }
  const Best best = reduce_best(gain[0], gain[1]);
  const vdouble largest = larger_of(violation[0], violation[1]);
  CoordinateCandidate candidate{best.index, best.value, 0};
  for (std::size_t l = 0; l < lanes; ++l)
    candidate.violation = largest[l] > candidate.violation ? largest[l] : candidate.violation;
  return candidate;
}

template CoordinateCandidate coordinate_update(const CoordinateView&, const float*, double, double);
template CoordinateCandidate coordinate_update(const CoordinateView&, const double*, double,
                                               double);

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
