// Several turns of a walk on the few instances that can meet an event soon.
//
// A turn on all n instances reads the kernel rows of the margin set, 8 m n bytes. Most instances
// are far from the ends of their intervals, so a part of the problem is walked on: the margin set
// and those that would leave first, whose block of the kernel is copied once. After some turns the
// residuals of the others follow from what the betas moved, in one product. If one of them left its
// interval, the part is dropped, and walked again with it. Where only the end counts, a far
// instance may leave its interval and return between turns, which no solution is the worse for;
// where the walk is recorded, it may not (path_far.cpp).

#include "near_kernel.hpp"
#include "path_walker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Of the instances off the margin, the share in a part, and how many at least.
constexpr std::size_t near_share = 9;
constexpr std::size_t least_near = 48;
// A part is left after a share of the time in which the first of the others would leave: less of it
// after one that was dropped, more after one that was not.
constexpr double share_if_dropped = 0.7, share_if_good = 1.02, most_of_time = 0.9;
// How often a part is walked again with those that left their intervals.
constexpr int max_repeats = 3;
// Kernel values of the margin set for which a part is worth its copies, and, where the others must
// be followed at every breakpoint, these.
constexpr std::size_t least_values = 1 << 14, least_values_recorded = 1 << 16;
// Members whose residuals are computed all the same: they tell the bias and the noise.
constexpr std::size_t members_followed = 16;
// Events of a part that are worth it, and turns on all instances after one that had fewer.
constexpr std::int64_t least_events = 8, most_waited = 64;
// Parts of a recorded walk that follow each other without a turn on all instances.
constexpr std::int64_t parts_between_turns = 4;

} // namespace

/// Marks the margin set and those that would leave first by the last direction; returns when the
/// first of the others would.
double PathWalker::choose_near() {
  double mean = 0;
  for (std::size_t i = 0; i < n_; ++i)
    mean += std::abs(de_[i]);
  mean /= static_cast<double>(n_);
  is_near_.assign(n_, 0);
  times_.resize(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    const double up = std::max(hi_[i] - e_[i], 0.0) / (std::max(de_[i], 0.0) + mean);
    const double down = std::max(e_[i] - lo_[i], 0.0) / (std::max(-de_[i], 0.0) + mean);
    times_[i] = std::min(up, down);
  }
  const std::size_t wanted = std::max(least_near, (n_ - members_.size()) / near_share);
  if (wanted >= n_)
    return 0;
  std::vector<double> order(times_.begin(), times_.end());
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end());
  const double horizon = order[wanted];
  for (std::size_t i = 0; i < n_; ++i)
    is_near_[i] = times_[i] < horizon;
  for (const std::uint32_t i : members_)
    is_near_[i] = 1;
  return horizon;
}

PathWalker::Turn PathWalker::walk_near(double to, const Limits& limits) {
  turns_to_near_ = 0;
  if ((keeps_errors_ && scored_->side.empty()) ||
      members_.size() * n_ < (is_recording_ ? least_values_recorded : least_values) ||
      n_idle_ > 0 || limits.status != PathStatus::arrived)
    return Turn::goes_on;
  settle_residuals();
  const double time = choose_near();
  if (!(time > 0))
    return Turn::goes_on;
  settle_betas();
  std::vector<std::uint32_t> followed, hidden;
  for (int repeat = 0; repeat < max_repeats; ++repeat) {
    list_near(followed, hidden);
    if (2 * followed.size() > n_)
      break;
    NearKernel kernel(kernel_, followed, hidden, scratch_.values);
    kernel.reserve(members_.size());
    PathWalker part(*this, kernel);
    part.factor_ = std::move(factor_);
    PathStatus status = PathStatus::arrived;
    const PieceCounts begin{pieces_.tau.size(), pieces_.change_piece.size()};
    std::swap(part.followed_e_, scratch_.followed);
    if (is_recording_)
      part.record_in(pieces_, keeps_pieces_);
    const Turn turn =
        part.walk_part(to, time_share_ * time, {status, limits.max_events, limits.watch});
    part.settle_residuals();
    part.settle_betas();
    std::swap(pieces_, part.pieces_);
    const std::int64_t n_events = part.counts_.n_events - counts_.n_events;
    part.is_lost_ |= is_recording_ && pieces_.tau.size() == begin.n_pieces;
    const bool is_good =
        !part.is_lost_ && (is_recording_ ? follow_far(part, begin) : move_far(part));
    factor_ = std::move(part.factor_);
    std::swap(part.followed_e_, scratch_.followed);
    if (is_good) {
      take_over(part);
    } else {
      pieces_.cut(begin.n_pieces, begin.n_changes);
      limits.status = restore_factor(part);
      if (limits.status != PathStatus::arrived)
        return Turn::goes_on;
    }
    ++(is_good ? counts_.n_parts : counts_.n_dropped);
    time_share_ =
        std::min(time_share_ * (is_good ? share_if_good : share_if_dropped), most_of_time);
    if (part.is_lost_) {
      wait_after(part, 0);
      break;
    }
    if (is_good) {
      wait_after(part, n_events);
      limits.status = status;
      return turn;
    }
  }
  return Turn::goes_on;
}

/// Who is near, but for all but some of the members.
void PathWalker::list_near(std::vector<std::uint32_t>& followed,
                           std::vector<std::uint32_t>& hidden) const {
  followed.clear();
  hidden.clear();
  for (std::size_t i = 0; i < n_; ++i)
    if (is_near_[i] && place_[i] != Place::margin)
      followed.push_back(static_cast<std::uint32_t>(i));
  const std::size_t stride = std::max<std::size_t>(1, members_.size() / members_followed);
  for (std::size_t k = 0; k < members_.size(); ++k)
    (k % stride == 0 ? followed : hidden).push_back(members_[k]);
}

/// Where parts are short, as a long step or ties make them, turns on all instances are cheaper.
void PathWalker::wait_after(const PathWalker& part, std::int64_t n_events) {
  const bool is_worth_it = n_events >= least_events;
  turns_waited_ = is_worth_it ? 0 : std::min(2 * turns_waited_ + 2, most_waited);
  turns_to_near_ = turns_waited_;
  // A turn on all instances now and then looks at the whole margin set for rounding.
  has_rates_ = is_recording_ && is_worth_it && !part.needs_all_ &&
               counts_.n_parts % parts_between_turns != 0;
}

/// The factor of a part that is dropped becomes that of the margin set again: who came goes, and
/// who went comes back.
PathStatus PathWalker::restore_factor(const PathWalker& part) {
  const auto which = part.near_kernel_->which();
  std::vector<std::uint32_t> members;
  std::vector<std::int8_t> is_there(n_, 0);
  for (const std::uint32_t k : part.members_)
    members.push_back(which[k]);
  for (std::size_t k = members.size(); k-- > 0;) {
    is_there[members[k]] = place_[members[k]] == Place::margin;
    if (!is_there[members[k]]) {
      factor_.remove(k);
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  is_carried_ = false;
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const std::uint32_t i = members_[k];
    if (is_there[i])
      continue;
    const double pivot =
        factor_.try_insert(column_of(i, row_of(k), members), block_value(row_of(k), i, i));
    if (!(pivot > least_start_pivot))
      return build_factor();
    factor_.insert_tried(0.0);
    members.push_back(i);
  }
  counts_.n_updates = part.counts_.n_updates;
  set_members(std::move(members));
  return PathStatus::arrived;
}

/// far_e_ = residuals of all instances where the part is now:
/// e + time (h + return) + change of the bias + K (change of betas - time rates).
/// Returns whether nobody left its interval.
bool PathWalker::move_far(const PathWalker& part) {
  const double time = part.tau_ - tau_, shift = part.bias_ - bias_;
  far_e_.resize(width_);
  for (std::size_t i = 0; i < width_; ++i)
    far_e_[i] = e_[i] + time * (h_[i] + return_[i]) + shift;
  std::vector<std::size_t> moved;
  std::vector<double> by;
  const auto which = part.near_kernel_->which();
  for (std::size_t k = 0; k < which.size(); ++k) {
    const std::size_t i = which[k];
    if (i == NearKernel::nobody)
      continue;
    const double change = part.beta_[k] - beta_[i] - time * rate_[i];
    if (change != 0) {
      moved.push_back(i);
      by.push_back(change);
    }
  }
  multiply_add(kernel_, moved, by, std::span(far_e_).first(n_));
  return !find_violators();
}

/// Marks those that are not near and whose residual left its interval.
bool PathWalker::find_violators() {
  const double floor = rounding_floor();
  bool is_found = false;
  for (std::size_t i = 0; i < n_; ++i)
    if (!is_near_[i] && (far_e_[i] < lo_[i] - floor || far_e_[i] > hi_[i] + floor)) {
      is_near_[i] = 1;
      is_found = true;
    }
  return is_found;
}

/// The part is where all are.
void PathWalker::take_over(PathWalker& part) {
  std::swap(e_, far_e_);
  std::vector<std::size_t> changed;
  std::vector<double> by;
  const auto which = part.near_kernel_->which();
  for (std::size_t k = 0; k < which.size(); ++k) {
    const std::size_t i = which[k];
    if (i == NearKernel::nobody)
      continue;
    if (part.rate_[k] != rate_[i]) {
      changed.push_back(i);
      by.push_back(part.rate_[k] - rate_[i]);
    }
    beta_[i] = part.beta_[k];
    e_[i] = part.e_[k];
    lo_[i] = part.lo_[k];
    hi_[i] = part.hi_[k];
    rate_[i] = part.rate_[k];
    place_[i] = part.place_[k];
    side_[i] = part.side_[k];
  }
  n_moving_ = part.n_moving_;
  rates_size_ = part.rates_size_;
  largest_rates_ = part.largest_rates_;
  if (!stand_still()) {
    multiply_add(kernel_, changed, by, std::span(h_).first(n_));
    renew_rates();
  }
  std::vector<std::uint32_t> members;
  for (const std::uint32_t k : part.members_)
    members.push_back(which[k]);
  set_members(std::move(members));
  is_carried_ = false;
  tau_ = part.tau_;
  bias_ = part.bias_;
  moved_ += part.moved_;
  n_idle_ = part.n_idle_;
  counts_ = part.counts_;
}

} // namespace alphapath
