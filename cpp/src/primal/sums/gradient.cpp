#include "primal/sums/gradient.hpp"

#include "base/interrupt.hpp"

#include <cmath>

namespace alphapath {

namespace {

/// Objective at theta; fills its gradient.
double evaluate(MarginSums& sums, const std::vector<double>& theta, const DescentOptions& options,
                std::vector<double>& gradient) {
  const std::size_t d = theta.size() - 1;
  const double losses = sums.evaluate(theta.data(), theta[d], gradient.data());
  for (std::size_t j = 0; j < d; ++j)
    gradient[j] += options.lam * theta[j];
  gradient[d] = options.has_bias ? gradient[d] + options.bias_lam * theta[d] : 0.0;
  return losses + 0.5 * options.lam * dot_product(theta.data(), theta.data(), d) +
         0.5 * options.bias_lam * theta[d] * theta[d];
}

// A step that brings the objective above so many times the first is taken back: in the end theta
// would be no number.
constexpr double far_above = 1e6;

/// How far the objective may be from the least one; a free bias counts as if it went to 0 and on.
double gap_at(const std::vector<double>& theta, const DescentOptions& options,
              const std::vector<double>& gradient) {
  const std::size_t d = theta.size() - 1;
  const double squares = dot_product(gradient.data(), gradient.data(), d);
  const double slope = std::abs(gradient[d]);
  const double of_bias = options.bias_lam > 0.0 ? 0.5 * slope * slope / options.bias_lam
                                                : slope * (1.0 + std::abs(theta[d]));
  return 0.5 * squares / options.lam + of_bias;
}

} // namespace

DescentResult descend(MarginSums& sums, std::vector<double> theta, const DescentOptions& options) {
  Watch watch(options.time_limit, options.wants_stop);
  DescentResult result;
  result.step = options.step;
  std::vector<double> gradient(theta.size());
  double objective = evaluate(sums, theta, options, gradient);
  const double too_high = far_above * (objective + 1.0);
  std::vector<double> before, gradient_before;
  Status status = Status::iteration_limit;
  while (options.max_iter < 0 || result.n_iter < options.max_iter) {
    if (watch.should_stop()) {
      status = watch.is_interrupted() ? Status::interrupted : Status::time_limit;
      break;
    }
    ++result.n_iter;
    before = theta;
    gradient_before = gradient;
    for (std::size_t j = 0; j < theta.size(); ++j)
      theta[j] -= result.step * gradient[j];
    const bool has_moved = theta != before;
    const double next = evaluate(sums, theta, options, gradient);
    if (!(next <= too_high) && options.halves_step) {
      theta = before;
      gradient = gradient_before;
      result.step *= 0.5;
      continue;
    }
    const double change = next - objective;
    objective = next;
    const bool is_near = options.gap_tol == 0.0
                             ? std::abs(change) < options.tol * std::abs(next)
                             : gap_at(theta, options, gradient) <= options.gap_tol * next;
    if (!is_near && !has_moved) {
      status = Status::stalled;
      break;
    }
    if (is_near) {
      status = Status::solved;
      break;
    }
    if (change > 0.0 && options.halves_step)
      result.step *= 0.5;
  }
  result.theta = std::move(theta);
  result.objective = objective;
  result.status = status;
  return result;
}

} // namespace alphapath
