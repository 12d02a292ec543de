#include "primal/newton/newton.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// A step must bring at least this share of what the slope promises (Armijo).
constexpr double least_progress = 1e-4;
constexpr int max_halvings = 30;
constexpr int max_bisections = 120;
// Changes of F that may be rounding; the gradient then tells whether a step was good.
constexpr double level = 1e-10, loose_level = 1e-6;
constexpr double enough_gain = 0.7;
constexpr int max_level = 6; // steps in a row that bring nothing
// Of the residual of a Newton system, relative to its right-hand side; but no less than this share
// of the gradient at which the path would stop. Products with a matrix are cheap beside a move.
struct Accuracy {
  double step;
  double enough;
};
constexpr Accuracy with_factor{1e-3, 0.3};
constexpr Accuracy without_factor{5e-2, 0.9};
// Products with an old factor after which a new one would have been cheaper.
constexpr std::int64_t many_products = 6;
constexpr std::size_t max_products = 12;

// Of F: a gap that F in double precision can not show.
constexpr double least_gap = 1e-15;

double norm(const std::vector<double>& v) {
  return std::sqrt(dot_product(v.data(), v.data(), v.size()));
}

} // namespace

NewtonPath::NewtonPath(const MarginTask& task, const NewtonPathOptions& options, const double* gram)
    : options_(options), state_(task, options.has_bias, options.keeps_gram, gram),
      factor_(std::make_shared<NormalFactor>()), is_joint_(false) {
  measure_zero();
}

NewtonPath::NewtonPath(const MarginTask& task, const NewtonPathOptions& options,
                       ParabolaMoments start, std::shared_ptr<NormalFactor> factor)
    : options_(options), state_(task, options.has_bias, std::move(start)),
      factor_(std::move(factor)), is_joint_(true) {
  measure_zero();
}

void NewtonPath::measure_zero() {
  state_.evaluate(gradient_);
  zero_gradient_ = norm(gradient_) * share_of_rarer_class(state_.task());
}

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
  n_level_ = 0;
  least_size_ = norm(gradient_);
  needs_step_ = true;
  is_finished_ = false;
}

double NewtonPath::largest_gradient() const {
  return alphapath::largest_gradient(options_, C_ * zero_gradient_, result_.objective);
}

/// Whether a gradient of this norm, that of theta, ends the path.
bool NewtonPath::is_small_enough(double size) const {
  if (!(size <= largest_gradient()))
    return false;
  if (!options_.has_bias || options_.bias_penalty > 0.0)
    return true;
  const double reach = std::abs(gradient_.back()) * (1.0 + std::abs(state_.theta().back()));
  return !(reach > options_.bias_tol * std::abs(result_.objective));
}

bool NewtonPath::propose(Watch& watch) {
  if (is_finished_)
    return false;
  const std::size_t d = state_.size();
  if (needs_step_) {
    const double size = norm(gradient_);
    result_.gap = 0.5 * size * size;
    if (is_exact_ || is_small_enough(size))
      return finish(Status::solved);
    if (result_.n_iter >= options_.max_iter)
      return finish(Status::iteration_limit);
    if (watch.should_stop())
      return finish(watch.is_interrupted() ? Status::interrupted : Status::time_limit);
    ++result_.n_iter;
    find_step();
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
  // Where the losses are steep, F is flat to rounding long before its gradient is small; and the
  // minimum along a step is known by its slope, whatever rounding makes of F there.
  const double rise = result_.objective - start_objective_;
  const double size = norm(gradient_);
  const bool has_gained =
      rise <= level * std::abs(start_objective_) && size <= enough_gain * least_size_;
  const bool is_minimum =
      n_halvings_ > 0 && !is_joint_ && rise <= loose_level * std::abs(start_objective_);
  if (result_.objective > wanted && !has_gained && !is_minimum && n_halvings_ < max_halvings) {
    length_ = n_halvings_ > 0 || is_joint_ ? 0.5 * length_ : find_minimum_along();
    ++n_halvings_;
    return;
  }
  needs_step_ = true;
  is_exact_ = is_fresh_ && length_ == 1.0 && n_crossed_ == 0 && damping_ == 0.0;
  least_size_ = std::min(least_size_, size);
  const double least_fall = is_joint_ ? 0.0 : 1e-13 * std::abs(start_objective_);
  if (rise < -least_fall || has_gained || is_exact_) {
    n_level_ = 0;
    return;
  }
  if (is_minimum && ++n_level_ < max_level)
    return;
  // No step brings F down: what is left is rounding, perhaps that of past updates.
  n_level_ = 0;
  if (!is_refreshed_) {
    is_refreshed_ = true;
    state_.refresh();
    factor_->mark_outdated();
    result_.objective = evaluate(C_, gradient_);
    return;
  }
  result_.gap = 0.5 * size * size;
  const bool is_good = result_.gap <= options_.tol * std::abs(result_.objective);
  finish(is_good ? Status::solved : Status::stalled);
}

/// The length in (0, 1] at which F is least along step_: the root of its slope, which rises.
double NewtonPath::find_minimum_along() const {
  const MarginTask& task = state_.task();
  const std::size_t n = task.rows.size();
  std::vector<double> margins(n), changes(n);
  task.rows.dots(all_rows(0, n), origin_.data(), margins.data());
  task.rows.dots(all_rows(0, n), step_.data(), changes.data());
  for (std::size_t i = 0; i < n; ++i) {
    margins[i] = task.labels[i] * (margins[i] + (options_.has_bias ? origin_.back() : 0.0));
    changes[i] = task.labels[i] * (changes[i] + (options_.has_bias ? step_.back() : 0.0));
  }
  const auto slope_at = [&](double t) {
    double losses = 0.0, slope = 0.0;
    for (std::size_t i = 0; i < n; ++i)
      losses += task.weights[i] * state_.loss().slope(margins[i] + t * changes[i]) * changes[i];
    for (std::size_t j = 0; j < step_.size(); ++j)
      slope += penalty(j) * (origin_[j] + t * step_[j]) * step_[j];
    return slope + C_ * losses;
  };
  double low = 0.0, high = 1.0;
  double at_low = slope_at(low), at_high = slope_at(high);
  if (!(at_low < 0.0 && at_high > 0.0))
    return at_low < 0.0 ? 1.0 : 0.5; // rounding decides
  for (int k = 0; k < max_bisections && high - low > 1e-14 * high; ++k) {
    // The secant by turns with the middle: the slope may jump by orders of magnitude.
    const double secant = low + (high - low) * at_low / (at_low - at_high);
    const double t = k % 2 == 0 && secant > low && secant < high ? secant : 0.5 * (low + high);
    const double slope = slope_at(t);
    (slope < 0.0 ? low : high) = t;
    (slope < 0.0 ? at_low : at_high) = slope;
    if (std::abs(slope) <= 1e-3 * std::abs(slope_))
      return t;
  }
  return low > 0.0 ? low : high;
}

bool NewtonPath::finish(Status status) {
  result_.status = status;
  is_finished_ = true;
  return false;
}

/// step_ = -H^-1 gradient on the segments of theta.
void NewtonPath::find_step() {
  if (ParabolaSystem::is_better(state_, C_)) {
    const double bias_penalty = options_.has_bias ? options_.bias_penalty : -1.0;
    step_ = parabola_.solve(state_, C_, bias_penalty);
    for (std::size_t j = 0; j < step_.size(); ++j)
      step_[j] -= state_.theta()[j];
    damping_ = 0.0;
    is_fresh_ = true;
    ++result_.n_factors;
    return;
  }
  // A free bias is held only by rows on the parabola. Where there are too few of them, a ridge as
  // large as its slope keeps its step below 1; it vanishes with the slope.
  damping_ = 0.0;
  if (options_.has_bias && options_.bias_penalty == 0.0) {
    const double curvature = 2.0 * C_ * state_.loss().curvature * state_.parabola_weight();
    const double slope = std::abs(gradient_.back());
    damping_ = curvature < slope ? slope : curvature > 0.0 ? 0.0 : 1e-10;
  }
  step_.assign(state_.size(), 0.0);
  residual_.resize(state_.size());
  for (std::size_t j = 0; j < residual_.size(); ++j)
    residual_[j] = -gradient_[j];
  const Accuracy accuracy = state_.keeps_gram() ? with_factor : without_factor;
  const double size = norm(residual_);
  goal_ = std::max(accuracy.step * size, accuracy.enough * std::min(largest_gradient(), size));
  if (state_.keeps_gram())
    solve_with_factor();
  else
    conjugate_residuals();
}

void NewtonPath::solve_with_factor() {
  is_fresh_ = factor_->is_outdated();
  if (is_fresh_)
    factor();
  const std::int64_t n_before = result_.n_products;
  const bool is_solved = conjugate_gradients(is_fresh_ ? 3 : max_products);
  if (is_fresh_ || (is_solved && result_.n_products - n_before <= many_products))
    return;
  // A shared factor of this very C is another fold's: they have grown apart.
  if (factor_->C() == C_ && factor_.use_count() > 1)
    factor_ = std::make_shared<NormalFactor>();
  factor_->mark_outdated();
  if (is_solved)
    return;
  factor();
  is_fresh_ = true;
  conjugate_gradients(3);
}

void NewtonPath::factor() {
  std::vector<double> diagonal(state_.size());
  for (std::size_t j = 0; j < diagonal.size(); ++j)
    diagonal[j] = penalty(j);
  diagonal.back() += damping_;
  factor_->factor(state_.gram(), 2.0 * C_ * state_.loss().curvature, diagonal, C_);
  ++result_.n_factors;
}

void NewtonPath::multiply(const std::vector<double>& v, std::vector<double>& out) {
  const double scale = 2.0 * C_ * state_.loss().curvature;
  state_.multiply_gram(v, out);
  for (std::size_t j = 0; j < out.size(); ++j)
    out[j] = scale * out[j] + penalty(j) * v[j];
  out.back() += damping_ * v.back();
  ++result_.n_products;
}

/// On entry residual_ = -gradient - H step_; on exit likewise, and whether it is within goal_.
bool NewtonPath::conjugate_gradients(std::size_t max_products) {
  const std::size_t d = state_.size();
  double scale = 0.0; // residual' M^-1 residual
  for (std::size_t k = 0; norm(residual_) > goal_; ++k) {
    if (k == max_products)
      return false;
    preconditioned_ = residual_;
    factor_->solve(preconditioned_);
    const double next = dot_product(residual_.data(), preconditioned_.data(), d);
    if (k == 0)
      direction_ = preconditioned_;
    else
      for (std::size_t j = 0; j < d; ++j)
        direction_[j] = preconditioned_[j] + next / scale * direction_[j];
    scale = next;
    multiply(direction_, product_);
    const double curvature = dot_product(direction_.data(), product_.data(), d);
    if (!(curvature > 0.0))
      return false;
    const double length = scale / curvature;
    for (std::size_t j = 0; j < d; ++j) {
      step_[j] += length * direction_[j];
      residual_[j] -= length * product_[j];
    }
  }
  return true;
}

/// The same without a preconditioner: of all steps in the Krylov space the one with the smallest
/// residual, that is with the smallest gap on these segments.
void NewtonPath::conjugate_residuals() {
  const std::size_t d = state_.size();
  std::vector<double>& image = preconditioned_; // H residual
  std::vector<double>& direction_image = product_;
  double scale = 0.0; // residual' H residual
  for (std::size_t k = 0; k < 2 * d + 10 && norm(residual_) > goal_; ++k) {
    multiply(residual_, image);
    const double next = dot_product(residual_.data(), image.data(), d);
    if (k == 0) {
      direction_ = residual_;
      direction_image = image;
    } else {
      for (std::size_t j = 0; j < d; ++j) {
        direction_[j] = residual_[j] + next / scale * direction_[j];
        direction_image[j] = image[j] + next / scale * direction_image[j];
      }
    }
    scale = next;
    const double squares = dot_product(direction_image.data(), direction_image.data(), d);
    if (!(scale > 0.0 && squares > 0.0))
      return;
    const double length = scale / squares;
    for (std::size_t j = 0; j < d; ++j) {
      step_[j] += length * direction_[j];
      residual_[j] -= length * direction_image[j];
    }
  }
}

double share_of_rarer_class(const MarginTask& task) {
  double positive = 0.0, total = 0.0;
  for (std::size_t i = 0; i < task.rows.size(); ++i) {
    total += task.weights[i];
    positive += task.labels[i] > 0.0 ? task.weights[i] : 0.0;
  }
  return total > 0.0 ? std::min(positive, total - positive) / total : 0.0;
}

double largest_gradient(const NewtonPathOptions& options, double zero_gradient, double objective) {
  const double F = std::abs(objective);
  const double gap_rule = std::sqrt(2.0 * options.tol * F);
  const double share_rule = options.gradient_tol * zero_gradient;
  if (!(share_rule > 0.0 && share_rule < gap_rule))
    return gap_rule;
  const double squared = share_rule * share_rule / gap_rule;
  return std::min(share_rule, std::max(squared, std::sqrt(2.0 * least_gap * F)));
}

} // namespace alphapath
