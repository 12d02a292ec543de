#include "free_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

constexpr std::size_t usual_holes = 8;

/// A member that depends on earlier ones has a direction without curvature: follow it downhill to
/// the first bound, where one of those involved leaves the free set. Once an independent member has
/// left, the other directions are no longer flat; false then: the rest needs a new factor.
bool follow_null_directions(Face& face, const Factor& factor, std::span<const double> slopes) {
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

/// The leading members of the last factor worth keeping: those still free, and a few that are not.
/// Such a hole is fixed on the face by one solve, which is cheaper than to factor what follows it.
void FreeSet::keep_prefix(const std::vector<std::uint32_t>& free, std::size_t max_holes) {
  is_free_.assign(n_, 0);
  for (const std::uint32_t i : free)
    is_free_[i] = 1;
  const std::vector<std::uint32_t>& members = factor_.members();
  holes_.clear();
  std::size_t k = 0;
  for (; k < members.size() && !factor_.is_dependent(k); ++k)
    if (!is_free_[members[k]]) {
      if (holes_.size() == max_holes)
        break;
      holes_.push_back(k);
    }
  n_kept_ = k;
  while (!holes_.empty() && holes_.back() + 1 == n_kept_) {
    holes_.pop_back();
    --n_kept_;
  }
}

void FreeSet::order_members(const BoxProblem& problem, const std::vector<std::uint32_t>& free,
                            std::span<const double> beta, std::size_t max_holes) {
  keep_prefix(free, max_holes);
  order_.assign(factor_.members().begin(),
                factor_.members().begin() + static_cast<std::ptrdiff_t>(n_kept_));
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

double FreeSet::estimate_cost(const std::vector<std::uint32_t>& free, double n_expected_hits) {
  keep_prefix(free, usual_holes);
  const double m = static_cast<double>(free.size() + holes_.size());
  const double kept = static_cast<double>(n_kept_);
  const double factor = (m * m * m - kept * kept * kept) / 50 + (m * m - kept * kept) * 0.75;
  const double n_hits = n_expected_hits + static_cast<double>(holes_.size());
  return least_cost(free.size(), n_) + factor + n_hits * m * m * 0.5;
}

int FreeSet::minimise(const BoxProblem& problem, std::vector<std::uint32_t> free,
                      std::span<const double> gradient, std::span<double> beta, Watch& watch) {
  std::vector<double> slopes;
  int n_left = 0; // members that left along null directions
  for (;;) {
    order_members(problem, free, beta, usual_holes);
    if (!factor_.set_members(order_, n_kept_, watch))
      return -1;
    if (!holes_.empty() &&
        factor_.has_dependents()) { // null directions need a factor without holes
      order_members(problem, free, beta, 0);
      if (!factor_.set_members(order_, n_kept_, watch))
        return -1;
    }
    slopes.clear();
    for (const std::uint32_t i : order_)
      slopes.push_back(gradient[i] + (beta[i] > 0 ? problem.epsilon : -problem.epsilon));
    Face face(problem, factor_, beta);
    if (!face.is_sound())
      return -1;
    for (const std::size_t hole : holes_)
      if (!face.fix(hole))
        return -1;
    if (follow_null_directions(face, factor_, slopes))
      return n_left + follow_newton(face, slopes, watch);
    ++n_left;
    std::erase_if(free, [&](std::uint32_t i) { return !is_free(problem, i, beta[i]); });
  }
}

/// Newton's direction and its corrections at bounds; returns the number of bounds hit.
int FreeSet::follow_newton(Face& face, std::span<const double> slopes, Watch& watch) const {
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
