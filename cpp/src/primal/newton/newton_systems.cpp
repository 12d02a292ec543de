// The linear systems of Newton's method (margins_newton.hpp).
#include "primal/newton/newton.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

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

double norm(const std::vector<double>& v) {
  return std::sqrt(dot_product(v.data(), v.data(), v.size()));
}

} // namespace

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
    factor_ = std::make_shared<GramFactor>();
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

} // namespace alphapath
