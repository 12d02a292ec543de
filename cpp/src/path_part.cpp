// A part of a walk (path_near.cpp): the walker on the near instances alone.

#include "near_kernel.hpp"
#include "path_walker.hpp"

#include <algorithm>

namespace alphapath {

/// The part of a walk that `kernel` names, where that is now.
PathWalker::PathWalker(const PathWalker& all, NearKernel& kernel)
    : kernel_(kernel), model_(all.model_), near_kernel_(&kernel) {
  grow();
  followed_ = padded(kernel.n_followed());
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
  take(e_, all.e_);
  take(lo_, all.lo_);
  take(hi_, all.hi_);
  take(h_, all.h_);
  take(rate_, all.rate_);
  take(return_, all.return_);
  take(origin_, all.origin_);
  take(place_, all.place_);
  take(side_, all.side_);
  far_rates_ = all.sum_of_rates() - sum_of_rates();
  for (const std::uint32_t i : all.members_)
    members_.push_back(place_of[i]);
  rows_.resize(members_.size());
  row_pointers_ = kernel.followed_rows(all.members_);
  n_moving_ = all.n_moving_;
  tau_ = all.tau_;
  drive_begin_ = all.drive_begin_;
  walk_end_ = all.walk_end_;
  bias_ = all.bias_;
  sum_return_ = all.sum_return_;
  sigma_ = all.sigma_;
  scale_ = all.scale_;
  rates_size_ = all.rates_size_;
  largest_rates_ = all.largest_rates_;
  target_scale_ = all.target_scale_;
  has_return_ = all.has_return_;
  is_paused_ = all.is_paused_;
  n_idle_ = all.n_idle_;
  updates_at_refresh_ = all.updates_at_refresh_;
  counts_ = all.counts_;
}

/// Instance i of a part among all.
std::uint32_t PathWalker::instance(std::size_t i) const {
  return near_kernel_ != nullptr ? near_kernel_->which()[i] : static_cast<std::uint32_t>(i);
}

/// Where the residual of member i is kept up to date from now on, in a part.
std::size_t PathWalker::follow(std::size_t i) {
  if (near_kernel_ == nullptr || i < followed_)
    return i;
  if (!near_kernel_->has_room()) {
    is_lost_ = true;
    return i;
  }
  const std::size_t to = near_kernel_->follow(i);
  followed_e_.set_before(to, margin_of(i));
  for (auto* v : {&lower_scale_, &upper_scale_, &c0_, &dc_, &beta_, &drive_end_, &e_, &h_, &rate_,
                  &return_, &origin_})
    (*v)[to] = (*v)[i];
  de_[to] = 0; // its residual is the caller's to set
  side_[to] = side_[i];
  place_[i] = Place::absent;
  followed_ = padded(to + 1);
  return to;
}

/// The pieces so far, which go on with those of this part.
void PathWalker::record_in(PathPieces& pieces, bool keeps_pieces) {
  std::swap(pieces_, pieces);
  is_recording_ = true;
  keeps_pieces_ = keeps_pieces;
  followed_e_.begin(near_kernel_->n_places());
}

/// Whether a turn of a part that is recorded needs all instances: for the rounding of a long step,
/// or for the bias.
bool PathWalker::needs_others(double step) const {
  return is_recording_ &&
         (needs_refinement(step) || (model_.has_equality && are_members_bounded()));
}

/// Turns until the time is over, the walk is, or something needs all instances.
PathWalker::Turn PathWalker::walk_part(double to, double horizon, const Limits& limits) {
  const double end = tau_ + horizon;
  for (std::size_t k = 0; k < NearKernel::max_turns && tau_ < end; ++k) {
    const bool is_seen = std::any_of(members_.begin(), members_.end(),
                                     [&](std::uint32_t i) { return i < followed_; });
    if (!is_seen || is_lost_ || needs_all_ || n_idle_ > max_idle ||
        must_end(limits.status, limits.max_events, limits.watch))
      break;
    const Turn turn = take_turn(to, limits.status);
    if (turn != Turn::goes_on)
      return turn;
  }
  return Turn::goes_on;
}

} // namespace alphapath
