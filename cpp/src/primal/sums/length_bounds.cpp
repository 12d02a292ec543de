#include "primal/sums/length_bounds.hpp"

#include "base/isa.hpp"
#include "simd/primal/fold_loops.hpp"

#include <algorithm>
#include <limits>

namespace alphapath {

namespace {

// Beyond this the outward rounding of |x| path would cost proofs: begin the path anew.
constexpr double max_drift = 1000.0;
constexpr float unproven = -std::numeric_limits<float>::infinity();

} // namespace

LengthBounds::LengthBounds(const MarginRows& rows, bool has_bias)
    : n_(rows.size()), reach_(padded(n_)), norm_(padded(n_)), found_(padded(n_)) {
  for (std::size_t i = 0; i < padded(n_); ++i) {
    const double norm = i < n_ ? rows.norm(i) : 0.0;
    const double whole = has_bias ? std::sqrt(norm * norm + 1.0) : norm;
    norm_[i] = i < n_ ? static_cast<float>(whole * (1.0 + outward)) : 0.0f;
    reach_[i] = i < n_ ? unproven : -unproven;
    max_norm_ = std::max(max_norm_, static_cast<double>(norm_[i]));
  }
}

void LengthBounds::move_by(double length) {
  path_ += length * (1.0 + outward);
  if (path_ * max_norm_ > max_drift) {
    path_ = 0.0;
    std::fill_n(reach_.data(), n_, unproven);
  }
}

std::span<const std::int32_t> LengthBounds::find_unproven() {
  const float path = static_cast<float>(path_ * (1.0 + outward));
  const std::size_t n_found =
      ALPHAPATH_DISPATCH(scan_reach)(reach_.data(), norm_.data(), n_, path, found_.data());
  return {found_.data(), n_found};
}

} // namespace alphapath
