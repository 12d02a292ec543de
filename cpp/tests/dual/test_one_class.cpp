// One class with squared slacks: gaps are recomputed here from the definition.
#include "problem/box_problem.hpp"
#include "problem/limits.hpp"
#include "support/check.hpp"
#include "support/numbers.hpp"
#include "support/plain_kernel.hpp"

#include "dual/coordinate.hpp"
#include "dual/maxminover.hpp"

#include <algorithm>
#include <limits>

namespace alphapath {
namespace {

using test::is_close;
using test::numbers;
using test::PlainKernel;

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Data {
  std::vector<double> ones, zeros, upper, ridge;

  explicit Data(std::size_t n) : ones(n, 1), zeros(n, 0), upper(n, infinity), ridge(n) {
    for (std::size_t i = 0; i < n; ++i)
      ridge[i] = 0.01 * static_cast<double>(1 + i % 5);
    for (std::size_t i = 0; i < n; i += 7) // held out
      upper[i] = 0;
  }

  template <class T> BoxProblem problem(const PlainKernel<T>& kernel) const {
    return {kernel, ones, zeros, upper, 0, ridge, 0};
  }
};

/// (primal - dual) / (primal + 1) with the ridge times `factor`.
template <class T>
double true_gap(const PlainKernel<T>& kernel, const Data& data, std::span<const double> beta,
                double factor = 1) {
  double norm = 0, losses = 0, dual = 0;
  for (std::size_t i = 0; i < beta.size(); ++i) {
    double value = 0;
    for (std::size_t j = 0; j < beta.size(); ++j)
      value += kernel.at(i, j) * beta[j];
    norm += beta[i] * value;
    dual += beta[i] - factor * data.ridge[i] * beta[i] * beta[i] / 2;
    const double slack = data.upper[i] == 0 ? 0 : std::max(0.0, 1 - value);
    losses += slack * slack / (2 * factor * data.ridge[i]);
    CHECK(beta[i] >= 0 && beta[i] <= data.upper[i]);
  }
  return (norm / 2 + losses - (dual - norm / 2)) / (norm / 2 + losses + 1);
}

template <class T> void check_maxminover() {
  const PlainKernel<T> kernel(numbers(3 * 83), 3, 2.0);
  const Data data(83);
  const BoxProblem problem = data.problem(kernel);
  MaxMinOverOptions options;
  options.limits.tol = 1e-4;
  const MaxMinOverResult cold = solve_maxminover(problem, std::nullopt, options);
  CHECK(cold.solution.status == Status::solved);
  CHECK(cold.gap <= 1e-4);
  CHECK(is_close(true_gap(kernel, data, cold.solution.beta), cold.gap, 1e-9));
  CHECK(cold.trace.back().n_iter == cold.solution.n_iter);
  const MaxMinOverResult again = solve_maxminover(problem, StartPoint{cold.counters, {}}, options);
  CHECK(again.solution.n_iter == 0);
  options.limits.max_iter = 20;
  CHECK(solve_maxminover(problem, std::nullopt, options).solution.status ==
        Status::iteration_limit);
}

TEST(maxminover_double) {
  check_maxminover<double>();
}

TEST(maxminover_single) {
  check_maxminover<float>();
}

TEST(maxminover_with_everything_held_out_but_one) {
  const PlainKernel<double> kernel(numbers(3 * 9), 3, 2.0);
  Data data(9);
  data.upper.assign(9, 0.0);
  data.upper[4] = infinity;
  const MaxMinOverResult result = solve_maxminover(data.problem(kernel), std::nullopt, {});
  CHECK(result.solution.status == Status::solved);
  CHECK(is_close(result.solution.beta[4], 1 / (1 + data.ridge[4]), 1e-3));
}

TEST(ridge_chain) {
  const PlainKernel<double> kernel(numbers(3 * 83), 3, 2.0);
  const Data data(83);
  SolveOptions options;
  options.gap_tol = 1e-6;
  const std::vector<double> factors = {10, 1, 0.1, 0.001, 5};
  const RidgeChainResult chain =
      solve_ridge_chain(data.problem(kernel), factors, std::nullopt, options);
  CHECK(chain.nodes.size() == factors.size());
  for (std::size_t k = 0; k < factors.size(); ++k) {
    const std::span<const double> beta(chain.beta.data() + 83 * k, 83);
    CHECK(chain.nodes[k].status == Status::solved);
    CHECK(true_gap(kernel, data, beta, factors[k]) <= 1.001e-6);
  }
}

} // namespace
} // namespace alphapath
