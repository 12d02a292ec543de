// Sums over poles for all rows at once: the first bracket of every event equation.
#pragma once

#include <cstddef>

namespace alphapath::simd {

/// For row i of W (column k at k * ld): sums of |W_ik| / D_k and the least D_k, for the positive
/// and for the negative W_ik apart (infinity where there is none).
struct SecularSums {
  double *positive, *negative;
  double *least_positive, *least_negative;
};

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  void pole_sums(const double* W, std::size_t ld, std::size_t n, const double* poles,              \
                 std::size_t n_poles, const SecularSums& out);                                     \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
