#include "simd/coordinate_loops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

// Blocks of 8 lanes, each lane with its own best, written so that the compiler vectorises the
// inner loops for the instruction set at hand.
template <class T>
CoordinateCandidate coordinate_update(const CoordinateView& view, const T* row,
                                      const double* offset, double step, double own_offset) {
  constexpr std::size_t lanes = 8;
  double gain[lanes] = {}, violation[lanes] = {};
  std::size_t at[lanes] = {};
  const auto visit = [&](std::size_t k, std::size_t l) {
    double g = view.gradient[k];
    if (row != nullptr) {
      g += step * (static_cast<double>(row[k]) + offset[k] + own_offset);
      view.gradient[k] = g;
    }
    const double room_down = view.lower[k] - view.beta[k];
    const double room_up = view.upper[k] - view.beta[k];
    const double newton = -g * view.inverse[k];
    const double move = newton < room_down ? room_down : newton > room_up ? room_up : newton;
    // -2 (g move + move^2 / (2 inverse)) with the Newton step factored out.
    const double decrease = move * (2 * newton - move) / view.inverse[k];
    const double slope = move != 0 ? (g < 0 ? -g : g) : 0;
    violation[l] = slope > violation[l] ? slope : violation[l];
    at[l] = decrease > gain[l] ? k : at[l];
    gain[l] = decrease > gain[l] ? decrease : gain[l];
  };
  std::size_t k = 0;
  for (; k + lanes <= view.n; k += lanes)
    for (std::size_t l = 0; l < lanes; ++l)
      visit(k + l, l);
  for (; k < view.n; ++k)
    visit(k, 0);
  CoordinateCandidate best{at[0], gain[0], violation[0]};
  for (std::size_t l = 1; l < lanes; ++l) {
    if (gain[l] > best.gain || (gain[l] == best.gain && at[l] < best.index)) {
      best.index = at[l];
      best.gain = gain[l];
    }
    best.violation = violation[l] > best.violation ? violation[l] : best.violation;
  }
  return best;
}

template CoordinateCandidate coordinate_update(const CoordinateView&, const float*, const double*,
                                               double, double);
template CoordinateCandidate coordinate_update(const CoordinateView&, const double*, const double*,
                                               double, double);

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
