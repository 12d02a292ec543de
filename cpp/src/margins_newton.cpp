#include "margins_newton.hpp"

#include "alphapath/blas.hpp"
#include "alphapath/box_problem.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// A step must bring at least this share of what the slope promises (Armijo).
constexpr double least_progress = 1e-4;
constexpr int max_halvings = 30;
// Of the residual of a Newton system solved by conjugate gradients, in the norm of its
// preconditioner.
constexpr double step_accuracy = 0.1;

} // namespace

NewtonPath::NewtonPath(const MarginTask& task, const NewtonOptions& options, const double* gram)
    : options_(options), state_(task, options.has_bias, options.keeps_gram, gram) {}

double NewtonPath::penalty(std::size_t j) const {
  return options_.has_bias && j + 1 == state_.size() ? options_.bias_penalty : 1.0;
}

double NewtonPath::evaluate(double C, std::vector<double>& gradient) const {
  const std::vector<double>& theta = state_.theta();
  double value = C * state_.evaluate(gradient);
  for (std::size_t j = 0; j < theta.size(); ++j) {
    value += 0.5 * penalty(j) * theta[j] * theta[j];
    gradient[j] = C * gradient[j] + penalty(j) * theta[j];
  }
  return value;
}

NewtonResult NewtonPath::solve(double C, Watch& watch) {
  begin(C);
  while (propose(watch))
    take(state_.move_to(trial_));
  return result_;
}

void NewtonPath::begin(double C) {
  C_ = C;
  result_ = NewtonResult{};
  result_.objective = evaluate(C, gradient_);
  is_exact_ = false;
  is_refreshed_ = false;
  needs_step_ = true;
  is_finished_ = false;
}

bool NewtonPath::propose(Watch& watch) {
  if (is_finished_)
    return false;
  const std::size_t d = state_.size();
  if (needs_step_) {
    result_.gap = 0.5 * dot_product(gradient_.data(), gradient_.data(), d);
    if (is_exact_ || result_.gap <= options_.tol * std::abs(result_.objective))
      return finish(Status::solved);
    if (result_.n_iter >= options_.max_iter)
      return finish(Status::iteration_limit);
    if (watch.should_stop())
      return finish(watch.is_interrupted() ? Status::interrupted : Status::time_limit);
    ++result_.n_iter;
    find_step(C_, result_);
    slope_ = dot_product(gradient_.data(), step_.data(), d);
    start_objective_ = result_.objective;
    origin_ = state_.theta();
    length_ = 1.0;
    n_crossed_ = 0;
    n_halvings_ = 0;
    needs_step_ = false;
  }
  trial_.resize(d);
  for (std::size_t j = 0; j < d; ++j)
    trial_[j] = origin_[j] + length_ * step_[j];
  return true;
}

void NewtonPath::take(std::size_t n_crossed) {
  n_crossed_ += n_crossed;
  result_.objective = evaluate(C_, gradient_);
  const double wanted = start_objective_ + least_progress * length_ * slope_;
  if (result_.objective > wanted && n_halvings_ < max_halvings) {
    ++n_halvings_;
    length_ *= 0.5;
    return;
  }
  needs_step_ = true;
  is_exact_ = options_.keeps_gram && length_ == 1.0 && n_crossed_ == 0 && damping_ == 0.0;
  if (result_.objective >= start_objective_ && !is_exact_) {
    // No step brings F down: what is left is rounding, perhaps that of past updates.
    if (!is_refreshed_) {
      is_refreshed_ = true;
      state_.refresh();
      result_.objective = evaluate(C_, gradient_);
      return;
    }
    result_.gap = 0.5 * dot_product(gradient_.data(), gradient_.data(), state_.size());
    const bool is_good = result_.gap <= options_.tol * std::abs(result_.objective);
    finish(is_good ? Status::solved : Status::stalled);
  }
}

bool NewtonPath::finish(Status status) {
  result_.status = static_cast<int>(status);
  is_finished_ = true;
  return false;
}

/// step_ = -H^-1 gradient on the segments of theta.
void NewtonPath::find_step(double C, NewtonResult& result) {
  // A free bias is held only by rows on the parabola. Where there are too few of them, a ridge as
  // large as its slope keeps its step below 1; it vanishes with the slope.
  damping_ = 0.0;
  if (options_.has_bias && options_.bias_penalty == 0.0) {
    const double curvature = 2.0 * C * state_.loss().curvature * state_.parabola_weight();
    const double slope = std::abs(gradient_.back());
    damping_ = curvature < slope ? slope : curvature > 0.0 ? 0.0 : 1e-10;
  }
  if (state_.keeps_gram()) {
    factor(C);
    ++result.n_factors;
    step_.assign(gradient_.begin(), gradient_.end());
    solve_factored(step_);
    for (double& x : step_)
      x = -x;
    return;
  }
  conjugate_gradients(C, step_accuracy, result);
}

void NewtonPath::factor(double C) {
  const std::size_t d = state_.size();
  const double scale = 2.0 * C * state_.loss().curvature;
  const std::vector<double>& G = state_.gram();
  factor_.resize(d * d);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      factor_[i * d + j] = scale * G[i * d + j];
    factor_[i * d + i] += penalty(i);
  }
  factor_.back() += damping_;
  const int n = static_cast<int>(d);
  int info = 0;
  blas().dpotrf("U", &n, factor_.data(), &n, &info);
}

void NewtonPath::solve_factored(std::vector<double>& x) const {
  const int n = static_cast<int>(x.size());
  const int one = 1;
  blas().dtrsv("U", "T", "N", &n, factor_.data(), &n, x.data(), &one);
  blas().dtrsv("U", "N", "N", &n, factor_.data(), &n, x.data(), &one);
}

void NewtonPath::multiply(double C, const std::vector<double>& v, std::vector<double>& out) const {
  const double scale = 2.0 * C * state_.loss().curvature;
  state_.multiply_gram(v, out);
  for (std::size_t j = 0; j < out.size(); ++j)
    out[j] = scale * out[j] + penalty(j) * v[j];
  out.back() += damping_ * v.back();
}

/// H step = -gradient to a relative residual of `accuracy`.
void NewtonPath::conjugate_gradients(double C, double accuracy, NewtonResult& result) {
  const std::size_t d = state_.size();
  step_.assign(d, 0.0);
  residual_.resize(d);
  for (std::size_t j = 0; j < d; ++j)
    residual_[j] = -gradient_[j];
  direction_ = residual_;
  double squares = dot_product(residual_.data(), residual_.data(), d);
  const double target = accuracy * accuracy * squares;
  for (std::size_t k = 0; k < 2 * d + 10 && squares > target; ++k) {
    multiply(C, direction_, product_);
    ++result.n_products;
    const double curvature = dot_product(direction_.data(), product_.data(), d);
    if (!(curvature > 0.0))
      break;
    const double length = squares / curvature;
    for (std::size_t j = 0; j < d; ++j) {
      step_[j] += length * direction_[j];
      residual_[j] -= length * product_[j];
    }
    const double next = dot_product(residual_.data(), residual_.data(), d);
    const double ratio = next / squares;
    squares = next;
    for (std::size_t j = 0; j < d; ++j)
      direction_[j] = residual_[j] + ratio * direction_[j];
  }
}

} // namespace alphapath
