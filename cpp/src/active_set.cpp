#include "active_set.hpp"

#include "simd/triangular.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

// Of those that would leave the box, some leave at once: those that would meet its end before so
// many times the time of the first.
constexpr double reach = 3;
// How many may enter in one round: so many, and a share of the members.
constexpr std::size_t least_entering = 16, entering_share = 8;
constexpr double unknown = -1;
constexpr int max_rounds = 60;
// Rounds in a row that do not leave fewer candidates than ever before.
constexpr int max_fruitless = 20;

} // namespace

/// The step of the members to where they are optimal, and `total` is added to their sum, by
/// slopes_; returns the bias there.
double ActiveSet::find_step(double total) {
  const std::size_t m = members_.size();
  step_.resize(m);
  for (std::size_t k = 0; k < m; ++k)
    step_[k] = -slopes_[k] - origin_[members_[k]] * total;
  factor_.carry(step_);
  double bias = factor_.solve_bordered(step_, total) + sigma_ * total;
  for (std::size_t k = 0; k < m; ++k)
    bias -= origin_[members_[k]] * step_[k];
  return bias;
}

/// Marks the members that leave the box first along the step. False where nobody leaves it.
bool ActiveSet::find_leavers(const BoxProblem& problem, std::span<const double> beta) {
  const std::size_t m = members_.size();
  constexpr double never = std::numeric_limits<double>::infinity();
  const auto time = [&](std::size_t k) {
    const std::size_t i = members_[k];
    const double to = beta[i] + step_[k];
    if (to >= problem.upper[i])
      return (problem.upper[i] - beta[i]) / step_[k];
    return to <= problem.lower[i] ? (problem.lower[i] - beta[i]) / step_[k] : never;
  };
  double first = never;
  for (std::size_t k = 0; k < m; ++k)
    first = std::min(first, time(k));
  leaves_.assign(m, 0);
  if (first == never)
    return false;
  for (std::size_t k = 0; k < m; ++k)
    leaves_[k] = time(k) <= reach * first;
  return true;
}

/// Betas of the members that are optimal while all others stay; whoever leaves the box on the way
/// is put on its end. Returns the bias.
double ActiveSet::settle(const BoxProblem& problem, std::span<double> beta,
                         std::span<double> gradient) {
  double total = problem.total - std::accumulate(beta.begin(), beta.end(), 0.0);
  slopes_.clear();
  for (const std::uint32_t i : members_)
    slopes_.push_back(gradient[i]);
  moved_.clear();
  moves_.clear();
  ends_.clear();
  double bias = 0;
  while (!members_.empty()) {
    bias = find_step(total);
    if (!find_leavers(problem, beta))
      break;
    const std::size_t n_before = moved_.size();
    for (std::size_t k = 0; k < members_.size(); ++k)
      if (leaves_[k]) {
        const std::size_t i = members_[k];
        moved_.push_back(i);
        ends_.push_back(step_[k] > 0 ? problem.upper[i] : problem.lower[i]);
        moves_.push_back(ends_.back() - beta[i]);
        total -= moves_.back();
      }
    const std::vector<std::uint32_t> before = members_;
    remove_leavers();
    // Members keep their order; a factor made anew may have lost some that depend on others.
    std::size_t k = 0;
    for (std::size_t q = 0; q < members_.size(); ++q, ++k) {
      while (before[k] != members_[q])
        ++k;
      slopes_[q] = slopes_[k];
    }
    slopes_.resize(members_.size());
    for (std::size_t r = n_before; r < moved_.size(); ++r) {
      const KernelRow pin = kernel_.row(moved_[r]);
      const double* values = values_of(pin);
      for (std::size_t q = 0; q < members_.size(); ++q)
        slopes_[q] += moves_[r] * values[members_[q]];
    }
  }
  for (std::size_t r = 0; r < moved_.size(); ++r)
    beta[moved_[r]] = ends_[r];
  for (std::size_t k = 0; k < members_.size(); ++k) {
    beta[members_[k]] += step_[k];
    moved_.push_back(members_[k]);
    moves_.push_back(step_[k]);
  }
  multiply_add(kernel_, moved_, moves_, gradient);
  return bias;
}

/// Those at a bound that would rather not be, the worst first.
void ActiveSet::find_candidates(const BoxProblem& problem, std::span<const double> beta,
                                std::span<const double> gradient, double bias, double tol) {
  candidates_.clear();
  for (std::size_t i = 0; i < beta.size(); ++i) {
    const double slope = gradient[i] + bias;
    if (is_member_[i] || std::abs(slope) <= tol / 2 ||
        !(slope < 0 ? beta[i] < problem.upper[i] : beta[i] > problem.lower[i]))
      continue;
    candidates_.push_back({std::abs(slope), static_cast<std::uint32_t>(i), unknown});
  }
  std::stable_sort(
      candidates_.begin(), candidates_.end(),
      [](const Candidate& a, const Candidate& b) { return a.violation > b.violation; });
}

/// Whether instance i may go to its other bound: the member next to it, which makes up for most of
/// the move, has the room for that, and it is the first time.
bool ActiveSet::has_room(const BoxProblem& problem, std::span<const double> beta, std::size_t i,
                         std::size_t nearest) const {
  const double room = beta[i] < problem.upper[i] ? beta[nearest] - problem.lower[nearest]
                                                 : problem.upper[nearest] - beta[nearest];
  return !has_flipped_[i] && room > problem.upper[i] - problem.lower[i];
}

/// Whether the slope of a candidate asks for a longer move than its box has, by its pivot.
bool ActiveSet::asks_for_more(const BoxProblem& problem, const Candidate& c, double pivot) const {
  return c.violation > pivot * (problem.upper[c.instance] - problem.lower[c.instance]);
}

/// The candidate goes to its other bound. Candidates next to it that ask for the same have less to
/// ask for then: with pivots p and q and the squared distance d, a move of 1 takes at least
/// (p + q - d) / 2 off.
void ActiveSet::flip(const BoxProblem& problem, std::span<double> beta, std::size_t position) {
  const Candidate& own = candidates_[position];
  const std::size_t i = own.instance;
  const bool rises = beta[i] < problem.upper[i];
  const double width = problem.upper[i] - problem.lower[i];
  const KernelRow pin = kernel_.row(i);
  const double* values = values_of(pin);
  const auto diagonal = kernel_.diagonal();
  for (std::size_t r = position + 1; r < candidates_.size(); ++r) {
    Candidate& other = candidates_[r];
    const std::size_t j = other.instance;
    const double squared_distance = diagonal[i] + diagonal[j] - 2 * values[j];
    if ((beta[j] < problem.upper[j]) != rises || squared_distance >= own.distance)
      continue;
    if (other.distance == unknown)
      other.distance = find_nearest(j).second;
    const double taken = (own.distance + other.distance - squared_distance) / 2;
    other.violation -= std::max(taken, 0.0) * width;
  }
  const double end = rises ? problem.upper[i] : problem.lower[i];
  moved_.push_back(i);
  moves_.push_back(end - beta[i]);
  beta[i] = end;
  has_flipped_[i] = 1;
}

/// Candidates become members, or go to their other bounds, the worst first.
void ActiveSet::move_candidates(const BoxProblem& problem, std::span<double> beta,
                                std::span<double> gradient, double tol) {
  moved_.clear();
  moves_.clear();
  const std::size_t most = members_.size() + least_entering + members_.size() / entering_share;
  std::vector<std::size_t> group;
  for (std::size_t q = 0; q < candidates_.size() && members_.size() < most; ++q) {
    Candidate& c = candidates_[q];
    if (c.violation <= tol / 2)
      continue;
    const auto [nearest, distance] = find_nearest(c.instance);
    c.distance = distance;
    if (asks_for_more(problem, c, distance) && has_room(problem, beta, c.instance, nearest))
      flip(problem, beta, q);
    else if (distance > least_pivot * sigma_) // not equal to a member
      group.push_back(q);
    if (group.size() == simd::right_sides) {
      insert_group(problem, beta, group);
      group.clear();
    }
  }
  insert_group(problem, beta, group);
  multiply_add(kernel_, moved_, moves_, gradient);
}

/// Some candidates, whose columns are solved for together.
void ActiveSet::insert_group(const BoxProblem& problem, std::span<double> beta,
                             std::span<const std::size_t> group) {
  constexpr std::size_t width = simd::right_sides;
  const std::size_t m = members_.size();
  columns_.assign(m * width, 0.0);
  for (std::size_t g = 0; g < group.size(); ++g) {
    const std::uint32_t i = candidates_[group[g]].instance;
    const KernelRow pin = kernel_.row(i);
    for (std::size_t k = 0; k < m; ++k)
      columns_[k * width + g] = block_value(values_of(pin), i, members_[k]);
  }
  factor_.solve_together(columns_);
  for (std::size_t g = 0; g < group.size(); ++g) {
    const Candidate c = candidates_[group[g]];
    const double pivot = try_insert(c.instance, m, columns_.data() + g);
    if (asks_for_more(problem, c, pivot) &&
        has_room(problem, beta, c.instance, find_nearest(c.instance).first))
      flip(problem, beta, group[g]);
    else if (pivot > 0)
      accept(c.instance);
  }
}

/// Whether the members' slopes are 0 by the gradient, too: a factor may have lost digits.
bool ActiveSet::is_settled(std::span<const double> gradient, double bias, double tol) const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](std::uint32_t i) { return std::abs(gradient[i] + bias) <= tol / 2; });
}

bool ActiveSet::solve(const BoxProblem& problem, std::span<double> beta, std::span<double> gradient,
                      double tol) {
  take_free(problem, beta);
  std::fill(has_flipped_.begin(), has_flipped_.end(), char{0});
  std::size_t fewest = beta.size() + 1;
  int n_fruitless = 0;
  for (int round = 0; round < max_rounds && !members_.empty() && n_fruitless < max_fruitless;
       ++round) {
    ++n_rounds_;
    const double bias = settle(problem, beta, gradient);
    if (members_.empty())
      return false;
    find_candidates(problem, beta, gradient, bias, tol);
    if (candidates_.empty() && is_settled(gradient, bias, tol))
      return true;
    n_fruitless = candidates_.size() < fewest ? 0 : n_fruitless + 1;
    fewest = std::min(fewest, candidates_.size());
    move_candidates(problem, beta, gradient, tol);
  }
  return false;
}

} // namespace alphapath
