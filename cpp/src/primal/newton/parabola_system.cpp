#include "primal/newton/parabola_system.hpp"

#include <algorithm>

namespace alphapath {

namespace {

// Largest second derivative along a row, against the penalty of 1, up to which the normal equations
// keep enough digits.
constexpr double steep = 1e10;

} // namespace

bool ParabolaSystem::is_better(const SegmentState& state, double C) {
  if (!state.sums_rows() || state.parabola_rows().empty() ||
      state.parabola_rows().size() >= state.size()) // at a vertex H has full rank
    return false;
  const std::vector<double>& weights = state.parabola_weights();
  const double weight = *std::max_element(weights.begin(), weights.end());
  double longest = 0.0;
  for (const std::int32_t i : state.parabola_rows())
    longest = std::max(longest, state.task().rows.norm(static_cast<std::size_t>(i)));
  return 2.0 * C * state.loss().curvature * weight * (longest * longest + 1.0) > steep;
}

/// gram_ = A P^-1 A', the free bias left out; border_ = y.
void ParabolaSystem::fill(const SegmentState& state, double bias_penalty) {
  const MarginTask& task = state.task();
  const std::vector<std::int32_t>& rows = state.parabola_rows();
  const std::size_t m = rows.size();
  const double of_bias = bias_penalty > 0.0 ? 1.0 / bias_penalty : 0.0;
  gram_.resize(m * m);
  border_.resize(m);
  for (std::size_t k = 0; k < m; ++k)
    border_[k] = task.labels[static_cast<std::size_t>(rows[k])];
  const double one = 1.0;
  for (std::size_t k = 0; k < m; ++k) {
    row_.assign(task.rows.n_columns(), 0.0);
    task.rows.add_rows({rows.data() + k, 0, 1}, &one, row_.data());
    double* out = gram_.data() + k * m;
    task.rows.dots({rows.data(), 0, k + 1}, row_.data(), out);
    for (std::size_t l = 0; l <= k; ++l)
      out[l] = border_[k] * border_[l] * (out[l] + of_bias);
  }
}

const std::vector<double>& ParabolaSystem::solve(const SegmentState& state, double C,
                                                 double bias_penalty) {
  const MarginTask& task = state.task();
  const std::vector<std::int32_t>& rows = state.parabola_rows();
  const std::size_t m = rows.size();
  fill(state, bias_penalty);
  diagonal_.resize(m);
  for (std::size_t k = 0; k < m; ++k)
    diagonal_[k] = 1.0 / (2.0 * C * state.loss().curvature * state.parabola_weights()[k]);
  factor_.factor(gram_, 1.0, diagonal_, C);

  // theta without lambda, and what is left of `high` there.
  theta_ = state.line_sum();
  for (double& value : theta_)
    value *= C;
  const double slope = theta_.back(); // of the bias, where there is one
  if (bias_penalty >= 0.0)
    theta_.back() = bias_penalty > 0.0 ? slope / bias_penalty : 0.0;
  right_.resize(m);
  task.rows.dots({rows.data(), 0, m}, theta_.data(), right_.data());
  const double bias = bias_penalty >= 0.0 ? theta_.back() : 0.0;
  for (std::size_t k = 0; k < m; ++k)
    right_[k] = state.loss().high - border_[k] * (right_[k] + bias);
  factor_.solve(right_);
  if (bias_penalty == 0.0) { // b from y'lambda = -slope
    std::vector<double>& image = row_;
    image = border_;
    factor_.solve(image);
    const double size = dot_product(border_.data(), image.data(), m);
    theta_.back() = (dot_product(border_.data(), right_.data(), m) + slope) / size;
    for (std::size_t k = 0; k < m; ++k)
      right_[k] -= theta_.back() * image[k];
  }
  for (std::size_t k = 0; k < m; ++k)
    right_[k] *= border_[k];
  task.rows.add_rows({rows.data(), 0, m}, right_.data(), theta_.data());
  if (bias_penalty > 0.0)
    for (std::size_t k = 0; k < m; ++k)
      theta_.back() += right_[k] / bias_penalty;
  return theta_;
}

} // namespace alphapath
