// Greedy coordinate descent for the family without the equality constraint:
//
//   minimise  1/2 beta' (K + ridge I) beta - r' beta   subject to  lower <= beta <= upper
//
//   repeat  i = argmax of the decrease a step in beta_i alone can bring
//           beta_i <- clip(beta_i - g_i / (K_ii + ridge)),  g += step K_i
//
// One pass a step: the update of g and the search for the next i are fused. All in double; the
// kernel's offsets are added on the fly, since without the equality they do not cancel.
#include "alphapath/box_problem.hpp"
#include "alphapath/interrupt.hpp"
#include "alphapath/quality.hpp"

#include "simd/coordinate_loops.hpp"
#include "simd/isa.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

constexpr std::int64_t steps_between_refreshes = 20'000;

class Coordinate {
public:
  Coordinate(const BoxProblem& problem, const std::optional<StartPoint>& start,
             const SolveOptions& options)
      : p_(problem), options_(options), watch_(options.time_limit, options.wants_stop),
        n_(problem.kernel.size()), beta_(n_), gradient_(n_), inverse_(n_) {
    for (std::size_t i = 0; i < n_; ++i) {
      const double curvature = problem.kernel.diagonal()[i] + 2 * problem.kernel.offset()[i];
      inverse_[i] = 1 / std::max(curvature + problem.ridge, 1e-12);
      beta_[i] = start ? start->beta[i] : std::clamp(0.0, problem.lower[i], problem.upper[i]);
    }
    if (start && !start->gradient.empty())
      gradient_.assign(start->gradient.begin(), start->gradient.end());
    else
      refresh();
  }

  SolveResult run() {
    const Status status = iterate();
    if (result_.n_iter > 0)
      refresh();
    result_.status = status;
    result_.quality = measure_quality(p_, beta_, gradient_, false);
    result_.beta = std::move(beta_);
    result_.gradient = std::move(gradient_);
    result_.solve_time = watch_.seconds();
    return std::move(result_);
  }

private:
  Status iterate() {
    Candidate next = best_candidate();
    for (std::int64_t k = 1;; ++k) {
      if (next.violation <= options_.tol) {
        refresh();
        next = best_candidate();
        if (next.violation <= options_.tol)
          return Status::solved;
        if (++n_late_ > 50)
          return Status::stalled;
      }
      if (options_.max_iter >= 0 && result_.n_iter >= options_.max_iter)
        return Status::iteration_limit;
      if (k % 32 == 0 && watch_.should_stop())
        return watch_.is_interrupted() ? Status::interrupted : Status::time_limit;
      next = step(next);
      if (k % steps_between_refreshes == 0) {
        refresh();
        next = best_candidate();
      }
    }
  }

  using Candidate = simd::CoordinateCandidate;

  simd::CoordinateView view() {
    return {gradient_.data(), beta_.data(), p_.lower.data(), p_.upper.data(), inverse_.data(), n_};
  }

  Candidate best_candidate() {
    const simd::CoordinateView v = view();
    return ALPHAPATH_DISPATCH(coordinate_update<double>)(v, nullptr, nullptr, 0.0, 0.0);
  }

  Candidate step(const Candidate& candidate) {
    const std::size_t i = candidate.index;
    const double old = beta_[i];
    beta_[i] = std::clamp(old - gradient_[i] * inverse_[i], p_.lower[i], p_.upper[i]);
    const double moved = beta_[i] - old;
    gradient_[i] += p_.ridge * moved;
    ++result_.n_iter;
    const KernelRow row = p_.kernel.row(i);
    const double* offset = p_.kernel.offset().data();
    const simd::CoordinateView v = view();
    if (p_.kernel.precision() == Precision::float32)
      return ALPHAPATH_DISPATCH(coordinate_update<float>)(v, static_cast<const float*>(row.data),
                                                          offset, moved, offset[i]);
    return ALPHAPATH_DISPATCH(coordinate_update<double>)(v, static_cast<const double*>(row.data),
                                                         offset, moved, offset[i]);
  }

  /// gradient <- (K + ridge I) beta - r, from scratch.
  void refresh() {
    std::vector<std::size_t> support;
    std::vector<double> coefficients;
    for (std::size_t i = 0; i < n_; ++i)
      if (beta_[i] != 0) {
        support.push_back(i);
        coefficients.push_back(beta_[i]);
      }
    const auto offset = p_.kernel.offset();
    const double sum = std::accumulate(beta_.begin(), beta_.end(), 0.0);
    const double shift = std::inner_product(beta_.begin(), beta_.end(), offset.begin(), 0.0);
    for (std::size_t i = 0; i < n_; ++i)
      gradient_[i] = p_.ridge * beta_[i] - p_.targets[i] + offset[i] * sum + shift;
    multiply_add(p_.kernel, support, coefficients, gradient_);
    ++result_.n_refreshes;
  }

  const BoxProblem& p_;
  const SolveOptions& options_;
  Watch watch_;
  std::size_t n_;
  std::vector<double> beta_, gradient_, inverse_;
  SolveResult result_;
  int n_late_ = 0;
};

} // namespace

SolveResult solve_coordinate(const BoxProblem& problem, const std::optional<StartPoint>& start,
                             const SolveOptions& options) {
  return Coordinate(problem, start, options).run();
}

} // namespace alphapath
