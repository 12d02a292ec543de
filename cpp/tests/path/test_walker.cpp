// The factor against fresh ones, and walks judged by optimality conditions recomputed here.
#include "support/check.hpp"
#include "support/numbers.hpp"

#include "factor/margin_set_factor.hpp"
#include "kernel/growing_matrix.hpp"
#include "path/local_walk.hpp"
#include "path/walker.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace alphapath {
namespace {

using test::is_close;
using test::numbers;

/// exp(-gamma |x_i - x_j|^2) of rows of d features; every `repeat` rows are equal.
std::vector<double> gaussian(std::size_t n, std::size_t d, double gamma, std::size_t repeat) {
  const std::vector<double> x = numbers(n * d);
  std::vector<double> K(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t a = i / repeat, b = j / repeat;
      double distance = 0;
      for (std::size_t k = 0; k < d; ++k)
        distance += (x[a * d + k] - x[b * d + k]) * (x[a * d + k] - x[b * d + k]);
      K[i * n + j] = std::exp(-gamma * distance);
    }
  return K;
}

GrowingMatrix gram_of(const std::vector<double>& K, std::size_t n) {
  GrowingMatrix gram(n / 2);
  gram.reserve(n);
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), 0u);
  gram.fill(all, std::vector<double>(n, 0.0).data(), all, K.data());
  return gram;
}

struct Labels {
  std::vector<double> targets, lower, upper;
};

Labels labels(std::size_t n) {
  Labels out;
  const std::vector<double> noise = numbers(7 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const double y = noise[7 * i] > 0 ? 1 : -1;
    out.targets.push_back(y);
    out.lower.push_back(y > 0 ? 0 : -1);
    out.upper.push_back(y > 0 ? 1 : 0);
  }
  return out;
}

/// max down slope - min up slope, and how far the sum is off.
double violation(const std::vector<double>& K, const Labels& y, std::span<const double> beta,
                 const std::vector<double>& weights) {
  const std::size_t n = weights.size();
  double down = -1e300, up = 1e300, sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double g = -y.targets[i];
    for (std::size_t j = 0; j < n; ++j)
      g += K[i * n + j] * beta[j];
    if (beta[i] > y.lower[i] * weights[i])
      down = std::max(down, g);
    if (beta[i] < y.upper[i] * weights[i])
      up = std::min(up, g);
    sum += beta[i];
    CHECK(beta[i] >= y.lower[i] * weights[i] && beta[i] <= y.upper[i] * weights[i]);
  }
  return std::max(down - up, std::abs(sum));
}

TEST(path_factor_updated_equals_fresh) {
  const std::size_t n = 60;
  const std::vector<double> K = gaussian(n, 3, 4.0, 1);
  const double sigma = 1.0;
  std::vector<std::size_t> members;
  const std::vector<double> right = numbers(n);
  MarginSetFactor factor;
  const auto insert = [&](std::size_t i) {
    std::vector<double> column;
    for (const std::size_t j : members)
      column.push_back(K[i * n + j] + sigma);
    CHECK(factor.try_insert(column, K[i * n + i] + sigma) > 1e-10);
    factor.insert_tried(right[i]);
    members.push_back(i);
  };
  for (std::size_t i = 0; i < 50; ++i)
    insert(i);
  for (const std::size_t k : {49u, 0u, 20u, 20u, 3u}) {
    factor.remove(k);
    members.erase(members.begin() + k);
  }
  insert(55);
  std::vector<double> rhs;
  for (const std::size_t i : members)
    rhs.push_back(right[i]);
  const double total = 0.3;
  for (const bool is_fresh : {false, true}) {
    if (is_fresh)
      factor.carry(rhs);
    std::vector<double> x(members.size());
    factor.solve_bordered(x, total);
    CHECK(is_close(std::accumulate(x.begin(), x.end(), 0.0), total, 1e-9));
    double shift = 0;
    for (std::size_t r = 0; r < members.size(); ++r) {
      double rest = rhs[r];
      for (std::size_t c = 0; c < members.size(); ++c)
        rest -= (K[members[r] * n + members[c]] + sigma) * x[c];
      shift = r == 0 ? rest : shift;
      CHECK(is_close(rest, shift, 1e-8));
    }
  }
}

/// A C path from a bad start, then instances out and in again, on data with repetitions.
void walk_everywhere(std::size_t repeat, double gamma, std::size_t n = 90, bool records = true) {
  const std::vector<double> K = gaussian(n, 2, gamma, repeat);
  const GrowingMatrix gram = gram_of(K, n);
  const Labels y = labels(n);
  PathWalker walker(gram, {0.0, true, true});
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), 0u);
  walker.define(all, y.targets, y.lower, y.upper);
  std::vector<double> weights(n, 0.5), zeros(n, 0.0), ones(n, 1.0);
  Watch watch(0, {});
  CHECK(walker.start(zeros, weights) == PathStatus::arrived);
  CHECK(walker.walk(1.0, 100000, watch) == PathStatus::arrived);
  CHECK(violation(K, y, walker.betas(), weights) < 1e-10);
  walker.aim(zeros, ones, 0.5);
  walker.record(records);
  CHECK(walker.walk(300.0, 100000, watch) == PathStatus::arrived);
  weights.assign(n, 300.0);
  CHECK(violation(K, y, walker.betas(), weights) < 1e-7);
  CHECK(n < 600 || walker.counts().n_parts > 0);
  const PathPieces pieces = walker.take_pieces();
  CHECK(std::is_sorted(pieces.tau.begin(), pieces.tau.end()));
  CHECK(walker.refresh() < 1e-7);
  for (const bool comes : {false, true}) {
    const std::vector<std::size_t> some{1, 5, 6, 40, 41, 77};
    const std::vector<double> own(some.size(), 300.0);
    walker.aim(weights, zeros, 0.0);
    if (comes) {
      walker.define(some,
                    std::vector<double>{y.targets[1], y.targets[5], y.targets[6], y.targets[40],
                                        y.targets[41], y.targets[77]},
                    std::vector<double>{y.lower[1], y.lower[5], y.lower[6], y.lower[40],
                                        y.lower[41], y.lower[77]},
                    std::vector<double>{y.upper[1], y.upper[5], y.upper[6], y.upper[40],
                                        y.upper[41], y.upper[77]});
      walker.drive(some, own, {});
    } else {
      walker.drive({}, {}, some);
    }
    CHECK(walker.walk(1.0, 100000, watch) == PathStatus::arrived);
    for (const std::size_t i : some)
      weights[i] = comes ? 300.0 : 0.0;
    CHECK(violation(K, y, walker.betas(), weights) < 1e-7);
    CHECK(walker.refresh() < 1e-7);
  }
}

TEST(walks_stay_optimal) {
  walk_everywhere(1, 3.0);
}

TEST(walks_pass_repeated_rows) {
  walk_everywhere(3, 3.0);
  walk_everywhere(2, 100.0);
}

TEST(walks_on_near_instances_stay_optimal) {
  walk_everywhere(1, 100.0, 600, false);
  walk_everywhere(3, 300.0, 600, false);
}

/// Memory is used again and again: what is in it must not show where nobody is.
TEST(the_first_rows_of_a_growing_kernel_keep_their_digits) {
  const std::size_t n = 37, d = 3, n_slots = 52;
  const std::vector<double> x = numbers(n * d);
  const Samples samples(x.data(), n, d);
  for (const double gamma : {1e-9, 0.7}) {
    GrowingMatrix gram(0);
    gram.begin(n_slots, samples, {KernelKind::rbf, gamma, 0, 0}, {});
    CHECK(gram.size() == n_slots);
    const auto e = [&](std::size_t i, std::size_t j) {
      long double distance = 0;
      for (std::size_t k = 0; k < d; ++k)
        distance += std::pow(static_cast<long double>(x[i * d + k]) - x[j * d + k], 2);
      return std::expm1(-gamma * distance);
    };
    for (std::size_t i = 0; i < n; ++i) {
      const double* row = static_cast<const double*>(gram.row(i).data);
      for (std::size_t j = 0; j < n; ++j) {
        const long double exact = e(i, j) - e(i, 0) - e(j, 0);
        CHECK(std::abs(static_cast<double>(row[j] - exact)) < 1e-14 * std::min(1.0, 10 * gamma));
        CHECK(row[j] == static_cast<const double*>(gram.row(j).data)[i]);
      }
      CHECK(std::count(row + n, row + gram.stride(), 0.0) ==
            static_cast<std::ptrdiff_t>(gram.stride() - n));
      CHECK(is_close(gram.offset()[i], static_cast<double>(e(i, 0)) + 0.5, 1e-15));
    }
  }
}

TEST(near_rows_are_zero_where_nobody_is) {
  const std::size_t n = 40;
  const GrowingMatrix gram = gram_of(gaussian(n, 2, 1.0, 1), n);
  const std::vector<std::uint32_t> followed{3, 4, 5, 6, 7, 8, 9}, hidden{10, 11, 12};
  Buffer<double> memory;
  NearKernel kernel(gram, followed, hidden, memory);
  kernel.reserve(hidden.size());
  std::fill_n(memory.data(), memory.size(), 1e300);
  kernel.followed_rows(hidden);
  const double* row = static_cast<const double*>(kernel.row(2).data);
  for (std::size_t k = followed.size(); k < kernel.n_places(); ++k)
    CHECK(row[k] == 0);
  CHECK(kernel.follow(kernel.n_places()) == followed.size());
  CHECK(row[followed.size()] == static_cast<const double*>(gram.row(5).data)[10]);
}

TEST(recorded_walks_on_near_instances_stay_optimal) {
  walk_everywhere(1, 100.0, 600);
  walk_everywhere(3, 300.0, 600);
}

} // namespace
} // namespace alphapath
