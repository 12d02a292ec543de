#include "dual/active_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

// Of those that would leave the box, some leave at once: those that would meet its end before so
// many times the time of the first.
constexpr double reach = 3;
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
      const double* values = read_row(moved_[r]);
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
    candidates_.push_back({slope, static_cast<std::uint32_t>(i)});
  }
  std::stable_sort(
      candidates_.begin(), candidates_.end(),
      [](const Candidate& a, const Candidate& b) { return std::abs(a.slope) > std::abs(b.slope); });
}

/// Whether the members' slopes are 0 by the gradient, too: a factor may have lost digits.
bool ActiveSet::is_settled(std::span<const double> gradient, double bias, double tol) const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](std::uint32_t i) { return std::abs(gradient[i] + bias) <= tol / 2; });
}

void ActiveSet::foresee(const BoxProblem& problem, std::span<const double> beta,
                        std::span<const double> gradient, std::span<const double> change,
                        double total, std::span<double> slopes) {
  take_free(problem, beta);
  slopes_.clear();
  for (const std::uint32_t i : members_)
    slopes_.push_back(gradient[i] + change[i]);
  const double missing = problem.total - total - std::accumulate(beta.begin(), beta.end(), 0.0);
  const double bias = members_.empty() ? 0.0 : find_step(missing);
  for (std::size_t i = 0; i < slopes.size(); ++i)
    slopes[i] = gradient[i] + change[i] + bias;
  moved_.assign(members_.begin(), members_.end());
  multiply_add(kernel_, moved_, step_, slopes);
}

bool ActiveSet::solve(const BoxProblem& problem, std::span<double> beta, std::span<double> gradient,
                      double tol, std::span<const double> foreseen) {
  std::fill(has_flipped_.begin(), has_flipped_.end(), char{0});
  if (foreseen.empty()) {
    take_free(problem, beta);
  } else if (!members_.empty()) {
    find_candidates(problem, beta, foreseen, 0, tol);
    move_candidates(problem, beta, gradient);
  }
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
    move_candidates(problem, beta, gradient);
  }
  return false;
}

} // namespace alphapath
