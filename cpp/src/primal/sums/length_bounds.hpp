// Lazy bounds on margins by the length of the path alone (compare margin_bounds.hpp), for one model
// or for several at once.
//
// When the products of row i were last taken, the nearest of them to its kink was `distance` away.
// Since then no model has moved by more than the sum over the moves of the longest one, so the row
// is where it was while |x_i| times that sum is below `distance`. Two floats a row.
#pragma once

#include "base/buffer.hpp"
#include "primal/margin_rows.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

class LengthBounds {
public:
  /// Nothing is proven yet. x ends in 1 where there is a bias.
  LengthBounds(const MarginRows& rows, bool has_bias);

  /// Every model moved by at most `length`.
  void move_by(double length);

  /// Row i was computed, `distance` from the nearest kink; infinite where it has none, minus
  /// infinity where it must always be computed.
  void set(std::size_t i, double distance) {
    const double reach = distance + norm_[i] * path_;
    const double slack = std::isfinite(reach) ? outward * (reach + 1.0) : 0.0;
    reach_[i] = static_cast<float>(reach - slack);
  }

  /// The rows without proof, in order; valid until the next call.
  std::span<const std::int32_t> find_unproven();

private:
  // Many times the rounding of the few float operations of the scan and of the products.
  static constexpr double outward = 1e-6;

  std::size_t n_;
  Buffer<float> reach_, norm_;
  Buffer<std::int32_t> found_;
  double max_norm_ = 0.0;
  double path_ = 0.0;
};

} // namespace alphapath
