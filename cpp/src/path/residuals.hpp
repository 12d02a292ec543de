// The residuals of all instances along a path, and the intervals in which nothing happens.
#pragma once

#include "base/buffer.hpp"
#include "base/isa.hpp"
#include "simd/path_loops.hpp"

#include <cstddef>
#include <utility>

namespace alphapath {

/// One value an instance, whose vectors are as wide as kernel rows.
struct Residuals {
  AlignedVector<double> e, rate, lo, hi;
  AlignedVector<double> give_back; // the rate at which a target returns what was handed to it
  std::size_t n_followed = 0;      // this many, the first, are kept up to date
  double step_left = 0;            // that e has not gone along its rate yet

  simd::Intervals intervals() { return {e.data(), lo.data(), hi.data()}; }
  /// Where the betas are.
  void settle() {
    if (step_left != 0)
      ALPHAPATH_DISPATCH(add_scaled)(std::exchange(step_left, 0.0), rate.data(), n_followed,
                                     e.data());
  }
};

} // namespace alphapath
