#include "pair_walker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Rates below this share of what they are a sum of are rounding.
constexpr double relative_noise = 1e-14;
// Steps of no length in a row that mean a tie rather than many events at one place.
constexpr std::int64_t max_idle = 200;
// Updates of the factor after which it and the scores are computed anew.
constexpr std::int64_t updates_between_refreshes = 400;
// A residual of the linear solve, relative to its terms, at which the factor is no longer trusted.
constexpr double unsound_residual = 1e-11;
// Pairs whose residuals say how wide a window is to be.
constexpr std::size_t n_sampled = 4096;
// The least R of a walk's first window, and events that make a window worth its while.
constexpr double first_radius = 1e-3;
constexpr std::int64_t few_events = 10;
// A window costs as much as this many events, or so.
constexpr std::int64_t good_events = 40;

} // namespace

void PairWalker::find_direction() {
  dv_ = rates_;
  const std::size_t m = members_.size();
  dbeta_.resize(m);
  direction_size_ = rates_size_;
  residual_noise_ = beta_noise_ = 0;
  if (m > 0) {
    member_values(rates_, dbeta_);
    for (std::size_t k = 0; k < m; ++k)
      dbeta_[k] = -(dbeta_[k] + return_[members_[k]]);
    factor_.carry(dbeta_);
    factor_.solve(dbeta_);
    add_members(dbeta_, dv_);
    for (const double d : dbeta_)
      direction_size_ += std::abs(d);
    beta_noise_ = relative_noise * direction_size_;
  }
  if (has_all_scores_) {
    space_.scores(0, df_.size(), dv_.data(), df_.data());
  } else {
    space_.scores_at(window_rows_, dv_.data(), window_scores_.data());
    for (std::size_t k = 0; k < window_rows_.size(); ++k)
      df_[static_cast<std::size_t>(window_rows_[k])] = window_scores_[k];
  }
  for (const std::uint32_t p : members_)
    residual_noise_ = std::max(residual_noise_, std::abs(residual_rate(p)));
  noise_ = std::max(relative_noise * scale_ * direction_size_, 8 * residual_noise_);
}

/// The widest spread within a query of value(i) over instances.
template <class Value> double PairWalker::spread_of(Value value) const {
  double widest = 0;
  for (std::size_t q = 0; q < pairs_.n_queries(); ++q) {
    double low = infinity, high = -infinity;
    for (std::size_t i = pairs_.first_row[q]; i < pairs_.first_row[q + 1]; ++i) {
      low = std::min(low, value(i));
      high = std::max(high, value(i));
    }
    widest = std::max(widest, high - low);
  }
  return widest;
}

/// How far the walk may go before a pair outside the window could meet the margin.
double PairWalker::window_room() const {
  if (radius_ == infinity)
    return infinity;
  double moved = 0, rate = 0; // of two scores of a query, apart from each other
  if (has_all_scores_) {
    moved = spread_of([&](std::size_t i) { return f_[i] - f_window_[i]; });
    rate = spread_of([&](std::size_t i) { return df_[i]; });
  } else {
    for (std::size_t k = 0; k < v_.size(); ++k) {
      moved += (v_[k] - v_window_[k]) * (v_[k] - v_window_[k]);
      rate += dv_[k] * dv_[k];
    }
    moved = std::sqrt(scale_ * moved);
    rate = std::sqrt(scale_ * rate);
  }
  moved += largest_return_ * (tau_ - tau_window_);
  rate += largest_return_;
  return rate > 0 ? std::max(radius_ - moved, 0.0) / rate : infinity;
}

/// All pairs whose residual is at most R, where R is chosen for some of them: for more if the last
/// window was used up after few events, and for many where most are tied.
void PairWalker::make_window() {
  const std::int64_t n_used = counts_.n_events - events_at_window_;
  if (n_used < few_events)
    least_radius_ *= 2;
  if (n_used < good_events && !has_all_scores_ && window_share_ >= 0.5)
    has_all_scores_ = true; // the bound is too loose to be worth it
  else if (n_used < good_events)
    window_share_ = std::min(2 * window_share_, 1.0);
  else if (n_used > 4 * good_events)
    window_share_ = std::max(window_share_ / 2, 0.125);
  events_at_window_ = counts_.n_events;
  complete_scores();
  const std::size_t m = pairs_.size();
  const auto wanted = static_cast<std::size_t>(window_share_ * static_cast<double>(space_.size()));
  v_window_ = v_;
  f_window_ = f_;
  tau_window_ = tau_;
  largest_return_ = 0;
  for (const double r : return_)
    largest_return_ = std::max(largest_return_, std::abs(r));
  window_.clear();
  radius_ = infinity;
  if (m > 2 * space_.size()) {
    sizes_.clear();
    const std::size_t stride = std::max<std::size_t>(1, m / n_sampled);
    for (std::size_t p = 0; p < m; p += stride)
      sizes_.push_back(std::abs(residual(p)));
    const std::size_t rank = std::min(sizes_.size() - 1, sizes_.size() * wanted / m + 1);
    std::nth_element(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(rank),
                     sizes_.end());
    radius_ = std::max(sizes_[rank], least_radius_);
  }
  for (std::size_t p = 0; p < m; ++p)
    if (place_[p] == Place::margin ||
        (place_[p] != Place::absent && std::abs(residual(p)) <= radius_))
      window_.push_back(static_cast<std::uint32_t>(p));
  if (has_all_scores_)
    return;
  window_rows_.clear();
  for (const std::uint32_t p : window_)
    for (const std::int32_t row : {pairs_.better[p], pairs_.worse[p]})
      if (std::exchange(row_slot_[static_cast<std::size_t>(row)], 0) < 0)
        window_rows_.push_back(row);
  std::sort(window_rows_.begin(), window_rows_.end());
  for (const std::int32_t row : window_rows_)
    row_slot_[static_cast<std::size_t>(row)] = -1;
  window_scores_.resize(window_rows_.size());
}

/// Scores of all instances, from v.
void PairWalker::complete_scores() {
  space_.scores(0, f_.size(), v_.data(), f_.data());
}

PairWalker::Event PairWalker::next_event(double limit) const {
  Event event;
  event.step = limit;
  double best_rate = 0;
  // Of those that come together, the one with the largest rate: the best pivot.
  const auto consider = [&](Event::Kind kind, std::size_t at, double room, double rate, bool up) {
    const double step = std::max(room, 0.0) / rate;
    if (step > event.step || (step == event.step && event.kind == kind && rate <= best_rate) ||
        (step == event.step && event.kind == Event::leaves && kind == Event::enters))
      return;
    event = {kind, step, at, up};
    best_rate = rate;
  };
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const std::size_t p = members_[k];
    const double up = dbeta_[k] - dc_[p];
    if (up > beta_noise_)
      consider(Event::leaves, k, weight(p) - beta_[p], up, true);
    if (-dbeta_[k] > beta_noise_)
      consider(Event::leaves, k, beta_[p], -dbeta_[k], false);
  }
  for (const std::uint32_t p : window_) {
    const double rate = residual_rate(p);
    if (place_[p] == Place::outside && rate < -noise_)
      consider(Event::enters, p, residual(p), -rate, false);
    else if (place_[p] == Place::above && rate > noise_)
      consider(Event::enters, p, -residual(p), rate, true);
  }
  return event;
}

void PairWalker::advance(double step) {
  for (std::size_t k = 0; k < v_.size(); ++k)
    v_[k] += step * dv_[k];
  if (has_all_scores_)
    for (std::size_t i = 0; i < f_.size(); ++i)
      f_[i] += step * df_[i];
  else
    for (const std::int32_t row : window_rows_)
      f_[static_cast<std::size_t>(row)] += step * df_[static_cast<std::size_t>(row)];
  for (std::size_t k = 0; k < members_.size(); ++k)
    beta_[members_[k]] += step * dbeta_[k];
  tau_ += step;
}

void PairWalker::write_piece() {
  if (!is_recording_ || !is_aimed_)
    return;
  pieces_.tau.push_back(tau_);
  pieces_.first.push_back(static_cast<std::int64_t>(pieces_.members.size()));
  pieces_.members.insert(pieces_.members.end(), members_.begin(), members_.end());
  for (const std::uint32_t p : members_)
    pieces_.beta.push_back(beta_[p]);
  pieces_.beta_rate.insert(pieces_.beta_rate.end(), dbeta_.begin(), dbeta_.end());
}

void PairWalker::record(bool is_on) {
  is_recording_ = is_on;
  pieces_ = {};
}

bool PairWalker::must_end(PathStatus& status, std::int64_t max_events, Watch& watch) const {
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

PathStatus PairWalker::walk(double to, std::int64_t max_events, Watch& watch) {
  walk_end_ = to;
  n_idle_ = 0;
  if (needs_correction_)
    hand_drift_to_targets();
  least_radius_ = first_radius;
  has_all_scores_ = space_.is_scores();
  events_at_window_ = counts_.n_events - good_events;
  make_window();
  PathStatus status = PathStatus::arrived;
  while (!must_end(status, max_events, watch)) {
    find_direction();
    if (residual_noise_ > unsound_residual * scale_ * direction_size_ &&
        counts_.n_updates > updates_at_refresh_) {
      renew(status);
      continue;
    }
    const double room = window_room(), left = to - tau_;
    const Event event = next_event(std::min(left, room));
    if (tau_ + event.step > tau_) {
      write_piece();
      advance(event.step);
      ++counts_.n_steps;
      n_idle_ = 0;
    } else {
      ++n_idle_;
    }
    if (event.kind == Event::none && room < left) {
      make_window();
      continue;
    }
    if (event.kind == Event::none) {
      tau_ = to;
      arrive();
      return PathStatus::arrived;
    }
    ++counts_.n_events;
    if (event.kind == Event::leaves)
      leave(event.at, event.is_up);
    else
      status = enter(event.at);
    if (n_idle_ > max_idle)
      ramp();
    if (counts_.n_updates - updates_at_refresh_ > updates_between_refreshes)
      renew(status);
  }
  return status;
}

} // namespace alphapath
