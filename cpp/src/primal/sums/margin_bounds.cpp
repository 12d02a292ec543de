#include "primal/sums/margin_bounds.hpp"

#include "base/isa.hpp"
#include "simd/primal/margin_loops.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// Many times the rounding of the few float operations of the scan, on each term of its own.
constexpr double outward = 1e-6;
// Beyond this the outward rounding of |x| path would cost proofs: begin the path anew.
constexpr double max_drift = 1000.0;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return ALPHAPATH_DISPATCH(dot_product)(a.data(), b.data(), a.size());
}

/// Length 1, or 0 where nothing is left of it.
void normalise(std::vector<double>& v, double smallest) {
  const double length = std::sqrt(dot(v, v));
  const double scale = length > smallest ? 1.0 / length : 0.0;
  for (double& x : v)
    x *= scale;
}

} // namespace

MarginBounds::MarginBounds(const MarginRows& rows, bool has_clusters)
    : n_(rows.size()), reach_(padded(n_)), norm_(padded(n_)), along_(padded(n_)),
      across_(padded(n_)), found_(padded(n_)), last_w_(rows.n_columns(), 0.0), last_step_(last_w_),
      step_before_(last_w_), v_(last_w_), u_(last_w_) {
  if (has_clusters) {
    clusters_ = std::make_unique<RowClusters>(rows);
    longest_centre_ = clusters_->longest();
  }
  for (std::size_t i = 0; i < padded(n_); ++i) {
    const bool is_row = i < n_;
    const double norm = is_row ? rows.norm(i) : 0.0;
    const double radius = is_row && clusters_ ? clusters_->radius(rows, i, norm) : norm;
    norm_[i] = static_cast<float>(radius * (1.0 + outward));
    reach_[i] = static_cast<float>(is_row ? never : always);
    along_[i] = across_[i] = 0.0f;
    max_norm_ = std::max(max_norm_, norm);
  }
}

void MarginBounds::move_to(const double* w, double bias) {
  std::swap(last_step_, step_before_);
  for (std::size_t j = 0; j < last_w_.size(); ++j) {
    last_step_[j] = w[j] - last_w_[j];
    last_w_[j] = w[j];
  }
  const double ahead = dot(last_step_, v_);
  const double sideways = dot(last_step_, u_);
  const double aside = ALPHAPATH_DISPATCH(squared_distance)(last_step_.data(), ahead, v_.data(),
                                                            sideways, u_.data(), v_.size());
  path_ += std::sqrt(aside) * (1.0 + outward);
  run_ += ahead;
  drift_ += sideways;
  bias_ = bias;
  if (clusters_)
    clusters_->move_by(last_step_, ahead, sideways);
  if (distance_run() * max_norm_ > max_drift)
    rebase();
  round_outwards();
}

void MarginBounds::follow(const MarginBounds& other) {
  last_w_ = other.last_w_;
  last_step_ = other.last_step_;
  step_before_ = other.step_before_;
  bias_ = other.bias_;
  std::fill_n(reach_.data(), n_, static_cast<float>(never));
  begin_path();
  round_outwards();
}

double MarginBounds::distance_run() const {
  return path_ + std::abs(run_) + std::abs(drift_);
}

void MarginBounds::round_outwards() {
  scan_path_ = static_cast<float>(path_ + outward * distance_run());
  // What is known of a row is as large as its centre allows, however close to it the row is.
  scan_slack_ = static_cast<float>(outward * (std::abs(bias_) + longest_centre_ * distance_run()));
}

MarginBounds::Plane MarginBounds::begin_plane() {
  v_ = last_step_;
  normalise(v_, 0.0);
  u_ = step_before_;
  const double size = std::sqrt(dot(u_, u_));
  const double common = dot(u_, v_);
  for (std::size_t j = 0; j < u_.size(); ++j)
    u_[j] -= common * v_[j];
  // What is parallel but for rounding has no direction of its own.
  normalise(u_, 1e-6 * size);
  if (clusters_)
    clusters_->set_plane(v_, u_);
  begin_path();
  round_outwards();
  return {v_.data(), u_.data()};
}

void MarginBounds::set(std::size_t i, double distance, double sign) {
  const double norm = std::abs(norm_[i]);
  norm_[i] = static_cast<float>(std::copysign(norm, sign));
  const double size =
      std::abs(distance) + 2.0 + std::abs(bias_) + (norm + longest_centre_) * distance_run();
  reach_[i] = static_cast<float>(distance + norm * path_ -
                                 std::copysign(1.0, sign) * (bias_ + shift_of(i)) - outward * size);
}

bool MarginBounds::is_proven(std::size_t i) const {
  const double shift = std::copysign(1.0, norm_[i]) * (bias_ + shift_of(i));
  return reach_[i] - std::abs(norm_[i]) * static_cast<double>(scan_path_) + shift > scan_slack_;
}

std::span<std::int32_t> MarginBounds::find_unproven() {
  const auto moves = clusters_ ? clusters_->moves() : std::array<float, simd::n_centres>{};
  const simd::BoundScan scan{.reach = reach_.data(),
                             .norm = norm_.data(),
                             .along = along_.data(),
                             .across = across_.data(),
                             .n = n_,
                             .path = scan_path_,
                             .run = static_cast<float>(run_),
                             .drift = static_cast<float>(drift_),
                             .bias = static_cast<float>(bias_),
                             .slack = scan_slack_,
                             .cluster = clusters_ ? clusters_->own() : nullptr,
                             .moves = moves.data()};
  const std::size_t n_found = ALPHAPATH_DISPATCH(scan_bounds)(scan, found_.data());
  return {found_.data(), n_found};
}

void MarginBounds::rebase() {
  for (std::size_t i = 0; i < n_; ++i) {
    const double reach = reach_[i];
    const double norm = std::abs(norm_[i]);
    const double size = std::abs(reach) + (norm + longest_centre_) * distance_run();
    if (std::isfinite(reach))
      reach_[i] = static_cast<float>(reach - norm * path_ +
                                     std::copysign(1.0, norm_[i]) * shift_of(i) - outward * size);
  }
  begin_path();
}

void MarginBounds::begin_path() {
  path_ = run_ = drift_ = 0.0;
  if (clusters_)
    clusters_->reset();
}

} // namespace alphapath
