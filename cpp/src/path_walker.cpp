#include "path_walker.hpp"

#include "dispatch.hpp"
#include "simd/path_loops.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace alphapath {

namespace {

// Updates of the factor after which it and the residuals are computed anew.
constexpr std::int64_t updates_between_refreshes = 400;
// A residual of the linear solve, relative to its terms, at which the factor is no longer trusted.
constexpr double unsound_residual = 1e-11;
// Turns through which the half-solved right-hand side is carried before it is computed anew.
constexpr int turns_carried = 64;

} // namespace

PathWalker::Bounds PathWalker::bounds_of(std::size_t i, double side) const {
  const double c = weight(i), dc = dc_[i];
  const bool is_whole = is_one_piece(i); // no branches: sides follow no order
  const double lower = is_whole | (side < 0) ? lower_scale_[i] : 0.0;
  const double upper = is_whole | (side > 0) ? upper_scale_[i] : 0.0;
  return {lower * c, upper * c, lower * dc, upper * dc};
}

double PathWalker::sum_of_rates() const {
  return far_rates_ + ALPHAPATH_DISPATCH(sum_of)(rate_.data(), width_);
}

/// Whether nothing moves: no beta, no bound, no target.
bool PathWalker::is_still() const {
  return n_moving_ == 0 && !has_moving_bounds_ && !has_return_ && sum_return_ == 0;
}

/// The rates of betas, bias and residuals, and the first residual that leaves its interval before
/// `limit`.
void PathWalker::find_direction(double limit) {
  const std::size_t m = members_.size();
  dbias_ = 0;
  dbeta_.resize(m);
  direction_size_ = rates_size_;
  if (m > 0) {
    // Where rates became small, what is carried has the rounding of larger ones.
    is_carried_ &= n_carried_ < turns_carried && rates_size_ >= carried_size_ / 2;
    double total = 0;
    if (model_.has_equality)
      total = is_carried_ ? carried_total_ : sum_return_ - sum_of_rates();
    if (!is_carried_) {
      for (std::size_t k = 0; k < m; ++k) {
        const std::size_t i = members_[k];
        dbeta_[k] = -h_[i] - return_[i] - origin_[i] * total;
      }
      factor_.carry(dbeta_);
      is_carried_ = true;
      carried_total_ = total;
      carried_size_ = rates_size_;
      n_carried_ = 0;
    }
    ++n_carried_;
    if (model_.has_equality)
      dbias_ = factor_.solve_bordered(dbeta_, total) + sigma_ * total;
    else
      factor_.solve(dbeta_);
    const simd::PickedSums sums =
        ALPHAPATH_DISPATCH(sum_picked)(origin_.data(), members_.data(), dbeta_.data(), m);
    dbias_ -= sums.product;
    direction_size_ += sums.size;
  }
  find_crossing(limit);
}

/// The rates of residuals, and who leaves its interval first, by the rates of betas and bias.
void PathWalker::find_crossing(double limit) {
  const std::size_t m = members_.size();
  noise_ = relative_noise * scale_ * direction_size_;
  crossing_ = ALPHAPATH_DISPATCH(sweep)({h_.data(), has_return_ ? return_.data() : nullptr, dbias_,
                                         row_pointers_.data(), dbeta_.data(), m},
                                        std::exchange(step_left_, 0.0), intervals(), followed_,
                                        noise_, limit, de_.data());
  // Of members that are not followed the rate stays 0.
  residual_noise_ = ALPHAPATH_DISPATCH(largest_picked)(de_.data(), members_.data(), m);
  beta_noise_ = m > 0 ? relative_noise * direction_size_ : 0.0;
  noise_ = std::max(noise_, 8 * residual_noise_);
  if (crossing_.speed <= noise_)
    crossing_ =
        ALPHAPATH_DISPATCH(first_crossing)(intervals(), de_.data(), followed_, noise_, limit);
}

PathWalker::Event PathWalker::next_event(double limit) const {
  Event event;
  event.step = limit;
  double best_rate = 0;
  // Most are out of reach, which takes no division to see.
  double reach = std::min(limit, crossing_.step) * (1 + relative_noise);
  const auto consider = [&](std::size_t k, double room, double rate, bool is_up) {
    const double step = std::max(room, 0.0) / rate;
    if (step > event.step ||
        (step == event.step && event.kind == Event::leaves && rate <= best_rate))
      return;
    event = {Event::leaves, step, 0, k, is_up};
    reach = std::min(reach, step * (1 + relative_noise));
    best_rate = rate;
  };
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const std::size_t i = members_[k];
    const Bounds b = bounds_of(i, side_[i]);
    const double up = dbeta_[k] - b.upper_rate, down = b.lower_rate - dbeta_[k];
    const double above = b.upper - beta_[i], below = beta_[i] - b.lower;
    if ((up > beta_noise_) & (above <= reach * up))
      consider(k, above, up, true);
    if ((down > beta_noise_) & (below <= reach * down))
      consider(k, below, down, false);
  }
  if (!(crossing_.step < event.step))
    return event;
  return {Event::enters, crossing_.step, crossing_.index, 0, de_[crossing_.index] > 0};
}

/// Residuals follow in the next pass over them.
void PathWalker::advance(double step) {
  step_left_ = step;
  moved_ += step * direction_size_ * scale_;
  for (std::size_t k = 0; k < members_.size(); ++k)
    beta_[members_[k]] += step * dbeta_[k];
  bias_ += step * dbias_;
  tau_ += step;
}

/// Residuals are where the betas are.
void PathWalker::settle_residuals() {
  if (step_left_ != 0)
    ALPHAPATH_DISPATCH(add_scaled)(std::exchange(step_left_, 0.0), de_.data(), followed_,
                                   e_.data());
}

void PathWalker::write_change(std::size_t i) {
  if (!is_recording_)
    return;
  pieces_.change_piece.push_back(static_cast<std::int64_t>(pieces_.tau.size()));
  pieces_.change_instance.push_back(instance(i));
  pieces_.change_place.push_back(static_cast<std::int8_t>(place_[i]));
}

void PathWalker::record(bool is_on, bool keeps_pieces) {
  is_recording_ = is_on;
  keeps_pieces_ = keeps_pieces;
  pieces_ = {};
}

void PathWalker::score(std::span<const std::size_t> rows, std::span<const double> shares,
                       Metric metric) {
  std::vector<double> targets, values(rows.size());
  std::vector<std::size_t> position(n_);
  for (const std::size_t i : rows) {
    position[i] = targets.size();
    targets.push_back(target_[i]);
  }
  scored_ =
      Scored{{rows.begin(), rows.end()}, position, values, values, {metric, targets, shares}, {}};
  keeps_errors_ = metric == Metric::error;
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
  if (is_still() && !is_recording_) {
    tau_ = to;
    arrive();
    return status;
  }
  turns_to_near_ = turns_before_near;
  has_rates_ = false;
  while (!must_end(status, max_events, watch)) {
    while (stops.size() > 1 && stops.front() <= tau_)
      stops = stops.subspan(1);
    if (!keeps_pieces_)
      pieces_.cut(0, 0);
    walk_end_ = stops.front();
    const bool must_stop =
        has_return_ || sum_return_ != 0 || counts_.n_events - n_before >= events_alone;
    to = must_stop ? walk_end_ : stops.back();
    if (members_.empty() && model_.has_equality && !jump_bias(status))
      return PathStatus::unbounded;
    // A turn on all instances finds out who is near; it pays where several follow.
    Turn turn = Turn::goes_on;
    if (!std::exchange(has_rates_, false))
      turn = take_turn(to, status);
    if (turn == Turn::goes_on && --turns_to_near_ < 0)
      turn = walk_near(to, {status, max_events, watch});
    if (turn == Turn::ends) {
      settle_residuals();
      tau_ = to;
      arrive();
      return PathStatus::arrived;
    }
    if (n_idle_ > max_idle)
      ramp();
    if (turn == Turn::needs_renewal)
      renew(status);
  }
  settle_residuals();
  return status;
}

/// One direction followed to its event, and that done.
PathWalker::Turn PathWalker::take_turn(double to, PathStatus& status) {
  find_direction(to - tau_);
  if (residual_noise_ > unsound_residual * scale_ * direction_size_ &&
      counts_.n_updates > updates_at_refresh_)
    return Turn::needs_renewal;
  Event event = next_event(to - tau_);
  if (near_kernel_ != nullptr && needs_others(event.step)) {
    needs_all_ = true;
    return Turn::goes_on;
  }
  if (needs_refinement(event.step)) {
    refine_direction(to - tau_);
    event = next_event(to - tau_);
  }
  if (near_kernel_ != nullptr && event.kind != Event::none) {
    const std::size_t i = event.kind == Event::enters ? event.instance : members_[event.position];
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
