#include "dual/coordinate.hpp"

#include "base/buffer.hpp"
#include "base/isa.hpp"
#include "problem/quality.hpp"
#include "problem/solution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

constexpr std::int64_t steps_between_refreshes = 20'000;

/// How often a stopping rule that held before a refresh may fail after it.
constexpr int max_late = 50;

/// Steps without a smaller gap after which rounding has the upper hand (or more, on long runs).
constexpr std::int64_t patience = 100'000;

} // namespace

Coordinate::Coordinate(const BoxProblem& problem, const std::optional<StartPoint>& start,
                       const SolveOptions& options)
    : p_(problem), options_(options), watch_(options.time_limit, options.wants_stop),
      n_(problem.kernel.size()), beta_(padded(n_)), gradient_(padded(n_)), lower_(padded(n_)),
      upper_(padded(n_)), curvature_(padded(n_), 1.0), inverse_(padded(n_), 1.0),
      offset_(padded(n_)), s_(n_) {
  const auto offset = problem.kernel.offset();
  std::copy(offset.begin(), offset.end(), offset_.begin());
  std::copy(problem.lower.begin(), problem.lower.end(), lower_.begin());
  std::copy(problem.upper.begin(), problem.upper.end(), upper_.begin());
  for (std::size_t i = 0; i < n_; ++i)
    beta_[i] = start ? start->beta[i] : std::clamp(0.0, lower_[i], upper_[i]);
  if (start && !start->gradient.empty())
    std::copy(start->gradient.begin(), start->gradient.end(), gradient_.begin());
  else
    refresh();
  set_ridge_factor(1);
}

void Coordinate::set_ridge_factor(double factor) {
  const double change = factor - ridge_factor_;
  ridge_factor_ = factor;
  for (std::size_t i = 0; i < n_; ++i) {
    gradient_[i] += change * p_.ridge_of(i) * beta_[i];
    const double own = p_.kernel.diagonal()[i] + 2 * offset_[i];
    curvature_[i] = std::max(own + ridge_of(i), 1e-12);
    inverse_[i] = 1 / curvature_[i];
  }
}

Status Coordinate::descend() {
  first_iter_ = n_iter_;
  find_next();
  const Status status = options_.gap_tol > 0 ? descend_by_gap() : descend_by_violation();
  if (!is_fresh_ && n_iter_ > 0)
    refresh();
  return status;
}

Status Coordinate::descend_by_violation() {
  int n_late = 0;
  for (;;) {
    // A step that moves nothing is the end too, whatever the violation.
    if (next_.violation <= options_.tol || last_move_ == 0) {
      refresh();
      find_next();
      if (next_.violation <= options_.tol)
        return Status::solved;
      if (++n_late > max_late)
        return Status::stalled;
    }
    if (const auto limit = find_limit())
      return *limit;
    step();
    if (n_iter_ % steps_between_refreshes == 0) {
      refresh();
      find_next();
    }
  }
}

Status Coordinate::descend_by_gap() {
  std::int64_t next_check = n_iter_, best_at = n_iter_;
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    if (n_iter_ == next_check || last_move_ == 0) {
      if (meets_gap())
        return Status::solved;
      if (gap_ < best) {
        best = gap_;
        best_at = n_iter_;
      }
      if (n_iter_ - best_at > std::max(patience, (n_iter_ - first_iter_) / 2) ||
          (last_move_ == 0 && is_fresh_))
        return Status::stalled;
      // An evaluation costs about two steps.
      next_check = n_iter_ + 8 + static_cast<std::int64_t>(n_ / 16);
    }
    if (const auto limit = find_limit())
      return *limit;
    step();
    if ((n_iter_ - first_iter_) % steps_between_refreshes == 0) {
      refresh();
      find_next();
    }
  }
}

/// Whether the gap, of a gradient computed afresh, is small enough; beta then is scaled to it.
bool Coordinate::meets_gap() {
  double scale = best_scale();
  gap_ = gap_at(scale);
  const bool is_due = gap_ <= options_.gap_tol || last_move_ == 0;
  if (is_due && !is_fresh_) {
    refresh();
    find_next();
    scale = best_scale();
    gap_ = gap_at(scale);
  }
  if (gap_ > options_.gap_tol)
    return false;
  if (scale != 1)
    scale_by(1 / scale);
  return true;
}

/// rho such that beta / rho has the largest dual objective: s'beta / sum(beta).
double Coordinate::best_scale() const {
  double top = 0, bottom = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    top += beta_[i] * (gradient_[i] + 1);
    bottom += beta_[i];
  }
  return bottom > 0 && top > 0 ? top / bottom : 1;
}

double Coordinate::gap_at(double scale) {
  for (std::size_t i = 0; i < n_; ++i)
    s_[i] = gradient_[i] + 1;
  return feasibility_gap(p_, {beta(), s_, scale, ridge_factor_});
}

void Coordinate::scale_by(double factor) {
  for (std::size_t i = 0; i < n_; ++i) {
    beta_[i] *= factor;
    gradient_[i] = (gradient_[i] + 1) * factor - 1;
  }
}

std::optional<Status> Coordinate::find_limit() {
  if (options_.max_iter >= 0 && n_iter_ - first_iter_ >= options_.max_iter)
    return Status::iteration_limit;
  if (n_iter_ % 32 == 31 && watch_.should_stop())
    return watch_.is_interrupted() ? Status::interrupted : Status::time_limit;
  return std::nullopt;
}

simd::CoordinateView Coordinate::view() {
  return {gradient_.data(),  beta_.data(),    lower_.data(),  upper_.data(),
          curvature_.data(), inverse_.data(), offset_.data(), beta_.size()};
}

void Coordinate::find_next() {
  next_ = ALPHAPATH_DISPATCH(coordinate_update<double>)(view(), nullptr, 0.0, 0.0);
  last_move_ = 1;
}

void Coordinate::step() {
  const std::size_t i = next_.index;
  const double old = beta_[i];
  beta_[i] = std::clamp(old - gradient_[i] * inverse_[i], lower_[i], upper_[i]);
  last_move_ = beta_[i] - old;
  gradient_[i] += ridge_of(i) * last_move_;
  ++n_iter_;
  is_fresh_ = false;
  const KernelRow row = p_.kernel.row(i);
  const double own = offset_[i];
  if (p_.kernel.precision() == Precision::float32)
    next_ = ALPHAPATH_DISPATCH(coordinate_update<float>)(
        view(), static_cast<const float*>(row.data), last_move_, own);
  else
    next_ = ALPHAPATH_DISPATCH(coordinate_update<double>)(
        view(), static_cast<const double*>(row.data), last_move_, own);
}

/// gradient <- (K + D) beta - r, from scratch.
void Coordinate::refresh() {
  std::vector<std::size_t> support;
  std::vector<double> coefficients;
  for (std::size_t i = 0; i < n_; ++i)
    if (beta_[i] != 0) {
      support.push_back(i);
      coefficients.push_back(beta_[i]);
    }
  const double sum = std::accumulate(beta_.begin(), beta_.end(), 0.0);
  const double shift = std::inner_product(beta_.begin(), beta_.end(), offset_.begin(), 0.0);
  for (std::size_t i = 0; i < n_; ++i)
    gradient_[i] = ridge_of(i) * beta_[i] - p_.targets[i] + offset_[i] * sum + shift;
  multiply_add(p_.kernel, support, coefficients, std::span(gradient_).first(n_));
  ++n_refreshes_;
  is_fresh_ = true;
}

SolveResult solve_coordinate(const BoxProblem& problem, const std::optional<StartPoint>& start,
                             const SolveOptions& options) {
  Coordinate descent(problem, start, options);
  SolveResult result;
  result.status = descent.descend();
  result.beta.assign(descent.beta().begin(), descent.beta().end());
  result.gradient.assign(descent.gradient().begin(), descent.gradient().end());
  result.n_iter = descent.n_iter();
  result.n_refreshes = descent.n_refreshes();
  result.quality = measure_quality(problem, result.beta, result.gradient, false);
  if (!(options.gap_tol > 0)) // a gap has its own measure
    admit_rounding(options.tol, result);
  result.solve_time = descent.seconds();
  return result;
}

/// On one kernel, D -> D' changes the gradient by (D' - D) beta: moving to the next C costs one
/// pass, no kernel row, and what remains are the steps of the coordinate solver.
RidgeChainResult solve_ridge_chain(const BoxProblem& problem, std::span<const double> factors,
                                   const std::optional<StartPoint>& start,
                                   const SolveOptions& options) {
  Coordinate descent(problem, start, options);
  RidgeChainResult result;
  const std::size_t n = problem.kernel.size();
  result.nodes.reserve(factors.size());
  result.beta.reserve(factors.size() * n);
  result.gradient.reserve(factors.size() * n);
  for (const double factor : factors) {
    const std::int64_t n_iter = descent.n_iter(), n_refreshes = descent.n_refreshes();
    const double begin = descent.seconds();
    descent.set_ridge_factor(factor);
    const Status status = descent.descend();
    result.nodes.push_back({status, descent.n_iter() - n_iter, descent.n_refreshes() - n_refreshes,
                            descent.gap(), descent.seconds() - begin});
    result.beta.insert(result.beta.end(), descent.beta().begin(), descent.beta().end());
    result.gradient.insert(result.gradient.end(), descent.gradient().begin(),
                           descent.gradient().end());
    if (status == Status::interrupted || status == Status::time_limit)
      break;
  }
  return result;
}

} // namespace alphapath
