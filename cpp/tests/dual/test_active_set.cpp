// Active sets: optimal from a solution nearby, whatever moved; and transduction on top of them.

#include "dual/active_set.hpp"
#include "dual/solve_smo.hpp"
#include "factor/margin_set_factor.hpp"
#include "problem/solution.hpp"
#include "sequence/transduction.hpp"
#include "support/check.hpp"
#include "support/numbers.hpp"
#include "support/plain_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

using namespace alphapath;
using namespace alphapath::test;

namespace {

constexpr std::size_t n = 90, d = 3;

/// A problem on n rows, every third of them there twice, and a point on it.
struct State {
  PlainKernel<double> kernel;
  std::vector<double> targets, lower, upper, beta, gradient;

  explicit State(double gamma) : kernel(rows(), d, gamma) {
    const std::vector<double> noise = numbers(3 * n);
    for (std::size_t i = 0; i < n; ++i)
      targets.push_back(noise[3 * i] > 0 ? 1 : -1);
    lower.assign(n, 0.0);
    upper.assign(n, 0.0);
  }

  static std::vector<double> rows() {
    std::vector<double> x = numbers(n * d);
    for (std::size_t i = 0; i + 1 < n; i += 3)
      std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(i * d), d,
                  x.begin() + static_cast<std::ptrdiff_t>((i + 1) * d));
    return x;
  }

  BoxProblem problem() const { return {kernel, targets, lower, upper}; }

  void set_box(std::size_t i, double weight) {
    lower[i] = targets[i] > 0 ? 0 : -weight;
    upper[i] = targets[i] > 0 ? weight : 0;
  }

  void solve_cold() {
    SolveOptions options;
    options.tol = 1e-10;
    SolveResult found = solve_smo(problem(), std::nullopt, options);
    beta = found.beta;
    gradient = found.gradient;
  }

  /// By sums of its own.
  double violation() const {
    double sum = 0, up = std::numeric_limits<double>::infinity(), down = -up;
    for (std::size_t i = 0; i < n; ++i) {
      double g = -targets[i];
      for (std::size_t j = 0; j < n; ++j)
        g += kernel.at(i, j) * beta[j];
      if (beta[i] < upper[i])
        up = std::min(up, g);
      if (beta[i] > lower[i])
        down = std::max(down, g);
      CHECK(beta[i] >= lower[i] && beta[i] <= upper[i]);
      sum += beta[i];
    }
    return std::max(down - up, std::abs(sum));
  }
};

} // namespace

/// One solve from the state as it is; where that fails, a cold one, so that the test can go on.
bool solve_or_restart(State& state, ActiveSet& active, std::span<const double> foreseen = {}) {
  const bool is_solved = active.solve(state.problem(), state.beta, state.gradient, 1e-10, foreseen);
  if (is_solved)
    CHECK(state.violation() < 1e-9);
  else
    state.solve_cold();
  return is_solved;
}

TEST(active_sets_follow_weights_and_labels) {
  for (const double gamma : {0.2, 1.0, 8.0}) {
    State state(gamma);
    for (std::size_t i = 0; i < n; ++i)
      state.set_box(i, 0.05);
    state.solve_cold();
    ActiveSet active(state.kernel);
    std::size_t n_solved = 0;
    for (int turn = 0; turn < 20; ++turn) {
      // Larger weights for some, another label for one: betas outside their boxes go to the ends.
      const auto own = static_cast<std::size_t>(turn * 7) % n;
      state.gradient[own] += 2 * state.targets[own];
      state.targets[own] = -state.targets[own];
      std::vector<double> before = state.beta;
      for (std::size_t i = 0; i < n; ++i) {
        const bool is_bounded = state.beta[i] != 0 && (state.beta[i] == state.lower[i] ||
                                                       state.beta[i] == state.upper[i]);
        state.set_box(i, 0.05 * std::pow(1.5, turn) * (1 + static_cast<double>(i % 3)));
        if (is_bounded)
          state.beta[i] = state.targets[i] > 0 ? state.upper[i] : state.lower[i];
        state.beta[i] = std::clamp(state.beta[i], state.lower[i], state.upper[i]);
      }
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < n; ++i)
          state.gradient[i] += (state.kernel.at(i, j) - 1) * (state.beta[j] - before[j]);
      n_solved += solve_or_restart(state, active);
    }
    CHECK(n_solved >= 10);
  }
}

TEST(active_sets_foresee_where_growing_boxes_lead) {
  for (const double gamma : {0.2, 1.0, 8.0}) {
    State state(gamma);
    for (std::size_t i = 0; i < n; ++i)
      state.set_box(i, 0.05);
    state.solve_cold();
    ActiveSet active(state.kernel);
    std::size_t n_solved = 0;
    std::vector<double> change(n), slopes(n);
    for (int turn = 0; turn < 12; ++turn) {
      // All weights double, and who is at its bound goes with it.
      const double more = 0.05 * std::pow(2.0, turn);
      double total = 0;
      std::fill(change.begin(), change.end(), 0.0);
      std::vector<double> moves(n, 0.0);
      for (std::size_t j = 0; j < n; ++j) {
        if (state.beta[j] == 0 ||
            (state.beta[j] != state.lower[j] && state.beta[j] != state.upper[j]))
          continue;
        moves[j] = state.targets[j] * more;
        total += moves[j];
        for (std::size_t i = 0; i < n; ++i)
          change[i] += (state.kernel.at(i, j) - 1) * moves[j];
      }
      active.foresee(state.problem(), state.beta, state.gradient, change, total, slopes);
      for (std::size_t i = 0; i < n; ++i) {
        state.set_box(i, 2 * more);
        state.beta[i] += moves[i];
        state.gradient[i] += change[i];
      }
      n_solved += solve_or_restart(state, active, slopes);
    }
    CHECK(n_solved >= 6);
  }
}

TEST(factors_changed_in_blocks_are_those_of_the_members_left) {
  constexpr std::size_t m = 70, q = 11;
  constexpr double sigma = 0.7;
  const PlainKernel<double> kernel(numbers(m * d), d, 8.0);
  const auto value = [&](std::size_t i, std::size_t j) { return kernel.at(i, j) + sigma; };
  std::vector<std::size_t> members;
  const auto build = [&](MarginSetFactor& factor) {
    return factor.assign(members.size(), 1e-12, [&](std::size_t c, double* out) {
      for (std::size_t r = c; r < members.size(); ++r)
        out[r] = value(members[r], members[c]);
    });
  };
  // The bordered system, by products of its own.
  const auto check = [&](MarginSetFactor& factor) {
    std::vector<double> x(members.size());
    for (const double total : {0.0, 1.0}) {
      std::vector<double> rhs = numbers(members.size());
      factor.carry(rhs);
      const double shift = factor.solve_bordered(x, total);
      double sum = 0;
      for (std::size_t i = 0; i < members.size(); ++i) {
        double product = shift;
        for (std::size_t j = 0; j < members.size(); ++j)
          product += value(members[i], members[j]) * x[j];
        CHECK(std::abs(product - rhs[i]) < 1e-7);
        sum += x[i];
      }
      CHECK(std::abs(sum - total) < 1e-7);
    }
  };
  for (std::size_t i = 0; i + q < m; ++i)
    members.push_back(i);
  MarginSetFactor factor;
  CHECK(build(factor));
  for (const std::vector<std::size_t>& positions :
       {std::vector<std::size_t>{0}, {3, 4, 5, 20, 41}, {0, 7, 51}, {49}}) {
    factor.remove_all(positions);
    for (std::size_t k = positions.size(); k-- > 0;)
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(positions[k]));
    CHECK(factor.size() == members.size());
    check(factor);
  }
  // The rows that q more members add, by a plain factorization of all.
  const std::size_t before = members.size(), size = before + q;
  for (std::size_t i = m - q; i < m; ++i)
    members.push_back(i);
  std::vector<double> lower(size * size, 0.0), left(before * q), corner(q * q, 0.0);
  for (std::size_t r = 0; r < size; ++r)
    for (std::size_t c = 0; c <= r; ++c) {
      double x = value(members[r], members[c]);
      for (std::size_t k = 0; k < c; ++k)
        x -= lower[r * size + k] * lower[c * size + k];
      lower[r * size + c] = r == c ? std::sqrt(x) : x / lower[c * size + c];
      if (r >= before)
        (c < before ? left[c * q + r - before] : corner[(r - before) * q + c - before]) =
            lower[r * size + c];
    }
  factor.append(left, corner, q, q);
  CHECK(factor.size() == size);
  check(factor);
}

TEST(active_sets_without_members_give_up) {
  State state(1.0);
  for (std::size_t i = 0; i < n; ++i)
    state.set_box(i, 1.0);
  state.beta.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    state.gradient.push_back(-state.targets[i]);
  ActiveSet active(state.kernel);
  CHECK(!active.solve(state.problem(), state.beta, state.gradient, 1e-10));
}

TEST(transduction_keeps_labels_and_counts) {
  State state(1.0);
  std::vector<double> targets(state.targets), weights(n, 3.0);
  for (std::size_t i = 12; i < n; ++i)
    targets[i] = 0;
  SolveOptions options;
  options.tol = 1e-10;
  const TransductionResult found =
      transduce({state.kernel, targets, weights, 2.0, 1e-5, 30}, options);
  CHECK(found.status == Status::solved);
  CHECK(std::equal(targets.begin(), targets.begin() + 12, found.signs.begin()));
  CHECK(std::count(found.signs.begin() + 12, found.signs.end(), 1.0) == 30);
  state.targets = found.signs;
  for (std::size_t i = 0; i < n; ++i)
    state.set_box(i, i < 12 ? 3.0 : 2.0);
  state.beta = found.beta;
  CHECK(state.violation() < 1e-9);
}
