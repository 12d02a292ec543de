#include "path/walker.hpp"

#include "base/dispatch.hpp"
#include "simd/path_loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t n_origins_tried = 16;

// Updates of the factor after which it and the residuals are computed anew.
constexpr std::int64_t updates_between_refreshes = 400;
// A residual of the linear solve, relative to its terms, at which the factor is no longer trusted.
constexpr double unsound_residual = 1e-11;

} // namespace

PathWalker::PathWalker(const KernelRows& kernel, const PathModel& model)
    : kernel_(kernel), model_(model) {
  grow();
}

void PathWalker::grow() {
  n_ = kernel_.size();
  residuals_.n_followed = width_ = kernel_.stride();
  for (auto* v :
       {&target_, &lower_scale_, &upper_scale_, &c0_, &dc_, &beta_, &drive_end_, &residuals_.e,
        &residuals_.rate, &rates_.h, &rates_.rate, &residuals_.give_back, &margin_.origin})
    v->resize(width_, 0.0);
  residuals_.lo.resize(width_, -infinity);
  residuals_.hi.resize(width_, infinity);
  place_.resize(width_, Place::absent);
  side_.resize(width_, 1);
  margin_.find_rows(kernel_);
}

void PathWalker::define(std::span<const std::size_t> instances, std::span<const double> targets,
                        std::span<const double> lower_scale, std::span<const double> upper_scale) {
  settle_betas();
  rates_.forget(); // a slot may hold another instance now
  const bool is_begun =
      std::any_of(beta_.begin(), beta_.end(), [](double beta) { return beta != 0; });
  for (std::size_t k = 0; k < instances.size(); ++k) {
    const std::size_t i = instances[k];
    target_[i] = targets[k];
    lower_scale_[i] = lower_scale[k];
    upper_scale_[i] = upper_scale[k];
    c0_[i] = dc_[i] = beta_[i] = 0;
    set_place(i, Place::absent);
    residuals_.e[i] = bias_ - targets[k];
    if (!is_begun)
      continue;
    const KernelRow pin = kernel_.row(i);
    const double* row = static_cast<const double*>(pin.data);
    residuals_.e[i] = std::inner_product(beta_.begin(), beta_.end(), row, residuals_.e[i]);
  }
}

/// What rounding is relative to: of the instances that are present alone.
void PathWalker::measure_scales() {
  target_scale_ = 0;
  scale_ = 0;
  for (std::size_t i = 0; i < n_; ++i)
    if (place_[i] != Place::absent) {
      target_scale_ = std::max(target_scale_, std::abs(target_[i]));
      scale_ = std::max(scale_, std::abs(kernel_.diagonal()[i] - 2 * margin_.origin[i]));
    }
  if (target_scale_ == 0)
    target_scale_ = 1;
}

void PathWalker::set_place(std::size_t i, Place place) {
  place_[i] = place;
  residuals_.lo[i] = -infinity;
  residuals_.hi[i] = infinity;
  if (place == Place::outside) {
    residuals_.lo[i] = upper_scale_[i] > 0 ? -model_.epsilon : -infinity;
    residuals_.hi[i] = lower_scale_[i] < 0 ? model_.epsilon : infinity;
  } else if (place != Place::margin && place != Place::absent) {
    // What is driven to 0 is on its way out, and no condition holds for it.
    const bool is_leaving = place == Place::driven && drive_end_[i] == 0;
    const bool is_above = place == Place::driven ? side_[i] > 0 : place == Place::above;
    if (is_above && !is_leaving)
      residuals_.hi[i] = -model_.epsilon;
    else if (!is_leaving)
      residuals_.lo[i] = model_.epsilon;
  }
  write_change(i);
}

/// Moves the origin of feature space to one instance near the middle: a kernel stored as expm1 is
/// definite only on sum = 0, and one stored about a far origin loses digits.
void PathWalker::choose_origin() {
  if (!model_.has_equality || model_.is_centred) {
    std::fill(margin_.origin.begin(), margin_.origin.end(), 0.0);
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
      margin_.origin[i] = row[i] - kernel_.diagonal()[chosen] / 2;
  }
  double sum = 0;
  std::size_t n_used = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    if (place_[i] != Place::absent) {
      sum += kernel_.diagonal()[i] - 2 * margin_.origin[i];
      ++n_used;
    }
  }
  margin_.sigma = 0;
  if (model_.has_equality)
    margin_.sigma = n_used > 0 && sum > 0 ? sum / static_cast<double>(n_used) : 1.0;
}

PathStatus PathWalker::start(std::span<const double> beta, std::span<const double> weights) {
  std::copy(beta.begin(), beta.end(), beta_.begin());
  std::copy(weights.begin(), weights.end(), c0_.begin());
  std::fill(dc_.begin(), dc_.end(), 0.0);
  rates_.clear();
  std::fill(residuals_.give_back.begin(), residuals_.give_back.end(), 0.0);
  has_return_ = false;
  has_moving_bounds_ = false;
  tau_ = bias_ = 0;
  margin_.clear();
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
      margin_.append(i, kernel_.row(i));
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
  if (rates_.n_moving > 0)
    rates_.keep();
  tau_ = from;
  std::copy(c0.begin(), c0.end(), c0_.begin());
  std::copy(dc.begin(), dc.end(), dc_.begin());
  has_moving_bounds_ = std::any_of(dc.begin(), dc.end(), [](double rate) { return rate != 0; });
  for (std::size_t i = 0; i < n_; ++i) {
    rates_.rate[i] = 0;
    if (place_[i] == Place::absent && dc[i] > 0) {
      const bool rises = residuals_.e[i] < -model_.epsilon && upper_scale_[i] > 0;
      const bool falls = residuals_.e[i] > model_.epsilon && lower_scale_[i] < 0;
      set_place(i, rises ? Place::above : falls ? Place::below : Place::outside);
    }
    if (place_[i] == Place::above)
      rates_.rate[i] = upper_scale_[i] * dc[i];
    else if (place_[i] == Place::below)
      rates_.rate[i] = lower_scale_[i] * dc[i];
  }
  measure_scales();
  margin_.is_carried = false;
  if (!has_moving_bounds_ || !rates_.scale(kernel_))
    rates_.multiply(kernel_);
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
    const bool rises = residuals_.e[i] < -model_.epsilon && upper_scale_[i] > 0;
    const bool falls = residuals_.e[i] > model_.epsilon && lower_scale_[i] < 0;
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
    const auto at = std::find(margin_.members.begin(), margin_.members.end(), i);
    if (at != margin_.members.end()) // without a factor not all on the margin are members
      take_out(static_cast<std::size_t>(at - margin_.members.begin()));
    c0_[i] = dc_[i] = drive_end_[i] = 0;
    set_place(i, beta_[i] == 0 ? Place::absent : Place::driven);
    move(i, -beta_[i] / time);
    if (beta_[i] != 0)
      driven_.push_back(i);
  }
  measure_scales();
  set_rates(moved, rates);
}

PathWalker::Bounds PathWalker::bounds_of(std::size_t i, double side) const {
  const double c = weight(i), dc = dc_[i];
  const bool is_whole = is_one_piece(i); // no branches: sides follow no order
  const double lower = is_whole | (side < 0) ? lower_scale_[i] : 0.0;
  const double upper = is_whole | (side > 0) ? upper_scale_[i] : 0.0;
  return {lower * c, upper * c, lower * dc, upper * dc};
}

double PathWalker::sum_of_rates() const {
  return near_.far_rates + ALPHAPATH_DISPATCH(sum_of)(rates_.rate.data(), width_);
}

/// Whether nothing moves: no beta, no bound, no target.
bool PathWalker::is_still() const {
  return rates_.n_moving == 0 && !has_moving_bounds_ && !has_return_ && sum_return_ == 0;
}

PathWalker::Event PathWalker::next_event(double limit) const {
  Event event;
  event.step = limit;
  double best_rate = 0;
  // Most are out of reach, which takes no division to see.
  double reach = std::min(limit, direction_.crossing.step) * (1 + relative_noise);
  const auto consider = [&](std::size_t k, double room, double rate, bool is_up) {
    const double step = std::max(room, 0.0) / rate;
    if (step > event.step ||
        (step == event.step && event.kind == Event::leaves && rate <= best_rate))
      return;
    event = {Event::leaves, step, 0, k, is_up};
    reach = std::min(reach, step * (1 + relative_noise));
    best_rate = rate;
  };
  for (std::size_t k = 0; k < margin_.members.size(); ++k) {
    const std::size_t i = margin_.members[k];
    const Bounds b = bounds_of(i, side_[i]);
    const double up = direction_.beta[k] - b.upper_rate, down = b.lower_rate - direction_.beta[k];
    const double above = b.upper - beta_[i], below = beta_[i] - b.lower;
    if ((up > direction_.beta_noise) & (above <= reach * up))
      consider(k, above, up, true);
    if ((down > direction_.beta_noise) & (below <= reach * down))
      consider(k, below, down, false);
  }
  if (!(direction_.crossing.step < event.step))
    return event;
  return {Event::enters, direction_.crossing.step, direction_.crossing.index, 0,
          residuals_.rate[direction_.crossing.index] > 0};
}

/// Residuals follow in the next pass over them.
void PathWalker::advance(double step) {
  residuals_.step_left = step;
  moved_ += step * direction_.size * scale_;
  for (std::size_t k = 0; k < margin_.members.size(); ++k)
    beta_[margin_.members[k]] += step * direction_.beta[k];
  bias_ += step * direction_.bias;
  tau_ += step;
}

void PathWalker::write_change(std::size_t i) {
  if (recorder_.is_on())
    recorder_.write_change(instance(i), place_[i]);
}

void PathWalker::score(std::span<const std::size_t> rows, std::span<const double> shares,
                       Metric metric) {
  recorder_.score(rows, shares, metric, std::span(target_).first(n_));
}

bool PathWalker::must_end(PathStatus& status, std::int64_t max_events, Watch& watch) const {
  if (counts_.n_events >= max_events) {
    status = PathStatus::event_limit;
    return true;
  }
  if (watch.should_stop()) {
    status = watch.is_interrupted() ? PathStatus::interrupted : PathStatus::time_limit;
    return true;
  }
  return status != PathStatus::arrived;
}

PathStatus PathWalker::walk(double to, std::int64_t max_events, Watch& watch) {
  return walk_past({&to, 1}, max_events, max_events, watch);
}

PathStatus PathWalker::walk_past(std::span<const double> stops, std::int64_t events_alone,
                                 std::int64_t max_events, Watch& watch) {
  if (!is_definite_)
    return PathStatus::not_definite;
  const std::int64_t n_before = counts_.n_events;
  double to = walk_end_ = stops.front();
  n_idle_ = 0;
  if (needs_correction_)
    hand_drift_to_targets();
  PathStatus status = PathStatus::arrived;
  if (is_still() && !recorder_.is_on()) {
    tau_ = to;
    arrive();
    return status;
  }
  local_walk_.begin();
  while (!must_end(status, max_events, watch)) {
    while (stops.size() > 1 && stops.front() <= tau_)
      stops = stops.subspan(1);
    recorder_.drop_pieces();
    walk_end_ = stops.front();
    const bool must_stop =
        has_return_ || sum_return_ != 0 || counts_.n_events - n_before >= events_alone;
    to = must_stop ? walk_end_ : stops.back();
    if (margin_.members.empty() && model_.has_equality && !jump_bias(status))
      return PathStatus::unbounded;
    Turn turn = Turn::goes_on;
    if (!local_walk_.take_rates())
      turn = take_turn(to, status);
    if (turn == Turn::goes_on && local_walk_.is_due())
      turn = local_walk_.run(*this, to, {status, max_events, watch});
    if (turn == Turn::ends) {
      residuals_.settle();
      tau_ = to;
      arrive();
      return PathStatus::arrived;
    }
    if (n_idle_ > max_idle)
      ramp();
    if (turn == Turn::needs_renewal)
      renew(status);
  }
  residuals_.settle();
  return status;
}

/// One direction followed to its event, and that done.
Turn PathWalker::take_turn(double to, PathStatus& status) {
  find_direction(to - tau_);
  if (direction_.residual_noise > unsound_residual * scale_ * direction_.size &&
      counts_.n_updates > updates_at_refresh_)
    return Turn::needs_renewal;
  Event event = next_event(to - tau_);
  if (near_.kernel != nullptr && needs_others(event.step)) {
    near_.needs_all = true;
    return Turn::goes_on;
  }
  if (needs_refinement(event.step)) {
    refine_direction(to - tau_);
    event = next_event(to - tau_);
  }
  if (near_.kernel != nullptr && event.kind != Event::none) {
    const std::size_t i =
        event.kind == Event::enters ? event.instance : margin_.members[event.position];
    kernel_.prefetch({&i, 1});
  }
  if (tau_ + event.step > tau_) {
    write_piece(event.step);
    advance(event.step);
    ++counts_.n_steps;
    n_idle_ = 0;
  } else {
    ++n_idle_;
  }
  if (event.kind == Event::none)
    return Turn::ends;
  ++counts_.n_events;
  if (event.kind == Event::leaves)
    leave(event.position, event.is_up);
  else
    status = enter(event.instance, event.is_up);
  return counts_.n_updates - updates_at_refresh_ > updates_between_refreshes ? Turn::needs_renewal
                                                                             : Turn::goes_on;
}

} // namespace alphapath
