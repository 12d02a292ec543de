// Pruned sums, descent and Pegasos against every margin, term by term.
#include "support/check.hpp"
#include "support/margin_data.hpp"

#include "primal/pegasos.hpp"
#include "primal/sums/gradient.hpp"

#include <algorithm>
#include <numeric>

namespace alphapath {
namespace {

using test::all_layouts;
using test::all_losses;
using test::is_close;
using test::largest_difference;
using test::MarginData;

constexpr std::size_t n = 230, d = 9;

double total(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

double norm(const std::vector<double>& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

/// A descent with a jump now and then; every value and gradient is compared.
void check_walk(const MarginData& data, const MarginLoss& loss, MarginMethod method) {
  const auto sums = make_margin_sums(data.task(loss), method, 1);
  const double scale = total(data.weights);
  std::vector<double> theta(d + 1, 0.0), gradient(d + 1), expected;
  double step = 1.0;
  for (int k = 0; k < 90; ++k) {
    const double value = sums->evaluate(theta.data(), theta[d], gradient.data());
    const double direct = data.direct_sums(loss, data.weights, theta, expected);
    // The squared hinge grows without bound where a step overshoots.
    const double size = scale + std::abs(direct) + norm(expected);
    CHECK(is_close(value, direct, 1e-10 * size));
    CHECK(largest_difference(gradient, expected) <= 1e-10 * size);
    for (std::size_t j = 0; j <= d; ++j)
      theta[j] -= step / scale * expected[j];
    step = k % 30 == 29 ? 50.0 : std::max(0.6 * step, 1e-3);
  }
  const MarginCounts& counts = sums->counts();
  CHECK(counts.n_evaluations == 90);
  if (method == MarginMethod::full)
    CHECK(counts.n_pruned == 0);
  else if (loss.curvature != 1.0) // the squared hinge is curved for half of the rows
    CHECK(counts.n_pruned > 10 * static_cast<std::int64_t>(n));
}

} // namespace

TEST(pruned_sums_are_the_full_sums) {
  for (const auto layout : all_layouts) {
    const MarginData data(layout, n, d);
    for (const MarginLoss& loss : all_losses())
      for (const auto method :
           {MarginMethod::full, MarginMethod::lazy, MarginMethod::clusters, MarginMethod::sorted})
        check_walk(data, loss, method);
  }
}

TEST(jumps_leave_nothing_proven) {
  const MarginData data(MarginData::Layout::csr_double, n, d);
  const MarginLoss loss = MarginLoss::huber(0.01);
  const std::vector<double> random = test::numbers(40 * (d + 1));
  for (const auto method : {MarginMethod::lazy, MarginMethod::clusters, MarginMethod::sorted}) {
    const auto sums = make_margin_sums(data.task(loss), method, 1);
    std::vector<double> theta(d + 1), gradient(d + 1), expected;
    for (std::size_t k = 0; k < 40; ++k) {
      const double size = k % 4 == 0 ? 1e3 : 10.0;
      for (std::size_t j = 0; j <= d; ++j)
        theta[j] = size * random[k * (d + 1) + j];
      const double value = sums->evaluate(theta.data(), theta[d], gradient.data());
      const double direct = data.direct_sums(loss, data.weights, theta, expected);
      CHECK(is_close(value, direct, 1e-10 * (1 + std::abs(direct))));
      CHECK(largest_difference(gradient, expected) <= 1e-10 * total(data.weights));
    }
    // One pass a jump, and the few samples on which the bounds were tried.
    CHECK(sums->counts().n_examined <= 41 * static_cast<std::int64_t>(n));
  }
}

TEST(any_number_of_threads_gives_the_same_bits) {
  const MarginData data(MarginData::Layout::dense_float, 40000, 3);
  const std::vector<double> theta{0.3, -0.2, 0.5, 0.1};
  std::vector<double> one(4), three(4);
  const MarginTask task = data.task(MarginLoss::hinge());
  const double a =
      make_margin_sums(task, MarginMethod::full, 1)->evaluate(theta.data(), 0.1, one.data());
  const double b =
      make_margin_sums(task, MarginMethod::full, 3)->evaluate(theta.data(), 0.1, three.data());
  CHECK(a == b); // the order of summation is the same
  CHECK(one == three);
}

TEST(bounds_do_not_change_a_descent) {
  for (const auto layout : all_layouts) {
    MarginData data(layout, n, d);
    const double scale = total(data.weights);
    for (double& weight : data.weights)
      weight /= scale;
    for (const MarginLoss& loss : {MarginLoss::hinge(), MarginLoss::huber(0.01)})
      for (const bool halves : {true, false}) {
        DescentOptions options;
        options.lam = 1e-2, options.step = 0.02, options.max_iter = 200, options.tol = 1e-9;
        options.halves_step = halves;
        DescentResult found[3];
        for (int k = 0; k < 3; ++k) {
          const auto sums = make_margin_sums(data.task(loss), static_cast<MarginMethod>(k), 1);
          found[k] = descend(*sums, std::vector<double>(d + 1, 0.0), options);
          CHECK(found[k].n_iter == found[0].n_iter);
          CHECK(largest_difference(found[k].theta, found[0].theta) <= 1e-9);
        }
      }
  }
}

TEST(bounds_do_not_change_pegasos) {
  Watch watch(0, {});
  for (const auto layout : all_layouts) {
    const MarginData data(layout, n, d);
    for (const bool has_bias : {false, true}) {
      PegasosOptions options;
      options.lam = 1e-2, options.has_bias = has_bias;
      options.n_sampled = 20, options.n_steps = 500, options.seed = 3;
      PegasosResult found[2];
      for (const bool uses_bounds : {false, true}) {
        options.uses_bounds = uses_bounds;
        found[uses_bounds] = run_pegasos(data.task(MarginLoss::hinge()), options, watch);
      }
      CHECK(largest_difference(found[0].theta, found[1].theta) <= 1e-9);
      CHECK(found[1].n_pruned > 0 && found[1].n_examined < found[0].n_examined);
      CHECK(has_bias || found[1].theta[d] == 0.0); // never touched
    }
  }
}

} // namespace alphapath
