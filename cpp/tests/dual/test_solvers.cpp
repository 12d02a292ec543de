// Every solve is judged by optimality conditions recomputed here, from a kernel kept here.
#include "dual/coordinate.hpp"
#include "dual/solve_smo.hpp"
#include "problem/solution.hpp"
#include "support/check.hpp"
#include "support/numbers.hpp"
#include "support/plain_kernel.hpp"

#include "base/isa.hpp"
#include "dual/workspace.hpp"
#include "factor/free_set_factor.hpp"
#include "problem/box_problem.hpp"
#include "simd/triangular.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {
namespace {

using test::is_close;
using test::numbers;
using test::PlainKernel;

struct Case {
  std::vector<double> targets, lower, upper, ridge;
  double epsilon = 0, total = 0;
};

Case classification(std::size_t n, double c) {
  Case out;
  const std::vector<double> noise = numbers(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double y = noise[i] > 0 ? 1 : -1;
    out.targets.push_back(y);
    out.lower.push_back(y > 0 ? 0 : -c);
    out.upper.push_back(y > 0 ? c : 0);
  }
  return out;
}

Case regression(std::size_t n, double c) {
  Case out = classification(n, c);
  out.targets = numbers(n);
  out.lower.assign(n, -c);
  out.upper.assign(n, c);
  out.epsilon = 0.1;
  return out;
}

Case one_class(std::size_t n) {
  Case out = classification(n, 1);
  out.targets.assign(n, 0.0);
  out.lower.assign(n, 0.0);
  out.upper.assign(n, 1.0);
  out.total = 0.3 * static_cast<double>(n);
  return out;
}

template <class T> BoxProblem problem_of(const PlainKernel<T>& kernel, const Case& c) {
  return {kernel, c.targets, c.lower, c.upper, c.epsilon, c.ridge, c.total};
}

template <class T>
std::vector<double> true_gradient(const PlainKernel<T>& kernel, const Case& c,
                                  const std::vector<double>& beta) {
  std::vector<double> g(beta.size());
  for (std::size_t i = 0; i < beta.size(); ++i) {
    g[i] = (c.ridge.empty() ? 0.0 : c.ridge[i] * beta[i]) - c.targets[i];
    for (std::size_t j = 0; j < beta.size(); ++j)
      g[i] += kernel.at(i, j) * beta[j];
  }
  return g;
}

template <class T>
double violation(const PlainKernel<T>& kernel, const Case& c, const std::vector<double>& beta,
                 bool has_equality) {
  const std::vector<double> g = true_gradient(kernel, c, beta);
  double up = std::numeric_limits<double>::infinity(), down = -up;
  for (std::size_t i = 0; i < beta.size(); ++i) {
    if (beta[i] < c.upper[i])
      up = std::min(up, g[i] + (beta[i] >= 0 ? c.epsilon : -c.epsilon));
    if (beta[i] > c.lower[i])
      down = std::max(down, g[i] + (beta[i] > 0 ? c.epsilon : -c.epsilon));
  }
  return has_equality ? down - up : std::max({down, -up, 0.0});
}

template <class T> void check_smo(const Case& c, std::size_t n, double gamma, double tol) {
  const PlainKernel<T> kernel(numbers(3 * n), 3, gamma);
  const BoxProblem problem = problem_of(kernel, c);
  SolveOptions options;
  options.tol = tol;
  options.memory_limit = std::size_t(1) << 26;
  for (const bool free_set : {true, false}) {
    options.free_set = free_set;
    const SolveResult cold = solve_smo(problem, std::nullopt, options);
    CHECK(cold.status == Status::solved);
    CHECK(violation(kernel, c, cold.beta, true) <= tol + 1e-9);
    CHECK(is_close(std::accumulate(cold.beta.begin(), cold.beta.end(), 0.0), c.total, 1e-9));
    const std::vector<double> g = true_gradient(kernel, c, cold.beta);
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(cold.beta[i] >= c.lower[i] && cold.beta[i] <= c.upper[i]);
      CHECK(is_close(g[i], cold.gradient[i], 1e-9 * (1 + std::abs(g[i]))));
    }
    const StartPoint own{cold.beta, cold.gradient};
    CHECK(solve_smo(problem, own, options).n_iter <= 1);
  }
}

TEST(smo_classification) {
  for (const double c : {0.1, 10.0, 1e4})
    for (const double gamma : {1e-3, 0.5, 50.0}) {
      check_smo<double>(classification(150, c), 150, gamma, 1e-3);
      check_smo<float>(classification(150, c), 150, gamma, 1e-3);
      check_smo<double>(classification(150, c), 150, gamma, 1e-8);
    }
}

TEST(smo_regression) {
  for (const double c : {0.1, 100.0}) {
    check_smo<double>(regression(130, c), 130, 0.5, 1e-3);
    check_smo<double>(regression(130, c), 130, 0.5, 1e-8);
  }
}

TEST(smo_one_class) {
  check_smo<double>(one_class(120), 120, 0.7, 1e-3);
  check_smo<double>(one_class(120), 120, 0.7, 1e-8);
}

TEST(copies_of_rows_share_one_limit) {
  CopyBudget copies(1000);
  CHECK(copies.room<float>(CopyBudget::near) == 1000);
  copies.take<float>(CopyBudget::near, 300);
  copies.take<float>(CopyBudget::all, 500);
  CHECK(copies.room<float>(CopyBudget::selectable) == 200);
  CHECK(copies.room<double>(CopyBudget::all) == 200); // beside those in float32
  CHECK(copies.room<float>(CopyBudget::all) == 700);  // in place of its own
  copies.take<float>(CopyBudget::selectable, 200);
  CHECK(copies.room<double>(CopyBudget::near) == 0);
}

TEST(smo_duplicates_leave_the_free_set) {
  std::vector<double> x = numbers(3 * 40);
  const std::vector<double> once = x;
  for (int repeat = 0; repeat < 3; ++repeat)
    x.insert(x.end(), once.begin(), once.end());
  const PlainKernel<double> kernel(x, 3, 0.3);
  const Case c = classification(160, 1e3);
  SolveOptions options;
  options.tol = 1e-6;
  const SolveResult result = solve_smo(problem_of(kernel, c), std::nullopt, options);
  CHECK(result.status == Status::solved);
  CHECK(violation(kernel, c, result.beta, true) <= 1e-6 + 1e-9);
}

TEST(smo_held_out_instances_stay_at_zero) {
  const PlainKernel<double> kernel(numbers(3 * 90), 3, 0.5);
  Case c = classification(90, 5);
  for (std::size_t i = 0; i < 60; ++i)
    c.lower[i] = c.upper[i] = 0;
  const SolveResult result = solve_smo(problem_of(kernel, c), std::nullopt, {});
  CHECK(
      std::all_of(result.beta.begin(), result.beta.begin() + 60, [](double b) { return b == 0; }));
  CHECK(violation(kernel, c, result.beta, true) <= 1e-3 + 1e-9);
}

TEST(smo_limits_end_with_a_feasible_point) {
  const PlainKernel<double> kernel(numbers(3 * 100), 3, 0.5);
  const Case c = classification(100, 1e5);
  SolveOptions options;
  options.max_iter = 10;
  const SolveResult part = solve_smo(problem_of(kernel, c), std::nullopt, options);
  CHECK(part.status == Status::iteration_limit && part.n_iter == 10);
  CHECK(is_close(std::accumulate(part.beta.begin(), part.beta.end(), 0.0), 0, 1e-9));
  options.max_iter = -1;
  const SolveResult rest =
      solve_smo(problem_of(kernel, c), StartPoint{part.beta, part.gradient}, options);
  CHECK(rest.status == Status::solved);
  options.wants_stop = [] { return true; };
  options.time_limit = 1e-9;
  CHECK(solve_smo(problem_of(kernel, c), std::nullopt, options).status != Status::solved);
}

TEST(coordinate_without_equality) {
  const PlainKernel<double> kernel(numbers(3 * 110), 3, 0.5);
  Case c = one_class(110);
  c.targets.assign(110, 1.0);
  c.upper.assign(110, std::numeric_limits<double>::infinity());
  c.ridge.assign(110, 0.1);
  SolveOptions options;
  options.tol = 1e-7;
  const SolveResult result = solve_coordinate(problem_of(kernel, c), std::nullopt, options);
  CHECK(result.status == Status::solved);
  CHECK(violation(kernel, c, result.beta, false) <= 1e-7 + 1e-12);
}

TEST(factor_kept_equals_fresh) {
  const PlainKernel<double> kernel(numbers(3 * 250), 3, 30.0);
  std::vector<std::uint32_t> members(200);
  std::iota(members.begin(), members.end(), 7u);
  Watch watch(0, {});
  FreeSetFactor kept(kernel), fresh(kernel);
  std::vector<std::uint32_t> first{0, 1, 230};
  first.insert(first.end(), members.begin(), members.begin() + 60);
  first.push_back(240);
  first.insert(first.end(), members.begin() + 60, members.begin() + 120);
  first.push_back(241);
  CHECK(kept.set_members(first, 0, watch));
  const std::vector<std::size_t> foreign{0, 1, 2, 63, 124};
  kept.remove(foreign);
  CHECK(kept.n_removed() == foreign.size());
  CHECK(kept.set_members(members, 120, watch));
  CHECK(fresh.set_members(members, 0, watch));
  std::vector<double> a = numbers(200);
  // The level of the two differs, so compare on sum 0, where it must not matter.
  const double mean = std::accumulate(a.begin(), a.end(), 0.0) / 200;
  std::vector<double> ones_a(200, 1.0), ones_b(200, 1.0);
  for (double& v : a)
    v -= mean;
  std::vector<double> b = a;
  kept.solve(a);
  fresh.solve(b);
  kept.solve(ones_a);
  fresh.solve(ones_b);
  const auto sum = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0);
  };
  const double shift_a = sum(a) / sum(ones_a), shift_b = sum(b) / sum(ones_b);
  for (std::size_t k = 0; k < 200; ++k)
    CHECK(is_close(a[k] - shift_a * ones_a[k], b[k] - shift_b * ones_b[k],
                   1e-7 * (1 + std::abs(b[k]))));
}

TEST(triangular_solves_undo_the_product) {
  for (const std::size_t n : {1u, 2u, 7u, 8u, 9u, 16u, 31u, 64u, 101u}) {
    const std::size_t ld = n + 3;
    std::vector<double> l = numbers(ld * n);
    for (std::size_t k = 0; k < n; ++k)
      l[k * ld + k] += l[k * ld + k] > 0 ? 12 : -12;
    const std::vector<double> x = numbers(n);
    std::vector<double> product(n, 0.0), transposed(n, 0.0);
    for (std::size_t c = 0; c < n; ++c)
      for (std::size_t r = c; r < n; ++r) {
        product[r] += l[c * ld + r] * x[c];
        transposed[c] += l[c * ld + r] * x[r];
      }
    ALPHAPATH_DISPATCH(solve_lower)(l.data(), ld, n, product.data());
    ALPHAPATH_DISPATCH(solve_lower_transposed)(l.data(), ld, n, transposed.data());
    for (std::size_t k = 0; k < n; ++k) {
      CHECK(is_close(product[k], x[k], 1e-12));
      CHECK(is_close(transposed[k], x[k], 1e-12));
    }
  }
}

} // namespace
} // namespace alphapath
