// Solvers and walks over pairs, judged by optimality conditions on the written-out differences.
#include "support/check.hpp"
#include "support/numbers.hpp"
#include "support/plain_kernel.hpp"

#include "ranking/ndcg_walk.hpp"
#include "ranking/pair_descent.hpp"
#include "ranking/pair_newton.hpp"
#include "ranking/pair_walker.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace alphapath {
namespace {

using test::is_close;
using test::numbers;

constexpr std::size_t n = 40, d = 4, n_queries = 4;

/// Every fifth row repeats the one before; relevance 0, 1, 2 in turn.
std::vector<double> rows() {
  std::vector<double> x = numbers(n * d);
  for (std::size_t i = 5; i < n; i += 5)
    std::copy_n(x.data() + (i - 1) * d, d, x.data() + i * d);
  return x;
}

RankPairs all_pairs() {
  RankPairs pairs;
  for (std::size_t q = 0; q <= n_queries; ++q)
    pairs.first_row.push_back(q * (n / n_queries));
  for (std::size_t q = 0; q < n_queries; ++q) {
    pairs.first_pair.push_back(pairs.better.size());
    for (std::size_t i = pairs.first_row[q]; i < pairs.first_row[q + 1]; ++i)
      for (std::size_t j = pairs.first_row[q]; j < pairs.first_row[q + 1]; ++j)
        if (i % 3 > j % 3) {
          pairs.better.push_back(static_cast<std::int32_t>(i));
          pairs.worse.push_back(static_cast<std::int32_t>(j));
        }
  }
  pairs.first_pair.push_back(pairs.better.size());
  return pairs;
}

using Kernel = std::function<double(std::size_t, std::size_t)>;

double violation(const RankPairs& pairs, const Kernel& kernel, const std::vector<double>& beta,
                 const std::vector<double>& upper) {
  std::vector<double> f(n, 0.0);
  for (std::size_t p = 0; p < pairs.size(); ++p)
    for (std::size_t i = 0; i < n; ++i)
      f[i] += beta[p] * (kernel(i, static_cast<std::size_t>(pairs.better[p])) -
                         kernel(i, static_cast<std::size_t>(pairs.worse[p])));
  double worst = 0;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const double e = f[static_cast<std::size_t>(pairs.better[p])] -
                     f[static_cast<std::size_t>(pairs.worse[p])] - 1;
    if (beta[p] < 0 || beta[p] > upper[p])
      return 1e300;
    if (beta[p] > 0)
      worst = std::max(worst, e);
    if (beta[p] < upper[p])
      worst = std::max(worst, -e);
  }
  return worst;
}

/// From a loose solution to the exact one, and along the weights to others.
void check_walk(const ScoreSpace& space, const RankPairs& pairs, const Kernel& kernel,
                const std::vector<double>& beta, const std::vector<double>& upper) {
  PairWalker walker(space, pairs);
  Watch watch(0, {});
  CHECK(walker.start(beta, upper) == PathStatus::arrived);
  CHECK(walker.walk(1.0, 100000, watch) == PathStatus::arrived);
  CHECK(violation(pairs, kernel, walker.betas(), upper) < 1e-10);
  std::vector<double> change(pairs.size()), weights(pairs.size());
  for (std::size_t p = 0; p < pairs.size(); ++p)
    change[p] = (p % 3 == 0 ? -0.9 : 2.0) * upper[p];
  walker.aim(upper, change, 0.0);
  walker.record(true);
  for (const double t : {0.3, 0.7, 1.0}) {
    CHECK(walker.walk(t, 100000, watch) == PathStatus::arrived);
    for (std::size_t p = 0; p < pairs.size(); ++p)
      weights[p] = upper[p] + t * change[p];
    CHECK(violation(pairs, kernel, walker.betas(), weights) < 1e-10);
    CHECK(walker.refresh() < 1e-10);
  }
  const PathPieces pieces = walker.take_pieces();
  CHECK(pieces.tau.size() == pieces.first.size());
  CHECK(std::is_sorted(pieces.tau.begin(), pieces.tau.end()));
}

} // namespace

TEST(linear_ranking_by_newton_descent_and_walk) {
  const std::vector<double> x = rows();
  const RankPairs pairs = all_pairs();
  const auto data = make_dense_rows<double>({x.data(), d}, n);
  const auto space = make_linear_space(*data);
  const Kernel kernel = [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t k = 0; k < d; ++k)
      sum += x[i * d + k] * x[j * d + k];
    return sum;
  };
  for (const double C : {1e-3, 0.1, 10.0}) {
    const std::vector<double> upper(pairs.size(), C), zero(pairs.size(), 0.0);
    const PairResult newton = solve_pairs_by_newton(*space, pairs, upper, {1e-3, -1});
    CHECK(newton.status == Status::solved);
    CHECK(violation(pairs, kernel, newton.beta, upper) <= 1e-3);
    const PairResult descent = descend_pairs(*space, pairs, upper, zero, {1e-3, 100000});
    CHECK(descent.status == Status::solved);
    CHECK(violation(pairs, kernel, descent.beta, upper) <= 1e-3);
    check_walk(*space, pairs, kernel, newton.beta, upper);
    check_walk(*space, pairs, kernel, descent.beta, upper);
    check_walk(*space, pairs, kernel, zero, upper);
  }
}

TEST(kernel_ranking_by_descent_and_walk) {
  const std::vector<double> x = rows();
  const RankPairs pairs = all_pairs();
  const test::PlainKernel<double> values(x, d, 0.7);
  const auto space = make_kernel_space(values);
  const Kernel kernel = [&](std::size_t i, std::size_t j) { return values.at(i, j); };
  for (const double C : {1e-2, 1.0, 50.0}) {
    const std::vector<double> upper(pairs.size(), C), zero(pairs.size(), 0.0);
    const PairResult found = descend_pairs(*space, pairs, upper, zero, {1e-4, 100000});
    CHECK(found.status == Status::solved);
    CHECK(violation(pairs, kernel, found.beta, upper) <= 1e-4);
    check_walk(*space, pairs, kernel, found.beta, upper);
  }
}

TEST(ndcg_of_two_rows_changes_where_they_cross) {
  const std::vector<double> gains{1, 0}, times{0, 1, 2};
  const std::vector<std::int64_t> first_row{0, 2};
  NdcgWalk walk(gains, first_row, 10);
  // Scores (0, 1), then (1, 0), then equal: crossing at 1/2, a tie only at 2.
  const std::vector<double> values{0, 1, 1, 0, 0, 0};
  const NdcgChanges changes = walk.run(times, values.data());
  CHECK(changes.times.size() == 2);
  CHECK(is_close(changes.times[0], 0.0, 0) && is_close(changes.times[1], 0.5, 1e-15));
  CHECK(is_close(changes.values[0], 1 / std::log2(3.0), 1e-15));
  CHECK(is_close(changes.values[1], 1.0, 1e-15));
}

} // namespace alphapath
