#include "quadratic/arrangement.hpp"
#include "quadratic/events.hpp"
#include "quadratic/newton.hpp"
#include "support/check.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace alphapath {
namespace {

using namespace quadratic;
using test::is_close;
using test::numbers;

const std::vector<double> poles{1.0, 1.7, 2.5, 4.0};

double plain_value(const Equation& equation, const std::vector<double>& w, double x) {
  double sum = equation.e;
  for (std::size_t k = 0; k < poles.size(); ++k)
    sum += equation.sign * w[k] / (poles[k] - x);
  return equation.s0 + x * sum;
}

TEST(bracketing_is_monotone_and_quadratic) {
  const std::vector<double> w{0.9, -0.3, 0.5, -0.2};
  const PoleRows rows{w.data(), 1, poles};
  for (const double direction : {1.0, -1.0}) {
    const Equation equation{0, 0.3, direction > 0 ? 0.2 : 1.1, -1.0, false};
    std::vector<double> t{0};
    for (int k = 0; k < 60; ++k) {
      const double x = direction * t.back();
      const double step = bracket(evaluate(rows, equation, x, direction), x, direction);
      CHECK(std::isfinite(step) && step >= 0);
      if (step <= 1e-16)
        break;
      t.push_back(t.back() + step);
    }
    const double root = t.back();
    CHECK(t.size() < 12);
    CHECK(is_close(plain_value(equation, w, direction * root), 0, 1e-14));
    for (std::size_t k = 1; k < t.size(); ++k) {
      const double before = root - t[k - 1], after = root - t[k];
      CHECK(after >= -1e-15);
      // Quadratic: the constant is bounded by the curvature of this function.
      CHECK(after <= 4 * before * before + 1e-14);
    }
    // No sign change before the root that was found.
    for (int k = 1; k < 1000; ++k)
      CHECK(plain_value(equation, w, direction * root * k / 1000.0) > 0);
  }
}

TEST(tied_equations_leave_their_root_at_zero) {
  const std::vector<double> w{0.4, 0.1, -0.3, 0.2};
  const PoleRows rows{w.data(), 1, poles};
  const Equation equation{0, 0.0, 0.7, -1.0, true};
  EventSearch search;
  const FirstEvent event = search.find(rows, {&equation, 1}, 1, 0.99, 1.0, true);
  CHECK(event.is_found && event.t > 0.05);
  CHECK(is_close(plain_value(equation, w, event.t), 0, 1e-14));
}

TEST(best_first_search_equals_solving_every_equation) {
  const std::size_t n = 40;
  const std::vector<double> W = numbers(n * poles.size());
  const std::vector<double> other = numbers(2 * n + 7);
  const PoleRows rows{W.data(), n, poles};
  for (const double direction : {1.0, -1.0}) {
    std::vector<Equation> equations;
    for (std::size_t i = 0; i < n; ++i)
      equations.push_back({i, 0.05 + std::abs(other[i]), other[n + i], i % 2 ? 1.0 : -1.0, false});
    EventSearch search;
    const FirstEvent quick = search.find(rows, equations, n, 0.95, direction, true);
    const FirstEvent full = search.find(rows, equations, n, 0.95, direction, false);
    CHECK(quick.is_found && full.is_found);
    CHECK(quick.equation == full.equation);
    CHECK(is_close(quick.t, full.t, 1e-14));
    CHECK(quick.n_iterations < full.n_iterations);
  }
}

TEST(crossings_are_all_found) {
  // (x - 0.2)(x - 0.5) / (1 - x) = 0.1 + x (-1 + 0.4 / (1 - x)).
  const std::vector<double> s{0.1}, e{-1.0}, W{0.4}, one_pole{1.0};
  const std::vector<Crossing> found = find_crossings({s, e, W, one_pole}, 0.9);
  CHECK(found.size() == 2);
  CHECK(is_close(found[0].x, 0.2, 1e-14) && is_close(found[1].x, 0.5, 1e-14));
}

/// A well conditioned problem: Q = X X' for random X.
std::vector<double> gram(const std::vector<double>& x, std::size_t n, std::size_t d) {
  std::vector<double> K(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < d; ++k)
        K[i * n + j] += x[i * d + k] * x[j * d + k];
  return K;
}

TEST(newton_satisfies_the_conditions) {
  const std::size_t n = 60, d = 5;
  const std::vector<double> K = gram(numbers(n * d), n, d);
  std::vector<double> scale(n), targets(n, 1.1);
  for (std::size_t i = 0; i < n; ++i)
    scale[i] = i % 3 ? 1.0 : -1.0;
  for (const double bound : {0.2, 2.0, std::numeric_limits<double>::infinity()}) {
    const QuadraticProblem problem(K, scale, targets, std::vector<double>(n, bound));
    const QuadraticSolution solution = solve_quadratic(problem, 0.05, {}, {1e-10, 100, {}});
    CHECK(solution.is_solved);
    for (std::size_t i = 0; i < n; ++i) {
      double q = 0;
      for (std::size_t j = 0; j < n; ++j)
        q += problem.matrix()[i * problem.stride() + j] * solution.a[j];
      CHECK(is_close(q, solution.q[i], 1e-10));
      CHECK(is_close(solution.a[i], std::clamp(1.1 - q / 0.05, 0.0, bound), 1e-8));
    }
    const QuadraticSolution again = solve_quadratic(problem, 0.05, solution.a, {1e-10, 100, {}});
    CHECK(again.n_iter == 1 && again.is_solved);
  }
}

TEST(an_arrangement_keeps_its_order) {
  const std::size_t n = 20, d = 3;
  const std::vector<double> K = gram(numbers(n * d), n, d);
  const std::vector<double> ones(n, 1.0);
  const QuadraticProblem problem(K, ones, ones, ones);
  Arrangement arrangement(problem);
  for (const std::size_t i : {5u, 12u, 7u, 19u})
    arrangement.make_free(i);
  arrangement.make_fixed(1, Side::bound);
  arrangement.make_free(arrangement.n_free + 2);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      CHECK(arrangement.row(i)[j] == K[static_cast<std::size_t>(arrangement.who[i]) * n +
                                       static_cast<std::size_t>(arrangement.who[j])]);
  std::vector<double> kept = arrangement.bound_part;
  arrangement.refresh_bound_part();
  for (std::size_t i = 0; i < n; ++i)
    CHECK(is_close(kept[i], arrangement.bound_part[i], 1e-13));
}

} // namespace
} // namespace alphapath
