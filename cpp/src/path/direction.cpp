// Where a walk goes: the rates of betas that are not on the margin, h = K rates, and a direction
// that double precision alone does not give.
//
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

/// Returns by how much the rate changed, which the factor's right-hand side does not know yet.
double PathWalker::set_rate(std::size_t i, double rate) {
  const double change = count_rate(i, rate);
  if (change == 0 || stand_still())
    return change;
  const KernelRow pin = kernel_.row(i);
  const double* row = static_cast<const double*>(pin.data);
  add_rows<double>(&row, &change, 1, width_, h_.data());
  return change;
}

/// What goes into every entry of the right-hand side where the rate of i changes, beside -change
/// times its column of the factored matrix: h and the sum of rates move together.
double PathWalker::carried_shift(std::size_t i, double change) const {
  return change * (sigma_ - origin_[i]);
}

/// The same for several, whose kernel rows are read together.
void PathWalker::set_rates(std::span<const std::size_t> instances, std::span<const double> rates) {
  std::vector<double> changes;
  for (std::size_t k = 0; k < instances.size(); ++k)
    changes.push_back(count_rate(instances[k], rates[k]));
  is_carried_ = false;
  if (!stand_still())
    multiply_add(kernel_, instances, changes, std::span(h_).first(n_));
}

/// Takes note of a rate; what it adds to the present one is still to go into h.
double PathWalker::count_rate(std::size_t i, double rate) {
  const double change = rate - rate_[i];
  if (change == 0)
    return 0;
  n_moving_ += static_cast<std::size_t>(rate != 0);
  n_moving_ -= static_cast<std::size_t>(rate_[i] != 0);
  rates_size_ += std::abs(rate) - std::abs(rate_[i]);
  rate_[i] = rate;
  return change;
}

/// Where nobody moves, h is 0 exactly, not to rounding. Returns whether that is so.
bool PathWalker::stand_still() {
  if (n_moving_ > 0)
    return false;
  rates_size_ = 0;
  is_carried_ = false;
  std::fill(h_.begin(), h_.end(), 0.0);
  return true;
}

/// For scale_rates.
void PathWalker::keep_rates() {
  last_rate_ = rate_;
  last_h_ = h_;
}

/// h = K rates; kept up to date by set_rate, whose rounding adds up.
void PathWalker::multiply_rates() {
  std::vector<std::size_t> moving;
  std::vector<double> rates;
  rates_size_ = 0;
  for (std::size_t i = 0; i < n_; ++i)
    if (rate_[i] != 0) {
      moving.push_back(i);
      rates.push_back(rate_[i]);
      rates_size_ += std::abs(rate_[i]);
    }
  n_moving_ = moving.size();
  is_carried_ = false;
  std::fill(h_.begin(), h_.end(), 0.0);
  multiply_add(kernel_, moving, rates, std::span(h_).first(n_));
}

/// h from that of the last walk, where most rates are exactly one multiple of what they were then:
/// weights that are doubled again and again. False where K rates is to be computed.
bool PathWalker::scale_rates() {
  if (last_h_.size() != width_)
    return false;
  double scale = 0;
  for (std::size_t i = 0; i < n_ && scale == 0; ++i)
    if (last_rate_[i] != 0)
      scale = rate_[i] / last_rate_[i];
  std::vector<std::size_t> others;
  std::vector<double> changes;
  std::size_t n_moving = 0;
  double size = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    const double change = rate_[i] - scale * last_rate_[i];
    n_moving += static_cast<std::size_t>(rate_[i] != 0);
    size += std::abs(rate_[i]);
    if (change != 0) {
      others.push_back(i);
      changes.push_back(change);
    }
  }
  if (2 * others.size() >= n_moving)
    return false;
  n_moving_ = n_moving;
  rates_size_ = size;
  is_carried_ = false;
  for (std::size_t i = 0; i < width_; ++i)
    h_[i] = scale * last_h_[i];
  multiply_add(kernel_, others, changes, std::span(h_).first(n_));
  return true;
}

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
  return recorder_.is_on() && !members_.empty() &&
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
