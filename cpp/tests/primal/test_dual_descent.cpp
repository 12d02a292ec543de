// Dual coordinate descent: its sums against the definition, and bounds that change no bit.
#include "support/check.hpp"
#include "support/margin_data.hpp"

#include "primal/dual_descent.hpp"

namespace alphapath {
namespace {

using test::all_layouts;
using test::is_close;
using test::MarginData;

constexpr std::size_t n = 230, d = 9;

/// theta, objective and gap of alpha, term by term.
void check_point(const MarginData& data, const DualResult& found, bool has_bias) {
  std::vector<double> theta(d + 1, 0.0);
  double sum = 0.0, losses = 0.0, square = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double alpha = found.alpha[i];
    CHECK(alpha >= 0.0 && alpha <= data.weights[i]);
    for (std::size_t j = 0; j < d; ++j)
      theta[j] += alpha * data.labels[i] * data.at(i, j);
    theta[d] += has_bias ? alpha * data.labels[i] : 0.0;
    sum += alpha;
  }
  for (std::size_t i = 0; i < n; ++i)
    losses += data.weights[i] * std::max(1.0 - data.margin(i, theta), 0.0);
  for (double t : theta)
    square += t * t;
  CHECK(test::largest_difference(theta, found.theta) <= 1e-9);
  CHECK(is_close(found.objective, 0.5 * square + losses, 1e-9));
  CHECK(is_close(found.gap, square + losses - sum, 1e-8));
}

} // namespace

TEST(dual_descent_reaches_its_gap) {
  for (const auto layout : all_layouts) {
    const MarginData data(layout, n, d);
    const MarginTask task = data.task(MarginLoss::hinge());
    for (const bool has_bias : {false, true}) {
      DualOptions options;
      options.tol = 1e-9, options.has_bias = has_bias, options.seed = 4;
      DualResult found[2];
      for (const bool uses_bounds : {false, true}) {
        options.uses_bounds = uses_bounds;
        found[uses_bounds] = descend_dual(task, {}, options);
        CHECK(found[uses_bounds].status == Status::solved);
        CHECK(found[uses_bounds].gap <= 1e-9 * found[uses_bounds].objective);
        check_point(data, found[uses_bounds], has_bias);
      }
      CHECK(found[0].alpha == found[1].alpha);
      CHECK(found[0].n_iter == found[1].n_iter && found[0].n_inner == found[1].n_inner);
      CHECK(found[0].n_pruned == 0 && found[1].n_pruned > 0);
      CHECK(has_bias || found[1].theta[d] == 0.0); // never touched
      const DualResult again = descend_dual(task, found[1].alpha, options);
      CHECK(again.n_iter == 0 && again.alpha == found[1].alpha);
    }
  }
}

TEST(dual_descent_gives_up_when_asked) {
  const MarginData data(MarginData::Layout::csr_float, n, d);
  const MarginTask task = data.task(MarginLoss::hinge());
  DualOptions options;
  options.tol = 1e-13, options.max_examined = 4 * static_cast<std::int64_t>(n);
  const DualResult found = descend_dual(task, {}, options);
  CHECK(found.status == Status::iteration_limit && found.gap > 0.0);
  check_point(data, found, false);
  options.wants_stop = [] { return true; };
  options.max_examined = -1;
  options.tol = 0.0; // never met: only the question ends it, or rounding
  const DualResult interrupted = descend_dual(task, {}, options);
  CHECK(interrupted.status == Status::interrupted || interrupted.status == Status::stalled);
  check_point(data, interrupted, false);
}

} // namespace alphapath
