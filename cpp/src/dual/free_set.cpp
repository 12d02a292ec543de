#include "dual/free_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

// Beyond these a factor is made anew: the share of members to take out, and how often all of them
// may have been taken out before, for the sake of rounding.
constexpr double max_share_removed = 0.4;
constexpr std::size_t max_turnover = 20;

/// Nanoseconds by count of a factor of m members, of which `kept` are there once `removed` others
/// are taken out.
double factor_cost(double m, double kept, double removed) {
  return (m * m * m - kept * kept * kept) / 50 + (m * m - kept * kept) * 0.75 +
         removed / 8 * m * m * 0.25;
}

/// A member that depends on earlier ones has a direction without curvature: follow it downhill to
/// the first bound, where one of those involved leaves the free set. Once an independent member has
/// left, the other directions are no longer flat; false then: the rest needs a new factor.
bool follow_null_directions(BoxFace& face, const FreeSetFactor& factor,
                            std::span<const double> slopes) {
  std::vector<double> direction(face.size());
  for (std::size_t j = 0; j < face.size(); ++j) {
    if (!factor.is_dependent(j))
      continue;
    const double curvature = factor.null_vector(j, direction);
    face.project(direction);
    const double slope =
        std::inner_product(direction.begin(), direction.end(), slopes.begin(), 0.0);
    if (slope > 0)
      for (double& d : direction)
        d = -d;
    const double newton =
        curvature > 0 ? std::abs(slope) / curvature : std::numeric_limits<double>::infinity();
    const auto [blocking, step] = face.step(direction, newton);
    if (blocking < face.size() && blocking != j)
      return false;
    face.hold(j);
  }
  return true;
}

} // namespace

/// Which members of the last factor stay: those still free, up to the first dependent one.
void FreeSet::find_kept(const std::vector<std::uint32_t>& free) {
  is_free_.assign(n_, 0);
  for (const std::uint32_t i : free)
    is_free_[i] = 1;
  const std::vector<std::uint32_t>& members = factor_.members();
  removed_.clear();
  n_considered_ = 0;
  for (std::size_t k = 0; k < members.size() && !factor_.is_dependent(k); ++k)
    if (is_free_[members[k]])
      n_considered_ = k + 1;
    else
      removed_.push_back(k);
  while (!removed_.empty() && removed_.back() >= n_considered_)
    removed_.pop_back();
  if (static_cast<double>(removed_.size()) >
          max_share_removed * static_cast<double>(n_considered_) ||
      factor_.n_removed() > max_turnover * (n_considered_ + 1)) {
    removed_.clear();
    n_considered_ = 0;
  }
}

/// Brings the factor down to what is kept, and order_ to that followed by the new members.
void FreeSet::order_members(const BoxProblem& problem, const std::vector<std::uint32_t>& free,
                            std::span<const double> beta) {
  find_kept(free);
  order_.assign(factor_.members().begin(),
                factor_.members().begin() + static_cast<std::ptrdiff_t>(n_considered_));
  std::erase_if(order_, [&](std::uint32_t i) { return !is_free_[i]; });
  factor_.remove(removed_);
  n_kept_ = order_.size();
  for (const std::uint32_t i : order_)
    is_free_[i] = 0;
  for (const std::uint32_t i : free)
    if (is_free_[i])
      order_.push_back(i);
  const auto distance = [&](std::uint32_t i) {
    const Piece piece = smooth_piece(problem, i, beta[i]);
    return std::min(beta[i] - piece.lower, piece.upper - beta[i]);
  };
  // Those near a bound will leave first: at the end they cost the factor little.
  std::stable_sort(order_.begin() + static_cast<std::ptrdiff_t>(n_kept_), order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return distance(a) > distance(b); });
}

double FreeSet::own_cost(const std::vector<std::uint32_t>& free) {
  find_kept(free);
  const double n_removed = static_cast<double>(removed_.size());
  return factor_cost(static_cast<double>(free.size()),
                     static_cast<double>(n_considered_) - n_removed, n_removed);
}

double FreeSet::offered_cost(const std::vector<std::uint32_t>& free) {
  if (!offer_.make)
    return std::numeric_limits<double>::infinity();
  is_free_.assign(n_, 0);
  for (const std::uint32_t i : free)
    is_free_[i] = 1;
  const auto n_kept = std::ranges::count_if(offer_.members, [&](auto i) { return is_free_[i]; });
  const double kept = static_cast<double>(n_kept);
  return offer_.cost + factor_cost(static_cast<double>(free.size()), kept,
                                   static_cast<double>(offer_.members.size()) - kept);
}

double FreeSet::estimate_cost(const std::vector<std::uint32_t>& free, double n_expected_hits) {
  return least_cost(free.size(), n_, n_expected_hits) +
         std::min(own_cost(free), offered_cost(free));
}

void FreeSet::offer(std::vector<std::uint32_t> members, double share,
                    std::function<const FreeSet&()> make) {
  clear();
  const double cost = share * factor_cost(static_cast<double>(members.size()), 0, 0);
  offer_ = {std::move(members), cost, std::move(make)};
}

void FreeSet::take_offer(const std::vector<std::uint32_t>& free) {
  if (offered_cost(free) < own_cost(free))
    factor_.copy_from(offer_.make().factor_);
  offer_ = {};
}

void FreeSet::prepare(const BoxProblem& problem, const std::vector<std::uint32_t>& members,
                      std::span<const double> beta, Watch& watch) {
  clear();
  order_members(problem, members, beta);
  factor_.set_members(order_, 0, watch);
}

int FreeSet::minimise(const BoxProblem& problem, std::vector<std::uint32_t> free,
                      std::span<const double> gradient, std::span<double> beta, Watch& watch) {
  std::vector<double> slopes;
  take_offer(free);
  int n_left = 0; // members that left along null directions
  for (;;) {
    order_members(problem, free, beta);
    if (!factor_.set_members(order_, n_kept_, watch))
      return -1;
    slopes.clear();
    for (const std::uint32_t i : order_)
      slopes.push_back(gradient[i] + (beta[i] > 0 ? problem.epsilon : -problem.epsilon));
    BoxFace face(problem, factor_, beta);
    if (!face.is_sound())
      return -1;
    if (follow_null_directions(face, factor_, slopes))
      return n_left + follow_newton(face, slopes, watch);
    ++n_left;
    std::erase_if(free, [&](std::uint32_t i) { return !is_free(problem, i, beta[i]); });
  }
}

/// Newton's direction and its corrections at bounds; returns the number of bounds hit.
int FreeSet::follow_newton(BoxFace& face, std::span<const double> slopes, Watch& watch) const {
  std::vector<double> direction(face.size());
  for (std::size_t k = 0; k < face.size(); ++k)
    direction[k] = -slopes[k];
  factor_.solve(direction);
  face.project(direction);
  const int max_hits = std::max(16, static_cast<int>(face.size() / 4));
  for (int n_hits = 0;; ++n_hits) {
    const auto [blocking, step] = face.step(direction, 1.0);
    if (blocking == face.size() || n_hits == max_hits || !face.fix(blocking) || watch.should_stop())
      return n_hits;
    for (double& d : direction)
      d *= 1 - step;
    face.deflect(direction);
  }
}

} // namespace alphapath
