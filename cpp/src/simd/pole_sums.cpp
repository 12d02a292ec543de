#include "simd/pole_sums.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

struct Lanes {
  vdouble positive{}, negative{};
  vdouble least_positive = __builtin_inf() + vdouble{},
          least_negative = __builtin_inf() + vdouble{};

  void add(vdouble w, double pole, double inverse) {
    const auto is_positive = w > 0.0, is_negative = w < 0.0;
    const vdouble zero{}, term = w * inverse, here = pole + vdouble{};
    positive += is_positive ? term : zero;
    negative -= is_negative ? term : zero;
    least_positive = is_positive ? smaller_of(least_positive, here) : least_positive;
    least_negative = is_negative ? smaller_of(least_negative, here) : least_negative;
  }
};

} // namespace

void pole_sums(const double* W, std::size_t ld, std::size_t n, const double* poles,
               std::size_t n_poles, const SecularSums& out) {
  constexpr std::size_t lanes = Vec<double>::width;
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t count = n - i < lanes ? n - i : lanes;
    Lanes sums;
    for (std::size_t k = 0; k < n_poles; ++k) {
      vdouble w{};
      if (count == lanes)
        w = load<vdouble>(W + k * ld + i);
      else
        __builtin_memcpy(&w, W + k * ld + i, count * sizeof(double));
      sums.add(w, poles[k], 1.0 / poles[k]);
    }
    __builtin_memcpy(out.positive + i, &sums.positive, count * sizeof(double));
    __builtin_memcpy(out.negative + i, &sums.negative, count * sizeof(double));
    __builtin_memcpy(out.least_positive + i, &sums.least_positive, count * sizeof(double));
    __builtin_memcpy(out.least_negative + i, &sums.least_negative, count * sizeof(double));
  }
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
