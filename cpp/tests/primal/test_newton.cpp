// Moments along a moving theta, and Newton paths of one fold and of several side by side: judged by
// the gradient of every margin, term by term.
#include "problem/limits.hpp"
#include "support/check.hpp"
#include "support/margin_data.hpp"

#include "primal/newton/fold_paths.hpp"

#include <algorithm>
#include <numeric>

namespace alphapath {
namespace {

using test::all_layouts;
using test::all_losses;
using test::is_close;
using test::largest_difference;
using test::MarginData;

constexpr std::size_t n = 150, d = 7;

/// Squared norm of the gradient of F, and F itself.
struct Truth {
  double squares, objective;
};

Truth judge(const MarginData& data, const MarginLoss& loss, const std::vector<double>& s,
            std::vector<double> theta, const NewtonPathOptions& options, double C) {
  if (!options.has_bias)
    theta.push_back(0.0);
  std::vector<double> gradient;
  Truth found{0.0, C * data.direct_sums(loss, s, theta, gradient)};
  for (std::size_t j = 0; j < d + options.has_bias; ++j) {
    const double penalty = j < d ? 1.0 : options.bias_penalty;
    const double slope = C * gradient[j] + penalty * theta[j];
    found.squares += slope * slope;
    found.objective += 0.5 * penalty * theta[j] * theta[j];
  }
  return found;
}

void check_result(const NewtonResult& result, const Truth& truth, const char* file, int line) {
  const bool is_right = result.status == Status::solved &&
                        is_close(result.objective, truth.objective, 1e-9 * truth.objective) &&
                        0.5 * truth.squares <= 1e-8 * truth.objective &&
                        is_close(result.gap, 0.5 * truth.squares, 1e-9 * truth.objective);
  if (!is_right)
    test::report(file, line, "the result is that of every margin");
}

NewtonPathOptions make_options(bool has_bias, double penalty, bool keeps_gram) {
  NewtonPathOptions options;
  options.has_bias = has_bias, options.bias_penalty = penalty, options.keeps_gram = keeps_gram;
  options.tol = 1e-10;
  return options;
}

/// Five folds: one task a fold, weights 0 on the rows that it holds out.
struct FoldData {
  explicit FoldData(MarginData& data) : weights(5, data.weights) {
    for (std::size_t i = 0; i < n; ++i)
      if (i % 6 < 5) // the rest is held out by none
        weights[i % 6][i] = 0.0;
    for (const auto& own : weights)
      tasks.push_back({data.rows(), data.signs(), {own.data(), 1}, MarginLoss::squared_hinge()});
  }

  std::vector<std::vector<double>> weights;
  std::vector<MarginTask> tasks;
};

} // namespace

TEST(moments_follow_the_crossings) {
  const std::vector<double> random = test::numbers(60 * (d + 1));
  for (const auto layout : all_layouts) {
    const MarginData data(layout, n, d);
    for (const MarginLoss& loss : all_losses())
      for (const bool keeps_gram : {true, false}) {
        SegmentState state(data.task(loss), true, keeps_gram, nullptr);
        std::vector<double> theta(d + 1, 0.0), gradient(d + 1), expected, before(n, 0.0);
        for (std::size_t k = 0; k < 60; ++k) {
          std::size_t n_crossed = 0;
          for (std::size_t j = 0; j <= d; ++j)
            theta[j] += (k % 20 == 0 ? 2.0 : 0.05) * random[k * (d + 1) + j];
          const std::size_t told = state.move_to(theta);
          for (std::size_t i = 0; i < n; ++i) {
            const double m = data.margin(i, theta);
            n_crossed += data.weights[i] > 0 && loss.segment(m) != loss.segment(before[i]);
            before[i] = m;
          }
          CHECK(told == n_crossed);
          const double direct = data.direct_sums(loss, data.weights, theta, expected);
          CHECK(is_close(state.evaluate(gradient), direct, 1e-9 * (1 + direct)));
          CHECK(largest_difference(gradient, expected) <= 1e-9 * (1 + direct));
        }
        CHECK(state.counts().n_pruned > 0);
      }
  }
}

TEST(newton_paths_end_at_the_optimum) {
  Watch watch(0, {});
  for (const auto layout : all_layouts) {
    const MarginData data(layout, n, d);
    for (const MarginLoss& loss : {MarginLoss::huber(0.5), MarginLoss::squared_hinge()})
      for (const bool keeps_gram : {true, false})
        for (const double penalty : {1.0, 0.0, -1.0}) { // -1: no bias
          const auto options = make_options(penalty >= 0, std::max(penalty, 0.0), keeps_gram);
          NewtonPath path(data.task(loss), options, nullptr);
          for (const double C : {1e-3, 0.1, 5.0, 0.3}) {
            const NewtonResult result = path.solve(C, watch);
            const auto& theta = path.state().theta();
            check_result(result, judge(data, loss, data.weights, theta, options, C), __FILE__,
                         __LINE__);
          }
          CHECK(path.solve(0.3, watch).n_iter == 0); // its own optimum as the start
        }
  }
}

TEST(folds_side_by_side_end_at_their_optima) {
  Watch watch(0, {});
  for (const auto layout : all_layouts) {
    MarginData data(layout, n, d);
    for (double& weight : data.weights)
      weight = std::max(weight, 0.5); // a row of weight 0 is held out
    const FoldData folds(data);
    for (const bool keeps_gram : {true, false})
      for (const double penalty : {1.0, -1.0}) {
        const auto options = make_options(penalty >= 0, std::max(penalty, 0.0), keeps_gram);
        const auto paths = make_fold_paths(folds.tasks, options, {});
        CHECK(paths->size() == 5);
        for (const double C : {1e-3, 0.05, 2.0, 40.0}) {
          const std::vector<NewtonResult> results = paths->solve(C, watch);
          for (std::size_t f = 0; f < 5; ++f) {
            std::vector<double> theta = paths->theta(f);
            const MarginLoss loss = MarginLoss::squared_hinge();
            check_result(results[f], judge(data, loss, folds.weights[f], theta, options, C),
                         __FILE__, __LINE__);
            if (!options.has_bias)
              theta.push_back(0.0);
            for (std::size_t i = 0; i < n; ++i)
              if (i % 6 == f)
                CHECK(is_close(paths->held_out_values()[i], data.labels[i] * data.margin(i, theta),
                               1e-9));
          }
        }
      }
  }
}

TEST(signs_of_held_out_rows_are_right) {
  Watch watch(0, {});
  MarginData data(MarginData::Layout::csr_float, n, d);
  for (double& weight : data.weights)
    weight = std::max(weight, 0.5);
  const FoldData folds(data);
  auto options = make_options(true, 0.0, true);
  options.are_signs_enough = true;
  const auto paths = make_fold_paths(folds.tasks, options, {});
  for (double C = 1e-4; C < 1e3; C *= 2) {
    paths->solve(C, watch);
    for (std::size_t i = 0; i < n; ++i)
      if (i % 6 < 5) {
        const double value = data.labels[i] * data.margin(i, paths->theta(i % 6));
        CHECK((value > 0) == (paths->held_out_values()[i] > 0));
      }
  }
}

TEST(a_time_limit_stops_a_path) {
  Watch watch(1e-12, {});
  const MarginData data(MarginData::Layout::dense_double, n, d);
  auto options = make_options(true, 1.0, true);
  NewtonPath path(data.task(MarginLoss::squared_hinge()), options, nullptr);
  CHECK(path.solve(10.0, watch).status == Status::time_limit);
}

} // namespace alphapath
