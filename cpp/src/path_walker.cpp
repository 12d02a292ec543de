#include "path_walker.hpp"

#include "dispatch.hpp"
#include "simd/path_loops.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// Steps of no length in a row that mean a tie rather than many events at one place.
constexpr std::int64_t max_idle = 200;
// Updates of the factor after which it and the residuals are computed anew.
constexpr std::int64_t updates_between_refreshes = 400;
// A residual of the linear solve, relative to its terms, at which the factor is no longer trusted.
constexpr double unsound_residual = 1e-11;

} // namespace

PathWalker::Bounds PathWalker::bounds_of(std::size_t i, double side) const {
  const double c = weight(i), dc = dc_[i];
  const double lower = lower_scale_[i], upper = upper_scale_[i];
  if (is_one_piece(i))
    return {lower * c, upper * c, lower * dc, upper * dc};
  return side > 0 ? Bounds{0, upper * c, 0, upper * dc} : Bounds{lower * c, 0, lower * dc, 0};
}

double PathWalker::sum_of_rates() const {
  double sums[4] = {0, 0, 0, 0};
  for (std::size_t i = 0; i < width_; i += 4)
    for (std::size_t l = 0; l < 4; ++l)
      sums[l] += rate_[i + l];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void PathWalker::find_direction() {
  const std::size_t m = members_.size();
  std::copy(h_.begin(), h_.end(), de_.begin());
  if (has_return_)
    for (std::size_t i = 0; i < width_; ++i)
      de_[i] += return_[i];
  dbias_ = 0;
  noise_ = beta_noise_ = residual_noise_ = 0;
  dbeta_.resize(m);
  direction_size_ = rates_size_;
  if (m > 0) {
    const double total = model_.has_equality ? sum_return_ - sum_of_rates() : 0.0;
    for (std::size_t k = 0; k < m; ++k)
      dbeta_[k] = -de_[members_[k]] - origin_[members_[k]] * total;
    if (model_.has_equality)
      factor_.solve_bordered(dbeta_, total);
    else
      factor_.solve(dbeta_);
    for (std::size_t at = 0; at < m; at += simd::max_rows_at_once)
      add_rows<double>(row_pointers_.data() + at, dbeta_.data() + at,
                       std::min(simd::max_rows_at_once, m - at), width_, de_.data());
    if (model_.has_equality) {
      for (const std::uint32_t i : members_)
        dbias_ -= de_[i];
      dbias_ /= static_cast<double>(m);
      for (double& d : de_)
        d += dbias_;
    }
    for (std::size_t k = 0; k < m; ++k) {
      direction_size_ += std::abs(dbeta_[k]);
      residual_noise_ = std::max(residual_noise_, std::abs(de_[members_[k]]));
    }
    beta_noise_ = relative_noise * direction_size_;
  }
  noise_ = std::max(relative_noise * scale_ * direction_size_, 8 * residual_noise_);
}

PathWalker::Event PathWalker::next_event(double limit) const {
  Event event;
  event.step = limit;
  double best_rate = 0;
  const auto consider = [&](std::size_t k, double room, double rate, bool is_up) {
    const double step = std::max(room, 0.0) / rate;
    if (step > event.step ||
        (step == event.step && event.kind == Event::leaves && rate <= best_rate))
      return;
    event = {Event::leaves, step, 0, k, is_up};
    best_rate = rate;
  };
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const std::size_t i = members_[k];
    const Bounds b = bounds_of(i, side_[i]);
    const double up = dbeta_[k] - b.upper_rate, down = b.lower_rate - dbeta_[k];
    if (up > beta_noise_)
      consider(k, b.upper - beta_[i], up, true);
    if (down > beta_noise_)
      consider(k, beta_[i] - b.lower, down, false);
  }
  const double crossing = ALPHAPATH_DISPATCH(first_crossing)(e_.data(), de_.data(), lo_.data(),
                                                             hi_.data(), width_, noise_);
  if (!(crossing < event.step))
    return event;
  // Of those that leave together, the one with the largest rate: the best pivot.
  best_rate = 0;
  for (std::size_t i = 0; i < width_; ++i) {
    const double rate = std::abs(de_[i]);
    if (!(rate > noise_) || rate <= best_rate)
      continue;
    const double room = de_[i] > 0 ? hi_[i] - e_[i] : e_[i] - lo_[i];
    if (std::max(room, 0.0) / rate <= crossing) {
      best_rate = rate;
      event = {Event::enters, crossing, i, 0, de_[i] > 0};
    }
  }
  return event;
}

void PathWalker::advance(double step) {
  for (std::size_t i = 0; i < width_; ++i)
    e_[i] += step * de_[i];
  for (std::size_t k = 0; k < members_.size(); ++k)
    beta_[members_[k]] += step * dbeta_[k];
  bias_ += step * dbias_;
  tau_ += step;
}

void PathWalker::write_piece() {
  if (!is_recording_)
    return;
  pieces_.tau.push_back(tau_);
  pieces_.bias.push_back(bias_);
  pieces_.bias_rate.push_back(dbias_);
  pieces_.first.push_back(static_cast<std::int64_t>(pieces_.members.size()));
  pieces_.members.insert(pieces_.members.end(), members_.begin(), members_.end());
  for (const std::uint32_t i : members_)
    pieces_.beta.push_back(beta_[i]);
  pieces_.beta_rate.insert(pieces_.beta_rate.end(), dbeta_.begin(), dbeta_.end());
  for (const std::size_t i : watched_) {
    pieces_.watched.push_back(e_[i]);
    pieces_.watched_rate.push_back(de_[i]);
  }
}

void PathWalker::write_change(std::size_t i) {
  if (!is_recording_)
    return;
  pieces_.change_piece.push_back(static_cast<std::int64_t>(pieces_.tau.size()));
  pieces_.change_instance.push_back(static_cast<std::uint32_t>(i));
  pieces_.change_place.push_back(static_cast<std::int8_t>(place_[i]));
}

void PathWalker::record(bool is_on, std::span<const std::size_t> watched) {
  is_recording_ = is_on;
  watched_.assign(watched.begin(), watched.end());
  pieces_ = {};
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
  walk_end_ = to;
  n_idle_ = 0;
  if (needs_correction_)
    hand_drift_to_targets();
  PathStatus status = PathStatus::arrived;
  while (!must_end(status, max_events, watch)) {
    if (members_.empty() && model_.has_equality && !jump_bias(status))
      return PathStatus::unbounded;
    find_direction();
    if (residual_noise_ > unsound_residual * scale_ * direction_size_ &&
        counts_.n_updates > updates_at_refresh_) {
      renew(status);
      continue;
    }
    const Event event = next_event(to - tau_);
    if (tau_ + event.step > tau_) {
      write_piece();
      advance(event.step);
      ++counts_.n_steps;
      n_idle_ = 0;
    } else {
      ++n_idle_;
    }
    if (event.kind == Event::none) {
      tau_ = to;
      arrive();
      return PathStatus::arrived;
    }
    ++counts_.n_events;
    if (event.kind == Event::leaves)
      leave(event.position, event.is_up);
    else
      status = enter(event.instance, event.is_up);
    if (n_idle_ > max_idle)
      ramp();
    if (counts_.n_updates - updates_at_refresh_ > updates_between_refreshes)
      renew(status);
  }
  return status;
}

} // namespace alphapath
