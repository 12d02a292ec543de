// Where weights are large, double precision alone leaves residuals of the margin set that are not
// small: their terms are. Here they are summed in twice the precision, and betas and rates are
// corrected by one more solve with the factor.

#include "base/dispatch.hpp"
#include "path/walker.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// The error of a residual, relative to the targets, that is worth a correction.
constexpr double wanted_error = 1e-10;
// Of a residual along one step.
constexpr double wanted_step_error = 1e-9;
// What a sum in double precision loses, relative to the sizes of its terms.
constexpr double lost_share = 2.2e-16;
// Roundings within which an instance is as good as at the end of its interval.
constexpr double roundings_near = 64;

} // namespace

/// Moves the margin set so that its residuals are on the margin to twice the precision, where
/// nobody meets a bound by it; and recomputes those of instances that are next to an event.
void PathWalker::correct_members() {
  const double floor = rounding_floor();
  if (has_return_ || floor < wanted_error * target_scale_ || members_.empty())
    return;
  settle_betas();
  const auto dot = ALPHAPATH_DISPATCH(dot_twice);
  const std::size_t m = members_.size();
  const double total =
      model_.has_equality ? -ALPHAPATH_DISPATCH(sum_of)(beta_.data(), width_) : 0.0;
  dbeta_.resize(m);
  for (std::size_t k = 0; k < m; ++k) {
    const std::size_t i = members_[k];
    e_[i] = dot(row_of(k), beta_.data(), width_, bias_ - target_[i]);
    dbeta_[k] = margin_of(i) - e_[i] - origin_[i] * total;
  }
  double shift = solve_for(total);
  for (std::size_t k = 0; k < m; ++k) {
    const Bounds b = bounds_of(members_[k], side_[members_[k]]);
    const double beta = beta_[members_[k]] + dbeta_[k];
    if (!(beta > b.lower && beta < b.upper))
      return;
  }
  bias_ += shift;
  for (std::size_t k = 0; k < m; ++k)
    beta_[members_[k]] += dbeta_[k];
  for (double& e : e_)
    e += shift;
  for (std::size_t at = 0; at < m; at += simd::max_rows_at_once)
    add_rows<double>(row_pointers_.data() + at, dbeta_.data() + at,
                     std::min(simd::max_rows_at_once, m - at), width_, e_.data());
  for (const std::uint32_t i : members_)
    e_[i] = margin_of(i);
  for (std::size_t i = 0; i < n_; ++i) {
    if (place_[i] == Place::margin ||
        std::min(hi_[i] - e_[i], e_[i] - lo_[i]) > roundings_near * floor)
      continue;
    const KernelRow pin = kernel_.row(i);
    e_[i] = dot(static_cast<const double*>(pin.data), beta_.data(), width_, bias_ - target_[i]);
  }
}

/// dbeta <- A^-1 (dbeta - shift 1) with the sum given; returns the change of the bias that goes
/// with it.
double PathWalker::solve_for(double total) {
  factor_.carry(dbeta_);
  is_carried_ = false;
  if (!model_.has_equality) {
    factor_.solve(dbeta_);
    return 0;
  }
  double shift = factor_.solve_bordered(dbeta_, total) + sigma_ * total;
  for (std::size_t k = 0; k < members_.size(); ++k)
    shift -= origin_[members_[k]] * dbeta_[k];
  return shift;
}

/// Whether the rounding of the direction shows after `step`.
bool PathWalker::needs_refinement(double step) const {
  return is_recording_ && !members_.empty() &&
         step * lost_share * scale_ * direction_size_ > wanted_step_error * target_scale_;
}

/// The same direction, its residuals on the margin set summed in twice the precision.
void PathWalker::refine_direction(double limit) {
  const auto dot = ALPHAPATH_DISPATCH(dot_twice);
  const std::size_t m = members_.size();
  AlignedVector<double> rates(rate_);
  for (std::size_t k = 0; k < m; ++k)
    rates[members_[k]] = dbeta_[k];
  const double total =
      model_.has_equality ? sum_return_ - ALPHAPATH_DISPATCH(sum_of)(rates.data(), width_) : 0.0;
  const std::vector<double> known(dbeta_);
  for (std::size_t k = 0; k < m; ++k) {
    const std::size_t i = members_[k];
    dbeta_[k] = -dot(row_of(k), rates.data(), width_, dbias_ + return_[i]) - origin_[i] * total;
  }
  dbias_ += solve_for(total);
  for (std::size_t k = 0; k < m; ++k)
    dbeta_[k] += known[k];
  find_crossing(limit);
}

} // namespace alphapath
