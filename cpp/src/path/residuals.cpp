// What a path computes from scratch: factor, residuals, and what becomes of their drift.

#include "base/dispatch.hpp"
#include "path/walker.hpp"
#include "problem/quality.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Updates of the factor after which it too is computed anew where residuals are.
constexpr std::int64_t updates_alone = 200;
/// Relative error that rounding may leave in a stated objective.
constexpr double objective_digits = 1e-11;
/// What betas of the past may have left of rounding in residuals, relative to the targets.
constexpr double past_digits = 1e-10;
/// What moving betas to the ends of their boxes may leave there.
constexpr double snap_digits = 1e-7;

} // namespace

/// Those next to a bound last: who leaves from there costs the factor least.
void PathWalker::order_members() {
  const auto room = [&](std::uint32_t i) {
    const Bounds b = bounds_of(i, side_[i]);
    return std::min(b.upper - beta_[i], beta_[i] - b.lower);
  };
  std::vector<std::pair<double, std::uint32_t>> order;
  for (const std::uint32_t i : margin_.members)
    order.emplace_back(-room(i), i);
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> members;
  for (const auto& [_, i] : order)
    members.push_back(i);
  margin_.assign(kernel_, std::move(members));
}

PathStatus PathWalker::build_factor() {
  updates_at_refresh_ = counts_.n_updates;
  margin_.is_carried = false;
  const std::size_t m = margin_.members.size();
  order_members();
  const bool is_sound =
      margin_.factor.assign(m, least_start_pivot, [&](std::size_t c, double* out) {
        for (std::size_t r = c; r < m; ++r)
          out[r] = margin_.block_value(margin_.row_of(c), margin_.members[c], margin_.members[r]);
      });
  is_definite_ = is_sound;
  if (is_sound)
    return PathStatus::arrived;
  // Some depend on others: one by one, and those that do move to a bound.
  std::vector<std::uint32_t> queue;
  std::swap(queue, margin_.members);
  margin_.clear();
  margin_.factor.clear();
  for (const std::uint32_t i : queue) {
    const PathStatus status = insert(i, beta_[i] > 0, 0.0);
    if (status != PathStatus::arrived)
      return status;
  }
  is_definite_ = true;
  updates_at_refresh_ = counts_.n_updates;
  return PathStatus::arrived;
}

/// Counted from where it is 0: what was added may still be small beside its end.
double PathWalker::driven_beta(std::size_t i) const {
  return rates_.rate[i] * (drive_end_[i] == 0 ? tau_ - 1 : tau_ - drive_begin_);
}

/// The beta of an instance at a bound.
double PathWalker::bounded_beta(std::size_t i, Place place, double tau) const {
  const double weight = c0_[i] + tau * dc_[i];
  return place == Place::above   ? upper_scale_[i] * weight
         : place == Place::below ? lower_scale_[i] * weight
                                 : 0.0;
}

/// Betas of bounded and driven instances follow from tau; between events nobody needs them.
void PathWalker::settle_beta(std::size_t i) {
  if (place_[i] == Place::margin) {
    const Bounds b = bounds_of(i, side_[i]);
    beta_[i] = std::clamp(beta_[i], b.lower, b.upper);
  } else {
    beta_[i] = place_[i] == Place::driven ? driven_beta(i) : bounded_beta(i, place_[i], tau_);
  }
}

void PathWalker::settle_betas() {
  for (std::size_t i = 0; i < n_; ++i)
    settle_beta(i);
}

Boxed PathWalker::boxed(std::size_t i) const {
  const bool is_member = place_[i] == Place::margin;
  const double beta = is_member                    ? beta_[i]
                      : place_[i] == Place::driven ? driven_beta(i)
                                                   : bounded_beta(i, place_[i], tau_);
  const Bounds b = bounds_of(i, is_member ? side_[i] : beta);
  return {beta, b.lower, b.upper};
}

BoxRounding PathWalker::rounding_of_betas() const {
  return BoxRounding(n_, [this](std::size_t i) { return boxed(i); });
}

/// For whoever reads them: where no member is clearly free, all are at their bounds. Returns by how
/// much that may move slopes; where it is too much (rows that differ by many decades have betas
/// that are small beside others and still count), all stay as they are.
double PathWalker::finish_betas() {
  settle_betas();
  const BoxRounding rounding = rounding_of_betas();
  double moved = 0;
  for (const std::uint32_t i : margin_.members)
    moved += std::abs(rounding.snap(boxed(i)) - beta_[i]) * root_of(i);
  moved *= std::sqrt(scale_);
  if (moved > std::max(rounding_floor(), snap_digits * target_scale_))
    return 0;
  for (const std::uint32_t i : margin_.members)
    beta_[i] = rounding.snap(boxed(i));
  return moved;
}

/// The length of an instance in feature space, from the origin.
double PathWalker::root_of(std::size_t i) const {
  return std::sqrt(std::abs(kernel_.diagonal()[i] - 2 * margin_.origin[i]));
}

double PathWalker::rounding_floor() const {
  double size = 0; // |K_ij| <= sqrt(K_ii K_jj)
  for (std::size_t i = 0; i < n_; ++i)
    if (beta_[i] != 0)
      size += std::abs(beta_[i]) * root_of(i);
  return 1e-15 * std::sqrt(scale_) * size + 1e-14 * target_scale_;
}

double PathWalker::imbalance() {
  settle_betas();
  double sum = 0, size = 0;
  for (const double b : beta_) {
    sum += b;
    size += std::abs(b);
  }
  return size > 0 ? std::abs(sum) / size : 0.0;
}

double PathWalker::past_rounding() const {
  return 1e-15 * moved_;
}

/// Of the point as it is, K beta by the residuals that the walk kept. Where their rounding, as the
/// violation shows it, could reach the digits of the objective, K beta is computed anew.
Quality PathWalker::measure() {
  const double snapped = finish_betas();
  double shift = 0, size = 0, sum = 0; // what rounding leaves of the sum counts where offsets do
  if (model_.has_equality)
    for (std::size_t i = 0; i < n_; ++i) {
      shift += kernel_.offset()[i] * beta_[i];
      sum += beta_[i];
    }
  std::vector<double> gradient(n_), lower(n_), upper(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    gradient[i] = residuals_.e[i] + (shift - bias_) + kernel_.offset()[i] * sum;
    const double c = place_[i] == Place::absent ? 0.0 : weight(i);
    lower[i] = lower_scale_[i] * c;
    upper[i] = upper_scale_[i] * c;
    size += std::abs(beta_[i]);
  }
  const BoxProblem problem{kernel_, std::span(target_).first(n_), lower, upper, model_.epsilon};
  double squares = 0; // of the instances that are present, which a matrix that grows has not alone
  for (std::size_t i = 0; i < n_; ++i)
    squares += beta_[i] * beta_[i] * std::abs(kernel_.diagonal()[i]);
  const auto quality = [&] {
    Quality found =
        measure_quality(problem, std::span(beta_).first(n_), gradient, model_.has_equality);
    if (model_.is_centred)
      found.rounding = std::numeric_limits<double>::epsilon() / 2 * std::sqrt(scale_ * squares);
    return found;
  };
  const Quality kept = quality();
  if (snapped + past_rounding() <= std::max(rounding_floor(), past_digits * target_scale_) &&
      kept.violation * size <= objective_digits * std::abs(kept.objective))
    return kept;
  multiply_betas(gradient);
  for (std::size_t i = 0; i < n_; ++i)
    gradient[i] += shift + kernel_.offset()[i] * sum - target_[i];
  return quality();
}

/// out = K beta
void PathWalker::multiply_betas(std::span<double> out) const {
  std::vector<std::size_t> support;
  std::vector<double> coefficients;
  for (std::size_t i = 0; i < n_; ++i)
    if (beta_[i] != 0) {
      support.push_back(i);
      coefficients.push_back(beta_[i]);
    }
  std::fill(out.begin(), out.end(), 0.0);
  multiply_add(kernel_, support, coefficients, out);
}

/// e = K beta + b - r, without what the targets still have to return.
void PathWalker::compute_residuals() {
  moved_ = 0;
  settle_betas();
  multiply_betas(std::span(residuals_.e).first(n_));
  for (std::size_t i = 0; i < n_; ++i)
    residuals_.e[i] += bias_ - target_[i];
}

/// h and e from nothing. Where weights are tau times their rates, as along C, so are the betas
/// beside the margin set, and K beta follows from h and the margin set's rows.
void PathWalker::compute_products() {
  moved_ = 0;
  margin_.is_carried = false;
  rates_.multiply(kernel_);
  settle_betas();
  for (std::size_t i = 0; i < n_; ++i)
    if (place_[i] != Place::margin && beta_[i] != tau_ * rates_.rate[i])
      return compute_residuals();
  for (std::size_t i = 0; i < n_; ++i)
    residuals_.e[i] = tau_ * rates_.h[i] + bias_ - target_[i];
  std::vector<double> coefficients;
  for (const std::uint32_t i : margin_.members)
    coefficients.push_back(beta_[i]);
  for (std::size_t at = 0; at < margin_.members.size(); at += simd::max_rows_at_once)
    add_rows<double>(margin_.pointers.data() + at, coefficients.data() + at,
                     std::min(simd::max_rows_at_once, margin_.members.size() - at), n_,
                     residuals_.e.data());
}

void PathWalker::renew(PathStatus& status) {
  residuals_.step_left = 0; // residuals come from nothing
  ++counts_.n_refreshes;
  status = build_factor();
  compute_products();
  if (has_return_)
    for (std::size_t i = 0; i < n_; ++i)
      residuals_.e[i] -= residuals_.give_back[i] * (walk_end_ - tau_);
  correct_members();
  hand_drift_to_targets();
}

/// Everybody gets a target with which it is optimal where it is; the difference goes back, evenly,
/// by the end of the walk. Differences of rounding size are left: they would make ties of noise.
void PathWalker::hand_drift_to_targets() {
  needs_correction_ = margin_.is_carried = false;
  const double floor = rounding_floor();
  const double time_left = walk_end_ - tau_;
  if (model_.has_equality) {
    if (!margin_.members.empty()) {
      recentre_bias();
    } else {
      double least = -infinity, most = infinity;
      for (std::size_t i = 0; i < n_; ++i) {
        least = std::max(least, residuals_.lo[i] - residuals_.e[i]);
        most = std::min(most, residuals_.hi[i] - residuals_.e[i]);
      }
      const double shift = least > most ? (least + most) / 2 : std::clamp(0.0, least, most);
      bias_ += shift;
      for (double& e : residuals_.e)
        e += shift;
    }
    double sum = 0, size = 0;
    for (const double b : beta_) {
      sum += b;
      size += std::abs(b);
    }
    sum_return_ = std::abs(sum) > 1e-15 * size ? -sum / time_left : 0.0;
  }
  for (std::size_t i = 0; i < n_; ++i) {
    const double wanted = place_[i] == Place::margin
                              ? margin_of(i)
                              : std::clamp(residuals_.e[i], residuals_.lo[i], residuals_.hi[i]);
    const double shift = wanted - residuals_.e[i];
    if (std::abs(shift) > floor) {
      residuals_.give_back[i] -= shift / time_left;
      has_return_ = true;
      residuals_.e[i] = wanted;
    } else if (place_[i] == Place::margin) {
      residuals_.e[i] = wanted;
    }
  }
}

double PathWalker::refresh() {
  ++counts_.n_refreshes;
  if (counts_.n_updates - updates_at_refresh_ > updates_alone &&
      build_factor() != PathStatus::arrived)
    return infinity;
  compute_products();
  correct_members();
  needs_correction_ = true;
  double low = -infinity, high = infinity; // what the bias may be moved by
  for (std::size_t i = 0; i < n_; ++i) {
    const bool is_member = place_[i] == Place::margin;
    low = std::max(low, (is_member ? margin_of(i) : residuals_.lo[i]) - residuals_.e[i]);
    high = std::min(high, (is_member ? margin_of(i) : residuals_.hi[i]) - residuals_.e[i]);
  }
  if (!model_.has_equality)
    return std::max({0.0, low, -high});
  // Where the sum is off, so are slopes, by kernel values.
  const double sum = ALPHAPATH_DISPATCH(sum_of)(beta_.data(), width_);
  return std::max({0.0, low - high, scale_ * std::abs(sum)});
}

} // namespace alphapath
