// Where a path begins and what it aims at.

#include "path_walker.hpp"

#include "dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t n_origins_tried = 16;

} // namespace

PathWalker::PathWalker(const KernelRows& kernel, const PathModel& model)
    : kernel_(kernel), model_(model) {
  grow();
}

void PathWalker::grow() {
  n_ = kernel_.size();
  followed_ = width_ = kernel_.stride();
  for (auto* v : {&target_, &lower_scale_, &upper_scale_, &c0_, &dc_, &beta_, &drive_end_, &e_,
                  &de_, &h_, &rate_, &return_, &origin_})
    v->resize(width_, 0.0);
  lo_.resize(width_, -infinity);
  hi_.resize(width_, infinity);
  place_.resize(width_, Place::absent);
  side_.resize(width_, 1);
  // The rows of a kernel that grew are elsewhere now.
  for (std::size_t k = 0; k < members_.size(); ++k) {
    rows_[k] = kernel_.row(members_[k]);
    row_pointers_[k] = static_cast<const double*>(rows_[k].data);
  }
}

void PathWalker::define(std::span<const std::size_t> instances, std::span<const double> targets,
                        std::span<const double> lower_scale, std::span<const double> upper_scale) {
  settle_betas();
  last_h_.clear(); // a slot may hold another instance now
  const bool is_begun =
      std::any_of(beta_.begin(), beta_.end(), [](double beta) { return beta != 0; });
  for (std::size_t k = 0; k < instances.size(); ++k) {
    const std::size_t i = instances[k];
    target_[i] = targets[k];
    lower_scale_[i] = lower_scale[k];
    upper_scale_[i] = upper_scale[k];
    c0_[i] = dc_[i] = beta_[i] = 0;
    set_place(i, Place::absent);
    e_[i] = bias_ - targets[k];
    if (!is_begun)
      continue;
    const KernelRow pin = kernel_.row(i);
    const double* row = static_cast<const double*>(pin.data);
    e_[i] = std::inner_product(beta_.begin(), beta_.end(), row, e_[i]);
  }
}

/// What rounding is relative to: of the instances that are present alone.
void PathWalker::measure_scales() {
  target_scale_ = 0;
  scale_ = 0;
  for (std::size_t i = 0; i < n_; ++i)
    if (place_[i] != Place::absent) {
      target_scale_ = std::max(target_scale_, std::abs(target_[i]));
      scale_ = std::max(scale_, std::abs(kernel_.diagonal()[i] - 2 * origin_[i]));
    }
  if (target_scale_ == 0)
    target_scale_ = 1;
}

void PathWalker::set_place(std::size_t i, Place place) {
  place_[i] = place;
  lo_[i] = -infinity;
  hi_[i] = infinity;
  if (place == Place::outside) {
    lo_[i] = upper_scale_[i] > 0 ? -model_.epsilon : -infinity;
    hi_[i] = lower_scale_[i] < 0 ? model_.epsilon : infinity;
  } else if (place != Place::margin && place != Place::absent) {
    // What is driven to 0 is on its way out, and no condition holds for it.
    const bool is_leaving = place == Place::driven && drive_end_[i] == 0;
    const bool is_above = place == Place::driven ? side_[i] > 0 : place == Place::above;
    if (is_above && !is_leaving)
      hi_[i] = -model_.epsilon;
    else if (!is_leaving)
      lo_[i] = model_.epsilon;
  }
  write_change(i);
}

/// Moves the origin of feature space to one instance near the middle: a kernel stored as expm1 is
/// definite only on sum = 0, and one stored about a far origin loses digits.
void PathWalker::choose_origin() {
  if (!model_.has_equality || model_.is_centred) {
    std::fill(origin_.begin(), origin_.end(), 0.0);
  } else {
    double least = infinity;
    std::size_t chosen = 0;
    const std::size_t stride = std::max<std::size_t>(1, n_ / n_origins_tried);
    for (std::size_t i = 0; i < n_; i += stride) {
      const KernelRow pin = kernel_.row(i);
      const double* row = static_cast<const double*>(pin.data);
      const double sum = ALPHAPATH_DISPATCH(sum_of)(row, width_);
      const double distance = kernel_.diagonal()[i] - 2 * sum / static_cast<double>(n_);
      if (distance < least) {
        least = distance;
        chosen = i;
      }
    }
    const KernelRow pin = kernel_.row(chosen);
    const double* row = static_cast<const double*>(pin.data);
    for (std::size_t i = 0; i < n_; ++i)
      origin_[i] = row[i] - kernel_.diagonal()[chosen] / 2;
  }
  double sum = 0;
  std::size_t n_used = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    if (place_[i] != Place::absent) {
      sum += kernel_.diagonal()[i] - 2 * origin_[i];
      ++n_used;
    }
  }
  sigma_ = 0;
  if (model_.has_equality)
    sigma_ = n_used > 0 && sum > 0 ? sum / static_cast<double>(n_used) : 1.0;
}

PathStatus PathWalker::start(std::span<const double> beta, std::span<const double> weights) {
  std::copy(beta.begin(), beta.end(), beta_.begin());
  std::copy(weights.begin(), weights.end(), c0_.begin());
  std::fill(dc_.begin(), dc_.end(), 0.0);
  std::fill(rate_.begin(), rate_.end(), 0.0);
  std::fill(h_.begin(), h_.end(), 0.0);
  std::fill(return_.begin(), return_.end(), 0.0);
  rates_size_ = largest_rates_ = 0;
  n_moving_ = 0;
  has_return_ = false;
  has_moving_bounds_ = false;
  tau_ = bias_ = 0;
  members_.clear();
  rows_.clear();
  row_pointers_.clear();
  driven_.clear();
  for (std::size_t i = 0; i < n_; ++i) {
    const double lower = lower_scale_[i] * weights[i], upper = upper_scale_[i] * weights[i];
    side_[i] = beta[i] < 0 || (beta[i] == 0 && upper == 0) ? -1 : 1;
    if (!(weights[i] > 0))
      set_place(i, Place::absent);
    else if (beta[i] == 0 && !is_one_piece(i))
      set_place(i, Place::outside);
    else if (beta[i] == upper || beta[i] == lower)
      set_place(i, beta[i] == upper ? Place::above : Place::below);
    else
      set_place(i, Place::margin);
    if (place_[i] == Place::margin) {
      members_.push_back(static_cast<std::uint32_t>(i));
      rows_.push_back(kernel_.row(i));
      row_pointers_.push_back(static_cast<const double*>(rows_.back().data));
    }
  }
  choose_origin();
  measure_scales();
  const PathStatus status = build_factor();
  compute_residuals();
  needs_correction_ = true;
  return status;
}

void PathWalker::aim(std::span<const double> c0, std::span<const double> dc, double from) {
  settle_betas();
  if (n_moving_ > 0)
    keep_rates();
  tau_ = from;
  std::copy(c0.begin(), c0.end(), c0_.begin());
  std::copy(dc.begin(), dc.end(), dc_.begin());
  has_moving_bounds_ = std::any_of(dc.begin(), dc.end(), [](double rate) { return rate != 0; });
  for (std::size_t i = 0; i < n_; ++i) {
    rate_[i] = 0;
    if (place_[i] == Place::absent && dc[i] > 0) {
      const bool rises = e_[i] < -model_.epsilon && upper_scale_[i] > 0;
      const bool falls = e_[i] > model_.epsilon && lower_scale_[i] < 0;
      set_place(i, rises ? Place::above : falls ? Place::below : Place::outside);
    }
    if (place_[i] == Place::above)
      rate_[i] = upper_scale_[i] * dc[i];
    else if (place_[i] == Place::below)
      rate_[i] = lower_scale_[i] * dc[i];
  }
  measure_scales();
  if (!has_moving_bounds_ || !scale_rates())
    multiply_rates();
}

bool PathWalker::can_drive(std::span<const std::size_t> adds, std::span<const double> weights,
                           std::span<const std::size_t> removes) const {
  std::ptrdiff_t n_rising = 0, n_falling = 0;
  const auto count = [&](std::size_t i, std::ptrdiff_t change) {
    n_rising += upper_scale_[i] > 0 ? change : 0;
    n_falling += lower_scale_[i] < 0 ? change : 0;
  };
  for (std::size_t i = 0; i < n_; ++i)
    if (place_[i] != Place::absent)
      count(i, 1);
  if (n_rising == 0 || n_falling == 0)
    return false;
  for (const std::size_t i : removes)
    count(i, -1);
  for (std::size_t k = 0; k < adds.size(); ++k)
    count(adds[k], weights[k] > 0 ? 1 : 0);
  return n_rising > 0 && n_falling > 0;
}

void PathWalker::drive(std::span<const std::size_t> adds, std::span<const double> weights,
                       std::span<const std::size_t> removes) {
  const double time = 1 - tau_;
  drive_begin_ = tau_;
  std::vector<std::size_t> moved;
  std::vector<double> rates;
  const auto move = [&](std::size_t i, double rate) {
    moved.push_back(i);
    rates.push_back(rate);
  };
  for (std::size_t k = 0; k < adds.size(); ++k) {
    const std::size_t i = adds[k];
    c0_[i] = weights[k];
    if (!(weights[k] > 0))
      continue;
    const bool rises = e_[i] < -model_.epsilon && upper_scale_[i] > 0;
    const bool falls = e_[i] > model_.epsilon && lower_scale_[i] < 0;
    if (!rises && !falls) {
      set_place(i, Place::outside);
      continue;
    }
    side_[i] = rises ? 1 : -1;
    drive_end_[i] = (rises ? upper_scale_[i] : lower_scale_[i]) * weights[k];
    set_place(i, Place::driven);
    move(i, drive_end_[i] / time);
    driven_.push_back(i);
  }
  for (const std::size_t i : removes) {
    settle_beta(i);
    const auto at = std::find(members_.begin(), members_.end(), i);
    if (at != members_.end()) // without a factor not all on the margin are members
      take_out(static_cast<std::size_t>(at - members_.begin()));
    c0_[i] = dc_[i] = drive_end_[i] = 0;
    set_place(i, beta_[i] == 0 ? Place::absent : Place::driven);
    move(i, -beta_[i] / time);
    if (beta_[i] != 0)
      driven_.push_back(i);
  }
  measure_scales();
  set_rates(moved, rates);
}

} // namespace alphapath
