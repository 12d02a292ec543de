#include "problem/limits.hpp"
#include "support/check.hpp"
#include "support/numbers.hpp"

#include "kernel/samples.hpp"
#include "sequence/class_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

namespace alphapath {
namespace {

using test::numbers;

template <class T>
std::shared_ptr<KernelMatrix> make_gram(const std::vector<double>& x, std::size_t n) {
  const Samples samples(x.data(), n, x.size() / n);
  const KernelFunction f{KernelKind::rbf, 0.7, 0, 0};
  return make_full_matrix<T>(*make_source<T>(samples, f, {}), {});
}

std::vector<std::uint32_t> every(std::size_t n, std::size_t first, std::size_t step) {
  std::vector<std::uint32_t> members;
  for (std::size_t i = first; i < n; i += step)
    members.push_back(static_cast<std::uint32_t>(i));
  return members;
}

template <class T> void check_part() {
  const std::size_t n = 101;
  const auto x = numbers(n * 4);
  const auto whole = make_gram<T>(x, n);
  std::vector<std::uint32_t> runs = every(n, 1, 2), backwards = every(n, 0, 1);
  const auto second = every(n, 0, 2);
  runs.insert(runs.end(), second.begin(), second.end());
  std::ranges::reverse(backwards);
  for (const auto& members :
       {every(n, 0, 1), every(n, 3, 7), every(n, 100, 1), every(n, 14, 2), runs, backwards}) {
    const auto part = make_part_matrix(whole, members);
    CHECK(part->size() == members.size());
    CHECK(part->precision() == whole->precision());
    CHECK(!part->is_on_demand());
    std::vector<std::jthread> readers;
    for (int t = 0; t < 3; ++t)
      readers.emplace_back([&] {
        for (std::size_t i = 0; i < part->size(); ++i)
          (void)part->row(i);
      });
    readers.clear();
    for (std::size_t i = 0; i < part->size(); ++i) {
      const T* own = static_cast<const T*>(part->row(i).data);
      const T* all = static_cast<const T*>(whole->row(members[i]).data);
      for (std::size_t j = 0; j < part->stride(); ++j)
        CHECK(own[j] == (j < members.size() ? all[members[j]] : T(0)));
      CHECK(part->diagonal()[i] == whole->diagonal()[members[i]]);
    }
  }
}

TEST(a_part_has_the_values_of_the_whole) {
  check_part<float>();
  check_part<double>();
}

TEST(a_part_of_rows_on_demand_asks_for_few) {
  const std::size_t n = 64;
  const auto x = numbers(n * 4);
  const Samples samples(x.data(), n, 4);
  const KernelFunction f{KernelKind::rbf, 0.7, 0, 0};
  const std::shared_ptr<KernelMatrix> whole =
      make_cached_matrix<double>(make_source<double>(samples, f, {}), 8, nullptr);
  const auto part = make_part_matrix(whole, every(n, 0, 8));
  CHECK(part->is_on_demand());
  const std::vector<std::size_t> wanted{1, 3};
  part->prefetch(wanted);
  CHECK(whole->n_rows_computed() == 2);
  (void)part->row(1);
  (void)part->row(1);
  CHECK(whole->n_rows_computed() == 2);
}

/// Three classes in turn; every pair, on whole and on parts.
TEST(pairs_are_optimal_on_their_own_instances) {
  const std::size_t n = 90;
  const auto x = numbers(n * 3);
  const auto whole = make_gram<double>(x, n);
  std::vector<std::uint32_t> members;
  std::vector<double> signs;
  std::vector<std::size_t> first{0};
  for (const auto& [a, b] : {std::pair{0u, 1u}, {0u, 2u}, {1u, 2u}}) {
    for (std::uint32_t i = 0; i < n; ++i)
      if (i % 3 == a || i % 3 == b) {
        members.push_back(i);
        signs.push_back(i % 3 == a ? 1.0 : -1.0);
      }
    first.push_back(members.size());
  }
  std::vector<double> weights(2 * n, 1.0);
  for (std::size_t i = 0; i < n; i += 4)
    weights[n + i] = 0; // held out in the second row
  const std::vector<Step> steps{{0, 5.0, -1, Seed::cold}, {1, 5.0, 0, Seed::greedy}};
  SolveOptions options;
  options.tol = 1e-8;
  const ClassPairs pairs{whole, members, signs, first, weights};
  const auto solved = solve_class_pairs(pairs, steps, options, 0, 1);
  const auto threads = solve_class_pairs(pairs, steps, options, 0, 2);
  for (std::size_t p = 0; p < 3; ++p) {
    CHECK(solved[p].size() == 2);
    for (std::size_t k = 0; k < 2; ++k) {
      const PairStep& step = solved[p][k];
      CHECK(step.beta == threads[p][k].beta && step.rows == threads[p][k].rows);
      CHECK(step.result.solve.status == Status::solved);
      std::vector<double> gradient(n, 0.0);
      const std::vector<std::size_t> rows(step.rows.begin(), step.rows.end());
      multiply_true(*whole, rows, step.beta, gradient);
      CHECK(std::abs(std::accumulate(step.beta.begin(), step.beta.end(), 0.0)) < 1e-9);
      for (std::size_t m = first[p]; m < first[p + 1]; ++m) {
        const std::size_t i = members[m];
        const double c = 5.0 * weights[k * n + i];
        const auto at = std::find(step.rows.begin(), step.rows.end(), i);
        const double size =
            at == step.rows.end() ? 0.0 : std::abs(step.beta[at - step.rows.begin()]);
        const double margin = signs[m] * (gradient[i] + step.result.solve.quality.bias);
        CHECK(size <= c);
        if (size < c)
          CHECK(margin >= 1 - 1e-6);
        if (size > 0)
          CHECK(margin <= 1 + 1e-6);
      }
    }
  }
}

/// So many instances that the kernel is read in the order of the classes; with too little memory it
/// is not, and nothing changes.
TEST(the_order_of_classes_changes_nothing) {
  const std::size_t n = 1020, n_classes = 10;
  const auto x = numbers(n * 3);
  std::vector<std::uint32_t> members;
  std::vector<double> signs;
  std::vector<std::size_t> first{0};
  for (std::size_t c = 1; c < n_classes; ++c) {
    for (const std::size_t own : {c - 1, c})
      for (const std::uint32_t i : every(n, own, n_classes)) {
        members.push_back(i);
        signs.push_back(own == c ? 1.0 : -1.0);
      }
    first.push_back(members.size());
  }
  const std::vector<double> weights(n, 1.0);
  const std::vector<Step> steps{{0, 5.0, -1, Seed::cold}};
  const ClassPairs pairs{make_gram<float>(x, n), members, signs, first, weights};
  SolveOptions much, little;
  much.memory_limit = std::size_t{1} << 30;
  const auto ordered = solve_class_pairs(pairs, steps, much, 0, 1);
  const auto plain = solve_class_pairs(pairs, steps, little, 0, 1);
  for (std::size_t p = 0; p + 1 < n_classes; ++p) {
    CHECK(ordered[p][0].rows == plain[p][0].rows);
    CHECK(ordered[p][0].beta == plain[p][0].beta);
  }
}

TEST(pairs_end_when_they_are_told_to) {
  const std::size_t n = 60;
  const auto x = numbers(n * 3);
  const auto members = every(n, 0, 1);
  std::vector<double> signs(n, 1.0);
  for (std::size_t i = 0; i < n; i += 2)
    signs[i] = -1.0;
  const std::vector<std::size_t> first{0, n};
  const std::vector<double> weights(n, 1.0);
  const std::vector<Step> steps{{0, 1.0, -1, Seed::cold}};
  const ClassPairs pairs{make_gram<float>(x, n), members, signs, first, weights};
  const auto late = solve_class_pairs(pairs, steps, {}, 1e-12, 1);
  CHECK(late[0].empty());
}

} // namespace
} // namespace alphapath
