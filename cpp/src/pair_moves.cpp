// The moves of a ranking path at one place: in and out of the margin set, and what drift and ties
// ask for.

#include "pair_walker.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// As in path_moves.cpp: a pair whose relative pivot is below this depends on the margin set.
constexpr double least_pivot = 1e-13;
constexpr double negative_pivot = -1e-8;
constexpr double null_noise = 1e-11;
constexpr double ramp_slack = 1e-9;
constexpr double least_start_pivot = 1e-12;

} // namespace

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
