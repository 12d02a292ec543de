#include "ranking/pair_walker.hpp"

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

// As in path/moves.cpp: a pair whose relative pivot is below this depends on the margin set.
constexpr double least_pivot = 1e-13;
constexpr double negative_pivot = -1e-8;
constexpr double null_noise = 1e-11;
constexpr double ramp_slack = 1e-9;
constexpr double least_start_pivot = 1e-12;

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

PairWalker::PairWalker(const ScoreSpace& space, const RankPairs& pairs)
    : space_(space), pairs_(pairs) {
  for (auto* v : {&c0_, &dc_, &beta_, &return_})
    v->assign(pairs.size(), 0.0);
  place_.assign(pairs.size(), Place::absent);
  for (auto* v : {&f_, &df_})
    v->assign(space.size(), 0.0);
  for (auto* v : {&v_, &dv_, &rates_, &image_})
    v->assign(space.width(), 0.0);
  row_slot_.assign(space.size(), -1);
  std::vector<double> block;
  for (std::size_t q = 0; q < pairs.n_queries(); ++q) {
    const std::size_t first = pairs.first_row[q], n = pairs.first_row[q + 1] - first;
    block.resize(n * n);
    space.block(first, n, block.data());
    for (std::size_t p = pairs.first_pair[q]; p < pairs.first_pair[q + 1]; ++p) {
      const std::size_t a = better(p) - first, b = worse(p) - first;
      scale_ = std::max(scale_, block[a * n + a] + block[b * n + b] - 2 * block[a * n + b]);
    }
  }
}

void PairWalker::add_pair(std::size_t p, double coef, std::vector<double>& v) const {
  const std::int32_t rows[2] = {pairs_.better[p], pairs_.worse[p]};
  const double coefs[2] = {coef, -coef};
  space_.add(rows, coefs, v.data());
}

/// v += sum over members of coef (phi_i - phi_j), each instance taken once.
void PairWalker::add_members(std::span<const double> coef, std::vector<double>& v) {
  rows_.clear();
  coefs_.clear();
  const auto take = [&](std::int32_t row, double c) {
    std::int32_t& slot = row_slot_[static_cast<std::size_t>(row)];
    if (slot < 0) {
      slot = static_cast<std::int32_t>(rows_.size());
      rows_.push_back(row);
      coefs_.push_back(0.0);
    }
    coefs_[static_cast<std::size_t>(slot)] += c;
  };
  for (std::size_t k = 0; k < members_.size(); ++k) {
    take(pairs_.better[members_[k]], coef[k]);
    take(pairs_.worse[members_[k]], -coef[k]);
  }
  for (const std::int32_t row : rows_)
    row_slot_[static_cast<std::size_t>(row)] = -1;
  space_.add(rows_, coefs_.data(), v.data());
}

void PairWalker::member_values(const std::vector<double>& v, std::vector<double>& out) {
  rows_.clear();
  for (const std::uint32_t p : members_) {
    rows_.push_back(pairs_.better[p]);
    rows_.push_back(pairs_.worse[p]);
  }
  values_.resize(rows_.size());
  space_.scores_at(rows_, v.data(), values_.data());
  out.resize(members_.size());
  for (std::size_t k = 0; k < members_.size(); ++k)
    out[k] = values_[2 * k] - values_[2 * k + 1];
}

void PairWalker::set_place(std::size_t p, Place place) {
  place_[p] = place;
  if (!is_recording_)
    return;
  pieces_.change_piece.push_back(static_cast<std::int64_t>(pieces_.tau.size()));
  pieces_.change_instance.push_back(static_cast<std::uint32_t>(p));
  pieces_.change_place.push_back(static_cast<std::int8_t>(place));
}

PathStatus PairWalker::enter(std::size_t p) {
  const bool was_above = place_[p] == Place::above;
  beta_[p] = was_above ? weight(p) : 0.0;
  if (was_above && dc_[p] != 0) {
    add_pair(p, -dc_[p], rates_);
    rates_size_ = std::max(rates_size_ - std::abs(dc_[p]), 0.0);
  }
  set_place(p, Place::margin);
  return insert(p, !was_above);
}

PathStatus PairWalker::insert(std::size_t p, bool goes_up) {
  while (true) {
    std::fill(image_.begin(), image_.end(), 0.0);
    add_pair(p, 1.0, image_);
    member_values(image_, column_);
    const std::int32_t own_rows[2] = {pairs_.better[p], pairs_.worse[p]};
    double own[2];
    space_.scores_at(own_rows, image_.data(), own);
    const double pivot = factor_.try_insert(column_, own[0] - own[1]);
    if (pivot > least_pivot && own[0] - own[1] > least_pivot * scale_) {
      factor_.insert_tried(0);
      members_.push_back(static_cast<std::uint32_t>(p));
      ++counts_.n_updates;
      return PathStatus::arrived;
    }
    if (pivot < negative_pivot)
      return PathStatus::not_definite;
    if (!exchange(p, goes_up))
      return PathStatus::arrived;
  }
}

/// Moves pair p and the margin set along the null vector, at fixed tau, until a member meets a
/// bound and leaves (true: p may be tried again) or p meets one itself.
bool PairWalker::exchange(std::size_t p, bool goes_up) {
  const std::size_t m = members_.size();
  std::vector<double> z(m);
  factor_.null_direction(z);
  const double sign = goes_up ? 1.0 : -1.0;
  double largest = 1;
  for (double& value : z) {
    value *= sign;
    largest = std::max(largest, std::abs(value));
  }
  double step = std::max(goes_up ? weight(p) - beta_[p] : beta_[p], 0.0);
  std::size_t blocking = m;
  for (std::size_t k = 0; k < m; ++k) {
    if (std::abs(z[k]) <= null_noise * largest)
      continue;
    const double beta = beta_[members_[k]];
    const double room = std::max(z[k] > 0 ? weight(members_[k]) - beta : beta, 0.0);
    if (room < step * std::abs(z[k])) {
      step = room / std::abs(z[k]);
      blocking = k;
    }
  }
  ++counts_.n_exchanges;
  const bool leaves_up = blocking < m && z[blocking] > 0;
  if (step > 0) {
    for (std::size_t k = 0; k < m; ++k) {
      z[k] *= step;
      beta_[members_[k]] += z[k];
    }
    beta_[p] += sign * step;
    if (!is_building_) {
      add_members(z, v_);
      add_pair(p, sign * step, v_);
      space_.scores(0, f_.size(), v_.data(), f_.data());
    }
  }
  if (blocking < m) {
    leave(blocking, leaves_up);
    return true;
  }
  beta_[p] = goes_up ? weight(p) : 0.0;
  set_place(p, goes_up ? Place::above : Place::outside);
  if (goes_up && dc_[p] != 0) {
    add_pair(p, dc_[p], rates_);
    rates_size_ += std::abs(dc_[p]);
  }
  return false;
}

void PairWalker::leave(std::size_t position, bool at_upper) {
  const std::size_t p = members_[position];
  factor_.remove(position);
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(position));
  ++counts_.n_updates;
  beta_[p] = at_upper ? weight(p) : 0.0;
  set_place(p, at_upper ? Place::above : Place::outside);
  if (at_upper && dc_[p] != 0) {
    add_pair(p, dc_[p], rates_);
    rates_size_ += std::abs(dc_[p]);
  }
}

/// Betas of bounded pairs follow from tau; between events nobody needs them.
void PairWalker::settle_betas() {
  for (std::size_t p = 0; p < beta_.size(); ++p) {
    if (place_[p] == Place::margin)
      beta_[p] = std::clamp(beta_[p], 0.0, std::max(weight(p), 0.0));
    else
      beta_[p] = place_[p] == Place::above ? weight(p) : 0.0;
  }
}

void PairWalker::compute_scores() {
  settle_betas();
  sum_pairs(space_, pairs_, [&](std::size_t p) { return beta_[p]; }, v_);
  space_.scores(0, f_.size(), v_.data(), f_.data());
}

void PairWalker::compute_rates() {
  rates_size_ = 0;
  const auto rate = [&](std::size_t p) {
    if (place_[p] != Place::above)
      return 0.0;
    rates_size_ += std::abs(dc_[p]);
    return dc_[p];
  };
  sum_pairs(space_, pairs_, rate, rates_);
}

PathStatus PairWalker::build_factor() {
  std::vector<std::uint32_t> queue;
  std::swap(queue, members_);
  factor_.clear();
  PathStatus status = PathStatus::arrived;
  is_building_ = true;
  for (const std::uint32_t p : queue)
    if (status == PathStatus::arrived)
      status = insert(p, beta_[p] > weight(p) / 2);
  is_building_ = false;
  updates_at_refresh_ = counts_.n_updates;
  return status;
}

double PairWalker::rounding_floor() const {
  double size = 0;
  for (const double b : beta_)
    size += std::abs(b);
  return 1e-15 * scale_ * size + 1e-14;
}

void PairWalker::renew(PathStatus& status) {
  ++counts_.n_refreshes;
  status = build_factor();
  compute_scores();
  compute_rates();
  hand_drift_to_targets();
  make_window();
}

/// Every pair gets a target with which it is optimal where it is; the difference goes back, evenly,
/// by the end of the walk. Differences of rounding size are left: they would make ties of noise.
void PairWalker::hand_drift_to_targets() {
  needs_correction_ = false;
  const double floor = rounding_floor(), time_left = walk_end_ - tau_;
  if (!(time_left > 0))
    return;
  for (std::size_t p = 0; p < place_.size(); ++p) {
    const double e = residual(p);
    double shift = 0;
    if (place_[p] == Place::margin)
      shift = -e;
    else if (place_[p] == Place::outside)
      shift = std::max(-e, 0.0);
    else if (place_[p] == Place::above)
      shift = std::min(-e, 0.0);
    if (std::abs(shift) > floor)
      return_[p] -= shift / time_left;
  }
}

double PairWalker::refresh() {
  ++counts_.n_refreshes;
  compute_scores();
  compute_rates();
  needs_correction_ = true;
  double worst = 0;
  for (std::size_t p = 0; p < place_.size(); ++p) {
    const double e = residual(p);
    if (place_[p] == Place::margin)
      worst = std::max(worst, std::abs(e));
    else if (place_[p] == Place::outside)
      worst = std::max(worst, -e);
    else if (place_[p] == Place::above)
      worst = std::max(worst, e);
  }
  return worst;
}

double PairWalker::random() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return static_cast<double>(random_ >> 11) * 0x1p-53;
}

/// Breaks ties: members on a bound leave, and every bounded pair on the margin gets a random slack
/// through the targets, which return to the true ones by the end of the walk.
void PairWalker::ramp() {
  ++counts_.n_ramps;
  n_idle_ = 0;
  for (std::size_t k = members_.size(); k-- > 0;) {
    const double beta = beta_[members_[k]], most = weight(members_[k]);
    if (beta <= 0 || beta >= most)
      leave(k, beta >= most);
  }
  const double time_left = walk_end_ - tau_;
  complete_scores();
  for (std::size_t p = 0; p < place_.size(); ++p) {
    const double e = residual(p);
    double shift = 0;
    if (place_[p] == Place::outside && e < ramp_slack)
      shift = (1 + random()) * ramp_slack;
    else if (place_[p] == Place::above && e > -ramp_slack)
      shift = -(1 + random()) * ramp_slack;
    if (shift != 0)
      return_[p] -= shift / time_left;
  }
  make_window();
}

/// The end of a walk: targets are the true ones, and what has no weight left is absent.
void PairWalker::arrive() {
  complete_scores();
  std::fill(return_.begin(), return_.end(), 0.0);
  for (std::size_t k = members_.size(); k-- > 0;)
    if (!(weight(members_[k]) > 0))
      leave(k, true);
  for (std::size_t p = 0; p < place_.size(); ++p)
    if (place_[p] != Place::absent && !(weight(p) > 0))
      set_place(p, Place::absent);
}

PathStatus PairWalker::start(std::span<const double> beta, std::span<const double> weights) {
  std::copy(beta.begin(), beta.end(), beta_.begin());
  std::copy(weights.begin(), weights.end(), c0_.begin());
  std::fill(dc_.begin(), dc_.end(), 0.0);
  std::fill(return_.begin(), return_.end(), 0.0);
  tau_ = 0;
  is_aimed_ = false;
  members_.clear();
  std::fill(rates_.begin(), rates_.end(), 0.0);
  rates_size_ = 0;
  for (std::size_t p = 0; p < beta.size(); ++p) {
    if (!(weights[p] > 0))
      set_place(p, Place::absent);
    else if (beta[p] == 0)
      set_place(p, Place::outside);
    else if (beta[p] == weights[p])
      set_place(p, Place::above);
    else
      set_place(p, Place::margin);
    if (place_[p] == Place::margin)
      members_.push_back(static_cast<std::uint32_t>(p));
  }
  compute_scores();
  const PathStatus status = build_factor();
  compute_scores();
  needs_correction_ = true;
  return status;
}

void PairWalker::aim(std::span<const double> c0, std::span<const double> dc, double from) {
  settle_betas();
  is_aimed_ = true;
  tau_ = walk_end_ = from;
  std::copy(c0.begin(), c0.end(), c0_.begin());
  std::copy(dc.begin(), dc.end(), dc_.begin());
  for (std::size_t p = 0; p < place_.size(); ++p)
    if (place_[p] == Place::absent && dc[p] > 0)
      set_place(p, residual(p) < 0 ? Place::above : Place::outside);
  compute_rates();
}

} // namespace alphapath
