// Where a walk goes from one place, and what corrects it where double precision alone does not do.
//
// Where weights are large, double precision alone leaves residuals of the margin set that are not
// small: their terms are. Here they are summed in twice the precision, and betas and rates are
// corrected by one more solve with the factor.

#include "base/dispatch.hpp"
#include "path/walker.hpp"
#include "simd/path_loops.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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
// Turns through which the half-solved right-hand side is carried before it is computed anew.
constexpr int turns_carried = 64;

} // namespace

/// Returns by how much the rate changed, which the factor's right-hand side does not know yet.
double PathWalker::set_rate(std::size_t i, double rate) {
  const double change = rates_.count(i, rate);
  if (change == 0)
    return 0;
  if (rates_.stand_still()) {
    margin_.is_carried = false;
  } else {
    rates_.add(kernel_, i, change);
    renew_rates();
  }
  return change;
}

/// The same for several, whose kernel rows are read together.
void PathWalker::set_rates(std::span<const std::size_t> instances, std::span<const double> rates) {
  std::vector<double> changes;
  for (std::size_t k = 0; k < instances.size(); ++k)
    changes.push_back(rates_.count(instances[k], rates[k]));
  margin_.is_carried = false;
  if (rates_.stand_still())
    return;
  multiply_add(kernel_, instances, changes, std::span(rates_.h).first(n_));
  renew_rates();
}

/// h without the rounding of rates that are gone. A part does not know all rates: its walk ends.
void PathWalker::renew_rates() {
  if (!rates_.is_worn())
    return;
  if (near_.kernel != nullptr) {
    near_.needs_all = true;
    return;
  }
  rates_.multiply(kernel_);
  margin_.is_carried = false;
}

/// The rates of betas, bias and residuals, and the first residual that leaves its interval before
/// `limit`.
void PathWalker::find_direction(double limit) {
  const std::size_t m = margin_.members.size();
  direction_.bias = 0;
  direction_.beta.resize(m);
  direction_.size = rates_.size;
  if (m > 0) {
    // Where rates became small, what is carried has the rounding of larger ones.
    margin_.is_carried &=
        margin_.n_carried < turns_carried && rates_.size >= margin_.carried_size / 2;
    double total = 0;
    if (model_.has_equality)
      total = margin_.is_carried ? margin_.carried_total : sum_return_ - sum_of_rates();
    if (!margin_.is_carried) {
      for (std::size_t k = 0; k < m; ++k) {
        const std::size_t i = margin_.members[k];
        direction_.beta[k] = -rates_.h[i] - residuals_.give_back[i] - margin_.origin[i] * total;
      }
      margin_.factor.carry(direction_.beta);
      margin_.is_carried = true;
      margin_.carried_total = total;
      margin_.carried_size = rates_.size;
      margin_.n_carried = 0;
    }
    ++margin_.n_carried;
    if (model_.has_equality)
      direction_.bias =
          margin_.factor.solve_bordered(direction_.beta, total) + margin_.sigma * total;
    else
      margin_.factor.solve(direction_.beta);
    const simd::PickedSums sums = ALPHAPATH_DISPATCH(sum_picked)(
        margin_.origin.data(), margin_.members.data(), direction_.beta.data(), m);
    direction_.bias -= sums.product;
    direction_.size += sums.size;
  }
  find_crossing(limit);
}

/// The rates of residuals, and who leaves its interval first, by the rates of betas and bias.
void PathWalker::find_crossing(double limit) {
  const std::size_t m = margin_.members.size();
  direction_.noise = relative_noise * scale_ * direction_.size;
  direction_.crossing = ALPHAPATH_DISPATCH(sweep)(
      {rates_.h.data(), has_return_ ? residuals_.give_back.data() : nullptr, direction_.bias,
       margin_.pointers.data(), direction_.beta.data(), m},
      std::exchange(residuals_.step_left, 0.0), residuals_.intervals(), residuals_.n_followed,
      direction_.noise, limit, residuals_.rate.data());
  // Of members that are not followed the rate stays 0.
  direction_.residual_noise =
      ALPHAPATH_DISPATCH(largest_picked)(residuals_.rate.data(), margin_.members.data(), m);
  direction_.beta_noise = m > 0 ? relative_noise * direction_.size : 0.0;
  direction_.noise = std::max(direction_.noise, 8 * direction_.residual_noise);
  if (direction_.crossing.speed <= direction_.noise)
    direction_.crossing =
        ALPHAPATH_DISPATCH(first_crossing)(residuals_.intervals(), residuals_.rate.data(),
                                           residuals_.n_followed, direction_.noise, limit);
}

/// Moves the margin set so that its residuals are on the margin to twice the precision, where
/// nobody meets a bound by it; and recomputes those of instances that are next to an event.
void PathWalker::correct_members() {
  const double floor = rounding_floor();
  if (has_return_ || floor < wanted_error * target_scale_ || margin_.members.empty())
    return;
  settle_betas();
  const auto dot = ALPHAPATH_DISPATCH(dot_twice);
  const std::size_t m = margin_.members.size();
  const double total =
      model_.has_equality ? -ALPHAPATH_DISPATCH(sum_of)(beta_.data(), width_) : 0.0;
  direction_.beta.resize(m);
  for (std::size_t k = 0; k < m; ++k) {
    const std::size_t i = margin_.members[k];
    residuals_.e[i] = dot(margin_.row_of(k), beta_.data(), width_, bias_ - target_[i]);
    direction_.beta[k] = margin_of(i) - residuals_.e[i] - margin_.origin[i] * total;
  }
  const double shift = margin_.solve(direction_.beta, total, model_.has_equality);
  for (std::size_t k = 0; k < m; ++k) {
    const Bounds b = bounds_of(margin_.members[k], side_[margin_.members[k]]);
    const double beta = beta_[margin_.members[k]] + direction_.beta[k];
    if (!(beta > b.lower && beta < b.upper))
      return;
  }
  bias_ += shift;
  for (std::size_t k = 0; k < m; ++k)
    beta_[margin_.members[k]] += direction_.beta[k];
  for (double& e : residuals_.e)
    e += shift;
  for (std::size_t at = 0; at < m; at += simd::max_rows_at_once)
    add_rows<double>(margin_.pointers.data() + at, direction_.beta.data() + at,
                     std::min(simd::max_rows_at_once, m - at), width_, residuals_.e.data());
  for (const std::uint32_t i : margin_.members)
    residuals_.e[i] = margin_of(i);
  for (std::size_t i = 0; i < n_; ++i) {
    if (place_[i] == Place::margin ||
        std::min(residuals_.hi[i] - residuals_.e[i], residuals_.e[i] - residuals_.lo[i]) >
            roundings_near * floor)
      continue;
    const KernelRow pin = kernel_.row(i);
    residuals_.e[i] =
        dot(static_cast<const double*>(pin.data), beta_.data(), width_, bias_ - target_[i]);
  }
}

/// Whether the rounding of the direction shows after `step`.
bool PathWalker::needs_refinement(double step) const {
  return recorder_.is_on() && !margin_.members.empty() &&
         step * lost_share * scale_ * direction_.size > wanted_step_error * target_scale_;
}

/// The same direction, its residuals on the margin set summed in twice the precision.
void PathWalker::refine_direction(double limit) {
  const auto dot = ALPHAPATH_DISPATCH(dot_twice);
  const std::size_t m = margin_.members.size();
  AlignedVector<double> rates(rates_.rate);
  for (std::size_t k = 0; k < m; ++k)
    rates[margin_.members[k]] = direction_.beta[k];
  const double total =
      model_.has_equality ? sum_return_ - ALPHAPATH_DISPATCH(sum_of)(rates.data(), width_) : 0.0;
  const std::vector<double> known(direction_.beta);
  for (std::size_t k = 0; k < m; ++k) {
    const std::size_t i = margin_.members[k];
    direction_.beta[k] =
        -dot(margin_.row_of(k), rates.data(), width_, direction_.bias + residuals_.give_back[i]) -
        margin_.origin[i] * total;
  }
  direction_.bias += margin_.solve(direction_.beta, total, model_.has_equality);
  for (std::size_t k = 0; k < m; ++k)
    direction_.beta[k] += known[k];
  find_crossing(limit);
}

} // namespace alphapath
