// The largest value of a pass over doubles and where it stands; only for the files of cpp/src/simd.
#pragma once

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

/// One candidate a lane; a pass uses two of them in turn, which hides the latency of the blends.
struct RunningBest {
  vdouble best;
  vint64 at{};

  explicit RunningBest(double lowest) : best(vdouble{} + lowest) {}

  /// Lane l of `value` is element base + l.
  void keep_larger(vdouble value, std::size_t base) {
    const vint64 is_better = value > best;
    best = is_better ? value : best;
    at = is_better ? vint64{} + static_cast<std::int64_t>(base) : at;
  }
};

struct Best {
  double value;
  std::size_t index;
};

inline Best reduce_best(const RunningBest& a, const RunningBest& b) {
  Best found{a.best[0], static_cast<std::size_t>(a.at[0])};
  const RunningBest* const both[2] = {&a, &b};
  for (const RunningBest* r : both)
    for (std::size_t l = 0; l < Vec<double>::width; ++l) {
      const std::size_t k = static_cast<std::size_t>(r->at[l]) + l;
      if (r->best[l] > found.value || (r->best[l] == found.value && k < found.index))
        found = {r->best[l], k};
    }
  return found;
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
