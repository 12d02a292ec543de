// Where a path begins, what it aims at, and what is computed from scratch.

#include "path_walker.hpp"

#include "dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double least_start_pivot = 1e-12;
constexpr std::size_t n_origins_tried = 16;

} // namespace

PathWalker::PathWalker(const KernelRows& kernel, const PathModel& model)
    : kernel_(kernel), model_(model) {
  grow();
}

void PathWalker::grow() {
  n_ = kernel_.size();
  width_ = kernel_.stride();
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
  for (std::size_t k = 0; k < instances.size(); ++k) {
    const std::size_t i = instances[k];
    target_[i] = targets[k];
    lower_scale_[i] = lower_scale[k];
    upper_scale_[i] = upper_scale[k];
    c0_[i] = dc_[i] = beta_[i] = 0;
    set_place(i, Place::absent);
    const KernelRow pin = kernel_.row(i);
    const double* row = static_cast<const double*>(pin.data);
    e_[i] = std::inner_product(beta_.begin(), beta_.end(), row, bias_ - targets[k]);
  }
  target_scale_ = 0;
  scale_ = 0;
  for (std::size_t i = 0; i < n_; ++i) {
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

void PathWalker::set_rate(std::size_t i, double rate) {
  const double change = rate - rate_[i];
  if (change == 0)
    return;
  n_moving_ += static_cast<std::size_t>(rate != 0);
  n_moving_ -= static_cast<std::size_t>(rate_[i] != 0);
  rates_size_ += std::abs(rate) - std::abs(rate_[i]);
  rate_[i] = rate;
  if (n_moving_ == 0) { // exactly, not to rounding
    rates_size_ = 0;
    std::fill(h_.begin(), h_.end(), 0.0);
    return;
  }
  const KernelRow pin = kernel_.row(i);
  const double* row = static_cast<const double*>(pin.data);
  add_rows<double>(&row, &change, 1, width_, h_.data());
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
      const double sum = std::accumulate(row, row + n_, 0.0);
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
  scale_ = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    const double own = kernel_.diagonal()[i] - 2 * origin_[i];
    scale_ = std::max(scale_, own);
    if (place_[i] != Place::absent) {
      sum += own;
      ++n_used;
    }
  }
  sigma_ = 0;
  if (model_.has_equality)
    sigma_ = n_used > 0 && sum > 0 ? sum / static_cast<double>(n_used) : 1.0;
}

PathStatus PathWalker::build_factor() {
  updates_at_refresh_ = counts_.n_updates;
  const std::size_t m = members_.size();
  const bool is_sound = factor_.assign(m, least_start_pivot, [&](std::size_t c, double* out) {
    for (std::size_t r = c; r < m; ++r)
      out[r] = block_value(row_of(c), members_[c], members_[r]);
  });
  if (is_sound)
    return PathStatus::arrived;
  // Some depend on others: one by one, and those that do move to a bound.
  std::vector<std::uint32_t> queue;
  std::swap(queue, members_);
  rows_.clear();
  row_pointers_.clear();
  factor_.clear();
  for (const std::uint32_t i : queue) {
    const PathStatus status = insert(i, beta_[i] > 0);
    if (status != PathStatus::arrived)
      return status;
  }
  updates_at_refresh_ = counts_.n_updates;
  return PathStatus::arrived;
}

double PathWalker::driven_beta(std::size_t i) const {
  return drive_end_[i] - rate_[i] * (1 - tau_);
}

/// Betas of bounded and driven instances follow from tau; between events nobody needs them.
void PathWalker::settle_beta(std::size_t i) {
  if (place_[i] == Place::margin) {
    const Bounds b = bounds_of(i, side_[i]);
    beta_[i] = std::clamp(beta_[i], b.lower, b.upper);
  } else if (place_[i] == Place::above) {
    beta_[i] = upper_scale_[i] * weight(i);
  } else if (place_[i] == Place::below) {
    beta_[i] = lower_scale_[i] * weight(i);
  } else {
    beta_[i] = place_[i] == Place::driven ? driven_beta(i) : 0.0;
  }
}

void PathWalker::settle_betas() {
  for (std::size_t i = 0; i < n_; ++i)
    settle_beta(i);
}

double PathWalker::rounding_floor() const {
  double size = 0;
  for (const double b : beta_)
    size += std::abs(b);
  return 1e-15 * scale_ * size + 1e-14 * target_scale_;
}

/// e = K beta + b - r, without what the targets still have to return.
void PathWalker::compute_residuals() {
  settle_betas();
  std::vector<std::size_t> support;
  std::vector<double> coefficients;
  for (std::size_t i = 0; i < n_; ++i)
    if (beta_[i] != 0) {
      support.push_back(i);
      coefficients.push_back(beta_[i]);
    }
  std::fill(e_.begin(), e_.end(), 0.0);
  multiply_add(kernel_, support, coefficients, std::span(e_).first(n_));
  for (std::size_t i = 0; i < n_; ++i)
    e_[i] += bias_ - target_[i];
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
  std::fill(h_.begin(), h_.end(), 0.0);
  multiply_add(kernel_, moving, rates, std::span(h_).first(n_));
}

void PathWalker::renew(PathStatus& status) {
  ++counts_.n_refreshes;
  status = build_factor();
  compute_residuals();
  multiply_rates();
  if (has_return_)
    for (std::size_t i = 0; i < n_; ++i)
      e_[i] -= return_[i] * (walk_end_ - tau_);
  hand_drift_to_targets();
}

/// Everybody gets a target with which it is optimal where it is; the difference goes back, evenly,
/// by the end of the walk. Differences of rounding size are left: they would make ties of noise.
void PathWalker::hand_drift_to_targets() {
  needs_correction_ = false;
  const double floor = rounding_floor();
  const double time_left = walk_end_ - tau_;
  if (model_.has_equality) {
    if (!members_.empty()) {
      recentre_bias();
    } else {
      double least = -infinity, most = infinity;
      for (std::size_t i = 0; i < n_; ++i) {
        least = std::max(least, lo_[i] - e_[i]);
        most = std::min(most, hi_[i] - e_[i]);
      }
      const double shift = least > most ? (least + most) / 2 : std::clamp(0.0, least, most);
      bias_ += shift;
      for (double& e : e_)
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
    const double wanted =
        place_[i] == Place::margin ? margin_of(i) : std::clamp(e_[i], lo_[i], hi_[i]);
    const double shift = wanted - e_[i];
    if (std::abs(shift) > floor) {
      return_[i] -= shift / time_left;
      has_return_ = true;
      e_[i] = wanted;
    } else if (place_[i] == Place::margin) {
      e_[i] = wanted;
    }
  }
}

double PathWalker::refresh() {
  ++counts_.n_refreshes;
  compute_residuals();
  multiply_rates();
  needs_correction_ = true;
  double low = -infinity, high = infinity; // what the bias may be moved by
  for (std::size_t i = 0; i < n_; ++i) {
    const bool is_member = place_[i] == Place::margin;
    low = std::max(low, (is_member ? margin_of(i) : lo_[i]) - e_[i]);
    high = std::min(high, (is_member ? margin_of(i) : hi_[i]) - e_[i]);
  }
  if (!model_.has_equality)
    return std::max({0.0, low, -high});
  return std::max(0.0, low - high);
}

PathStatus PathWalker::start(std::span<const double> beta, std::span<const double> weights) {
  std::copy(beta.begin(), beta.end(), beta_.begin());
  std::copy(weights.begin(), weights.end(), c0_.begin());
  std::fill(dc_.begin(), dc_.end(), 0.0);
  std::fill(rate_.begin(), rate_.end(), 0.0);
  std::fill(h_.begin(), h_.end(), 0.0);
  std::fill(return_.begin(), return_.end(), 0.0);
  rates_size_ = 0;
  n_moving_ = 0;
  has_return_ = false;
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
  const PathStatus status = build_factor();
  compute_residuals();
  needs_correction_ = true;
  return status;
}

void PathWalker::aim(std::span<const double> c0, std::span<const double> dc, double from) {
  settle_betas();
  tau_ = from;
  std::copy(c0.begin(), c0.end(), c0_.begin());
  std::copy(dc.begin(), dc.end(), dc_.begin());
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
  multiply_rates();
}

void PathWalker::drive(std::span<const std::size_t> adds, std::span<const double> weights,
                       std::span<const std::size_t> removes) {
  const double time = 1 - tau_;
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
    set_rate(i, drive_end_[i] / time);
    driven_.push_back(i);
  }
  for (const std::size_t i : removes) {
    settle_beta(i);
    if (place_[i] == Place::margin)
      take_out(static_cast<std::size_t>(std::find(members_.begin(), members_.end(), i) -
                                        members_.begin()));
    c0_[i] = dc_[i] = drive_end_[i] = 0;
    set_place(i, beta_[i] == 0 ? Place::absent : Place::driven);
    set_rate(i, -beta_[i] / time);
    if (beta_[i] != 0)
      driven_.push_back(i);
  }
}

} // namespace alphapath
