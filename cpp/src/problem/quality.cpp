#include "problem/quality.hpp"

#include "base/isa.hpp"
#include "simd/dual/state_loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The largest value that rounding is relative to. Between instances, offsets cancel; a kernel
/// that is stored as expm1 has a diagonal of 0, and values up to that of the kernel itself.
double kernel_magnitude(const KernelRows& kernel, bool has_equality) {
  double stored = 0, whole = 0;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const double own = kernel.diagonal()[i];
    stored = std::max(stored, std::abs(own));
    whole = std::max(whole, std::abs(own + 2 * kernel.offset()[i]));
  }
  return has_equality && stored > 0 ? stored : whole;
}

simd::Point point_of(const BoxProblem& p, std::span<const double> beta,
                     std::span<const double> gradient) {
  return {beta.data(), gradient.data(), p.lower.data(), p.upper.data(), beta.size(), p.epsilon};
}

double bias_of(const simd::PointSums& sums) {
  if (sums.n_free > 0)
    return -sums.free_sum / sums.n_free;
  return 0 - SlopeRange{sums.slopes.min_up, sums.slopes.max_down}.middle(); // 0 rather than -0
}

/// -(slope z + epsilon |z|), where a slope of exactly 0 costs nothing, however far z may go.
double response_at(double z, double slope, double epsilon) {
  const double rate = slope + (z > 0 ? epsilon : z < 0 ? -epsilon : 0);
  return rate == 0 ? 0 : -rate * z;
}

/// max over z in the box of -(slope z + epsilon |z| + ridge z^2 / 2).
double best_response(double lower, double upper, double slope, double epsilon, double ridge) {
  if (ridge > 0) {
    const double pull = std::abs(slope) > epsilon ? -slope + std::copysign(epsilon, slope) : 0.0;
    const double z = std::clamp(pull / ridge, lower, upper);
    return -(slope * z + epsilon * std::abs(z) + ridge * z * z / 2);
  }
  double best = std::max(response_at(lower, slope, epsilon), response_at(upper, slope, epsilon));
  if (epsilon > 0 && lower <= 0 && upper >= 0)
    best = std::max(best, 0.0);
  return best;
}

} // namespace

double SlopeRange::middle() const {
  if (std::isinf(min_up))
    return std::isinf(max_down) ? 0 : max_down;
  return std::isinf(max_down) ? min_up : (min_up + max_down) / 2;
}

SlopeRange slope_range(const BoxProblem& problem, std::span<const double> beta,
                       std::span<const double> gradient) {
  const auto [min_up, max_down] =
      ALPHAPATH_DISPATCH(extreme_slopes)(point_of(problem, beta, gradient));
  return {min_up, max_down};
}

double find_bias(const BoxProblem& problem, std::span<const double> beta,
                 std::span<const double> gradient) {
  const simd::Point point = point_of(problem, beta, gradient);
  return bias_of(ALPHAPATH_DISPATCH(sum_point)(point, problem.targets.data()));
}

Quality measure_quality(const BoxProblem& p, std::span<const double> beta,
                        std::span<const double> gradient, bool has_equality) {
  const simd::Point point = point_of(p, beta, gradient);
  const simd::PointSums sums = ALPHAPATH_DISPATCH(sum_point)(point, p.targets.data());
  const auto [min_rising, max_falling] = sums.slopes;
  Quality quality;
  quality.rounding = slope_rounding(p.kernel, beta, has_equality);
  quality.objective = sums.objective;
  quality.n_free = sums.n_free;
  if (has_equality) {
    quality.violation = std::max(0.0, max_falling - min_rising);
    quality.bias = bias_of(sums);
  } else {
    quality.violation = std::max({0.0, max_falling, -min_rising});
  }
  if (!std::isfinite(quality.objective)) // nor is some beta or slope: comparisons say nothing
    quality.violation = infinity;
  if (p.ridge.empty()) {
    quality.gap = ALPHAPATH_DISPATCH(sum_gaps)(point, quality.bias);
    return quality;
  }
  for (std::size_t i = 0; i < beta.size(); ++i) {
    // In the slope of the loss, f - r, the ridge has no part; of beta'D beta one half is left.
    const double ridge = p.ridge_of(i);
    const double slope = gradient[i] + quality.bias - ridge * beta[i];
    quality.gap += (slope + ridge * beta[i] / 2) * beta[i] + p.epsilon * std::abs(beta[i]) +
                   best_response(p.lower[i], p.upper[i], slope, p.epsilon, ridge);
  }
  return quality;
}

double slope_rounding(const KernelRows& kernel, std::span<const double> beta, bool has_equality) {
  double squares = 0;
  for (const double b : beta)
    squares += b * b;
  const double unit = std::numeric_limits<double>::epsilon() / 2;
  return unit * kernel_magnitude(kernel, has_equality) * std::sqrt(squares);
}

double feasibility_gap(const BoxProblem& problem, const GapPoint& point) {
  if (!(point.rho > 0))
    return infinity;
  const double scale = 1 / point.rho;
  // Summed instance by instance, so that the small difference of two large sums keeps its digits:
  // primal - dual = sum of  beta_i (f_i - 1) + D_ii beta_i^2 / 2 + xi_i^2 / (2 D_ii).
  double squared_norm = 0, losses = 0, gap = 0;
  for (std::size_t i = 0; i < point.a.size(); ++i) {
    if (problem.upper[i] == 0)
      continue;
    const double ridge = point.ridge_factor * problem.ridge_of(i);
    const double beta = point.a[i] * scale;
    const double value = point.s[i] * scale - ridge * beta;
    const double slack = std::max(0.0, 1 - value);
    double loss = 0;
    if (slack > 0) {
      if (ridge > 0)
        loss = 0.5 * slack * slack / ridge;
      else if (slack > 1e-12)
        return infinity;
    }
    squared_norm += beta * value;
    losses += loss;
    gap += beta * (value - 1) + 0.5 * ridge * beta * beta + loss;
  }
  return gap / (0.5 * squared_norm + losses + 1);
}

} // namespace alphapath
