// Several turns of a walk on the few instances that can meet an event soon.
//
// A turn on all n instances reads the kernel rows of the margin set, 8 m n bytes. Most instances
// are far from the ends of their intervals, so a part of the problem is walked on: the margin set
// and those that would leave first, whose block of the kernel is copied once. After some turns the
// residuals of the others follow from what the betas moved, in one product. If one of them left its
// interval, the part is dropped, and walked again with it. Where only the end counts, a far
// instance may leave its interval and return between turns, which no solution is the worse for;
// where the walk is recorded, it may not (followers.cpp).

#include "path/local_walk.hpp"

#include "path/followers.hpp"
#include "path/walker.hpp"

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
double LocalWalk::choose_near(const PathWalker& all) {
  double mean = 0;
  for (std::size_t i = 0; i < all.n_; ++i)
    mean += std::abs(all.residuals_.rate[i]);
  mean /= static_cast<double>(all.n_);
  is_near_.assign(all.n_, 0);
  times_.resize(all.n_);
  for (std::size_t i = 0; i < all.n_; ++i) {
    const double up = std::max(all.residuals_.hi[i] - all.residuals_.e[i], 0.0) /
                      (std::max(all.residuals_.rate[i], 0.0) + mean);
    const double down = std::max(all.residuals_.e[i] - all.residuals_.lo[i], 0.0) /
                        (std::max(-all.residuals_.rate[i], 0.0) + mean);
    times_[i] = std::min(up, down);
  }
  const std::size_t wanted =
      std::max(least_near, (all.n_ - all.margin_.members.size()) / near_share);
  if (wanted >= all.n_)
    return 0;
  std::vector<double> order(times_.begin(), times_.end());
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end());
  const double horizon = order[wanted];
  for (std::size_t i = 0; i < all.n_; ++i)
    is_near_[i] = times_[i] < horizon;
  for (const std::uint32_t i : all.margin_.members)
    is_near_[i] = 1;
  return horizon;
}

Turn LocalWalk::run(PathWalker& all, double to, const WalkLimits& limits) {
  turns_left_ = 0;
  if ((all.recorder_.has_errors() && all.recorder_.scores().side.empty()) ||
      all.margin_.members.size() * all.n_ <
          (all.recorder_.is_on() ? least_values_recorded : least_values) ||
      all.n_idle_ > 0 || limits.status != PathStatus::arrived)
    return Turn::goes_on;
  all.residuals_.settle();
  const double time = choose_near(all);
  if (!(time > 0))
    return Turn::goes_on;
  all.settle_betas();
  std::vector<std::uint32_t> followed, hidden;
  for (int repeat = 0; repeat < max_repeats; ++repeat) {
    list_near(all, followed, hidden);
    if (2 * followed.size() > all.n_)
      break;
    NearKernel kernel(all.kernel_, followed, hidden, memory_.values);
    kernel.reserve(all.margin_.members.size());
    PathWalker part(all, kernel);
    part.margin_.factor = std::move(all.margin_.factor);
    PathStatus status = PathStatus::arrived;
    const PieceCounts begin = all.recorder_.counts();
    std::swap(part.near_.followed, memory_.followed);
    if (all.recorder_.is_on())
      part.record_in(all.recorder_);
    const Turn turn =
        part.walk_part(to, time_share_ * time, {status, limits.max_events, limits.watch});
    part.residuals_.settle();
    part.settle_betas();
    if (all.recorder_.is_on())
      part.recorder_.swap_pieces(all.recorder_);
    const std::int64_t n_events = part.counts_.n_events - all.counts_.n_events;
    part.near_.is_lost |=
        all.recorder_.is_on() && all.recorder_.counts().n_pieces == begin.n_pieces;
    const bool is_good = !part.near_.is_lost &&
                         (all.recorder_.is_on() ? follow(all, part, begin) : move_far(all, part));
    all.margin_.factor = std::move(part.margin_.factor);
    std::swap(part.near_.followed, memory_.followed);
    if (is_good) {
      take_over(all, part);
    } else {
      all.recorder_.cut(begin);
      limits.status = restore_factor(all, part);
      if (limits.status != PathStatus::arrived)
        return Turn::goes_on;
    }
    ++(is_good ? all.counts_.n_parts : all.counts_.n_dropped);
    time_share_ =
        std::min(time_share_ * (is_good ? share_if_good : share_if_dropped), most_of_time);
    if (part.near_.is_lost) {
      wait_after(all, part, 0);
      break;
    }
    if (is_good) {
      wait_after(all, part, n_events);
      limits.status = status;
      return turn;
    }
  }
  return Turn::goes_on;
}

/// Who is near, but for all but some of the members.
void LocalWalk::list_near(const PathWalker& all, std::vector<std::uint32_t>& followed,
                          std::vector<std::uint32_t>& hidden) const {
  followed.clear();
  hidden.clear();
  for (std::size_t i = 0; i < all.n_; ++i)
    if (is_near_[i] && all.place_[i] != Place::margin)
      followed.push_back(static_cast<std::uint32_t>(i));
  const std::size_t stride =
      std::max<std::size_t>(1, all.margin_.members.size() / members_followed);
  for (std::size_t k = 0; k < all.margin_.members.size(); ++k)
    (k % stride == 0 ? followed : hidden).push_back(all.margin_.members[k]);
}

/// Where parts are short, as a long step or ties make them, turns on all instances are cheaper.
void LocalWalk::wait_after(const PathWalker& all, const PathWalker& part, std::int64_t n_events) {
  const bool is_worth_it = n_events >= least_events;
  turns_waited_ = is_worth_it ? 0 : std::min(2 * turns_waited_ + 2, most_waited);
  turns_left_ = turns_waited_;
  // A turn on all instances now and then looks at the whole margin set for rounding.
  has_rates_ = all.recorder_.is_on() && is_worth_it && !part.near_.needs_all &&
               all.counts_.n_parts % parts_between_turns != 0;
}

/// The factor of a part that is dropped becomes that of the margin set again: who came goes, and
/// who went comes back.
PathStatus LocalWalk::restore_factor(PathWalker& all, const PathWalker& part) {
  const auto which = part.near_.kernel->which();
  std::vector<std::uint32_t> members;
  std::vector<std::int8_t> is_there(all.n_, 0);
  for (const std::uint32_t k : part.margin_.members)
    members.push_back(which[k]);
  for (std::size_t k = members.size(); k-- > 0;) {
    is_there[members[k]] = all.place_[members[k]] == Place::margin;
    if (!is_there[members[k]]) {
      all.margin_.factor.remove(k);
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  all.margin_.is_carried = false;
  for (std::size_t k = 0; k < all.margin_.members.size(); ++k) {
    const std::uint32_t i = all.margin_.members[k];
    if (is_there[i])
      continue;
    const double pivot =
        all.margin_.factor.try_insert(all.margin_.column_of(i, all.margin_.row_of(k), members),
                                      all.margin_.block_value(all.margin_.row_of(k), i, i));
    if (!(pivot > PathWalker::least_start_pivot))
      return all.build_factor();
    all.margin_.factor.insert_tried(0.0);
    members.push_back(i);
  }
  all.counts_.n_updates = part.counts_.n_updates;
  all.margin_.assign(all.kernel_, std::move(members));
  return PathStatus::arrived;
}

/// Whether nobody left its interval on a part that was recorded from `begin` on. If so, far_e_ are
/// the residuals at its end, those of all instances get their rates, and scores are summed.
bool LocalWalk::follow(PathWalker& all, const PathWalker& part, const PieceCounts& begin) {
  return Followers(all, is_near_, memory_.following).follow(part, begin, far_e_);
}

/// far_e_ = residuals of all instances where the part is now:
/// e + time (h + return) + change of the bias + K (change of betas - time rates).
/// Returns whether nobody left its interval.
bool LocalWalk::move_far(const PathWalker& all, const PathWalker& part) {
  const double time = part.tau_ - all.tau_, shift = part.bias_ - all.bias_;
  far_e_.resize(all.width_);
  for (std::size_t i = 0; i < all.width_; ++i)
    far_e_[i] =
        all.residuals_.e[i] + time * (all.rates_.h[i] + all.residuals_.give_back[i]) + shift;
  std::vector<std::size_t> moved;
  std::vector<double> by;
  const auto which = part.near_.kernel->which();
  for (std::size_t k = 0; k < which.size(); ++k) {
    const std::size_t i = which[k];
    if (i == NearKernel::nobody)
      continue;
    const double change = part.beta_[k] - all.beta_[i] - time * all.rates_.rate[i];
    if (change != 0) {
      moved.push_back(i);
      by.push_back(change);
    }
  }
  multiply_add(all.kernel_, moved, by, std::span(far_e_).first(all.n_));
  return !find_violators(all);
}

/// Marks those that are not near and whose residual left its interval.
bool LocalWalk::find_violators(const PathWalker& all) {
  const double floor = all.rounding_floor();
  bool is_found = false;
  for (std::size_t i = 0; i < all.n_; ++i)
    if (!is_near_[i] &&
        (far_e_[i] < all.residuals_.lo[i] - floor || far_e_[i] > all.residuals_.hi[i] + floor)) {
      is_near_[i] = 1;
      is_found = true;
    }
  return is_found;
}

/// The part is where all are.
void LocalWalk::take_over(PathWalker& all, PathWalker& part) {
  std::swap(all.residuals_.e, far_e_);
  std::vector<std::size_t> changed;
  std::vector<double> by;
  const auto which = part.near_.kernel->which();
  for (std::size_t k = 0; k < which.size(); ++k) {
    const std::size_t i = which[k];
    if (i == NearKernel::nobody)
      continue;
    if (part.rates_.rate[k] != all.rates_.rate[i]) {
      changed.push_back(i);
      by.push_back(part.rates_.rate[k] - all.rates_.rate[i]);
    }
    all.beta_[i] = part.beta_[k];
    all.residuals_.e[i] = part.residuals_.e[k];
    all.residuals_.lo[i] = part.residuals_.lo[k];
    all.residuals_.hi[i] = part.residuals_.hi[k];
    all.rates_.rate[i] = part.rates_.rate[k];
    all.place_[i] = part.place_[k];
    all.side_[i] = part.side_[k];
  }
  all.rates_.n_moving = part.rates_.n_moving;
  all.rates_.size = part.rates_.size;
  all.rates_.largest_size = part.rates_.largest_size;
  if (!all.rates_.stand_still()) {
    multiply_add(all.kernel_, changed, by, std::span(all.rates_.h).first(all.n_));
    all.renew_rates();
  }
  std::vector<std::uint32_t> members;
  for (const std::uint32_t k : part.margin_.members)
    members.push_back(which[k]);
  all.margin_.assign(all.kernel_, std::move(members));
  all.margin_.is_carried = false;
  all.tau_ = part.tau_;
  all.bias_ = part.bias_;
  all.moved_ += part.moved_;
  all.n_idle_ = part.n_idle_;
  all.counts_ = part.counts_;
}

/// The part of a walk that `kernel` names, where that is now.
PathWalker::PathWalker(const PathWalker& all, NearKernel& kernel)
    : kernel_(kernel), model_(all.model_), near_{.kernel = &kernel} {
  grow();
  residuals_.n_followed = padded(kernel.n_followed());
  const auto which = kernel.which();
  std::vector<std::uint32_t> place_of(all.n_);
  for (std::size_t k = 0; k < which.size(); ++k)
    if (which[k] != NearKernel::nobody)
      place_of[which[k]] = static_cast<std::uint32_t>(k);
  const auto take = [&](auto& to, const auto& from) {
    for (std::size_t k = 0; k < which.size(); ++k)
      if (which[k] != NearKernel::nobody)
        to[k] = from[which[k]];
  };
  take(lower_scale_, all.lower_scale_);
  take(upper_scale_, all.upper_scale_);
  take(c0_, all.c0_);
  take(dc_, all.dc_);
  take(beta_, all.beta_);
  take(drive_end_, all.drive_end_);
  take(residuals_.e, all.residuals_.e);
  take(residuals_.lo, all.residuals_.lo);
  take(residuals_.hi, all.residuals_.hi);
  take(rates_.h, all.rates_.h);
  take(rates_.rate, all.rates_.rate);
  take(residuals_.give_back, all.residuals_.give_back);
  take(margin_.origin, all.margin_.origin);
  take(place_, all.place_);
  take(side_, all.side_);
  near_.far_rates = all.sum_of_rates() - sum_of_rates();
  for (const std::uint32_t i : all.margin_.members)
    margin_.members.push_back(place_of[i]);
  margin_.rows.resize(margin_.members.size());
  margin_.pointers = kernel.followed_rows(all.margin_.members);
  rates_.n_moving = all.rates_.n_moving;
  tau_ = all.tau_;
  drive_begin_ = all.drive_begin_;
  walk_end_ = all.walk_end_;
  bias_ = all.bias_;
  sum_return_ = all.sum_return_;
  margin_.sigma = all.margin_.sigma;
  scale_ = all.scale_;
  rates_.size = all.rates_.size;
  rates_.largest_size = all.rates_.largest_size;
  target_scale_ = all.target_scale_;
  has_return_ = all.has_return_;
  is_paused_ = all.is_paused_;
  n_idle_ = all.n_idle_;
  updates_at_refresh_ = all.updates_at_refresh_;
  counts_ = all.counts_;
}

/// Instance i of a part among all.
std::uint32_t PathWalker::instance(std::size_t i) const {
  return near_.kernel != nullptr ? near_.kernel->which()[i] : static_cast<std::uint32_t>(i);
}

/// Where the residual of member i is kept up to date from now on, in a part.
std::size_t PathWalker::follow(std::size_t i) {
  if (near_.kernel == nullptr || i < residuals_.n_followed)
    return i;
  if (!near_.kernel->has_room()) {
    near_.is_lost = true;
    return i;
  }
  const std::size_t to = near_.kernel->follow(i);
  near_.followed.set_before(to, margin_of(i));
  for (auto* v : {&lower_scale_, &upper_scale_, &c0_, &dc_, &beta_, &drive_end_, &residuals_.e,
                  &rates_.h, &rates_.rate, &residuals_.give_back, &margin_.origin})
    (*v)[to] = (*v)[i];
  residuals_.rate[to] = 0; // its residual is the caller's to set
  side_[to] = side_[i];
  place_[i] = Place::absent;
  residuals_.n_followed = padded(to + 1);
  return to;
}

/// The pieces so far, which go on with those of this part.
void PathWalker::record_in(Recorder& all) {
  recorder_.go_on_with(all);
  near_.followed.begin(near_.kernel->n_places());
}

/// Whether a turn of a part that is recorded needs all instances: for the rounding of a long step,
/// or for the bias.
bool PathWalker::needs_others(double step) const {
  return recorder_.is_on() &&
         (needs_refinement(step) || (model_.has_equality && are_members_bounded()));
}

/// Turns until the time is over, the walk is, or something needs all instances.
Turn PathWalker::walk_part(double to, double horizon, const WalkLimits& limits) {
  const double end = tau_ + horizon;
  for (std::size_t k = 0; k < NearKernel::max_turns && tau_ < end; ++k) {
    const bool is_seen = std::any_of(margin_.members.begin(), margin_.members.end(),
                                     [&](std::uint32_t i) { return i < residuals_.n_followed; });
    if (!is_seen || near_.is_lost || near_.needs_all || n_idle_ > max_idle ||
        must_end(limits.status, limits.max_events, limits.watch))
      break;
    const Turn turn = take_turn(to, limits.status);
    if (turn != Turn::goes_on)
      return turn;
  }
  return Turn::goes_on;
}

} // namespace alphapath
