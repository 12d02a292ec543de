// OneClassMaxMinOver, algorithm 2 of Timm, Klement and Martinetz, with s kept up to date:
//
//   minimise  1/2 beta' (K + D) beta - sum(beta)   subject to  beta >= 0
//
//   repeat  i = argmin of s over all, j = argmax of s over those with a positive counter
//           counter_i += 2, counter_j -= 1,  s += 2 K*_i - K*_j        (K* = K + D)
//   until   the feasibility gap of counters / min s is at most tol
//
// s is computed afresh every `recompute_every` steps: sums of many steps lose digits. On entry and
// exit of a step, s = K* counters up to rounding. The first step from nothing has no j.
#include "dual/maxminover.hpp"

#include "base/buffer.hpp"
#include "base/interrupt.hpp"
#include "base/isa.hpp"
#include "problem/quality.hpp"
#include "problem/solution.hpp"
#include "simd/dual/maxminover_loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The gap falls at least as 1/sqrt(t); where it has not fallen at all while the number of steps
/// doubled, and this many steps were made, rounding has the upper hand.
constexpr std::int64_t patience = 200'000;

class MaxMinOver {
public:
  MaxMinOver(const BoxProblem& problem, const std::optional<StartPoint>& start,
             const MaxMinOverOptions& options)
      : p_(problem), options_(options),
        watch_(options.limits.time_limit, options.limits.wants_stop), n_(problem.kernel.size()),
        s_(padded(n_)), counters_(padded(n_)), bar_(padded(n_), infinity), offset_(padded(n_)) {
    const auto offset = problem.kernel.offset();
    std::copy(offset.begin(), offset.end(), offset_.begin());
    for (std::size_t i = 0; i < n_; ++i)
      if (problem.upper[i] > 0)
        bar_[i] = 0;
    if (start)
      std::copy(start->beta.begin(), start->beta.end(), counters_.begin());
    if (start && !start->gradient.empty())
      for (std::size_t i = 0; i < n_; ++i)
        s_[i] = start->gradient[i] + 1;
    else
      recompute();
  }

  MaxMinOverResult run() {
    result_.solution.status = iterate();
    finish();
    return std::move(result_);
  }

private:
  Status iterate() {
    std::int64_t& k = result_.solution.n_iter;
    const std::int64_t limit = options_.limits.max_iter;
    std::int64_t next_check = 0, next_recompute = options_.recompute_every;
    next_ = find_pair();
    for (;; ++k) {
      if (k == next_recompute) {
        refresh();
        next_recompute = k + options_.recompute_every;
      }
      if (k == next_check) {
        const double gap = find_gap();
        if (gap <= options_.limits.tol)
          return Status::solved;
        if (has_stalled(gap))
          return Status::stalled;
        next_check = k + steps_to_next_check();
      }
      if (limit >= 0 && k >= limit)
        return Status::iteration_limit;
      if (k % 64 == 63 && watch_.should_stop())
        return watch_.is_interrupted() ? Status::interrupted : Status::time_limit;
      step();
    }
  }

  std::int64_t steps_to_next_check() const {
    return options_.check_every > 0 ? options_.check_every : default_check_every;
  }

  /// Evaluating the gap costs about two steps.
  static constexpr std::int64_t default_check_every = 50;

  void step() {
    is_fresh_ = false;
    const std::size_t i = next_.lowest, j = next_.highest;
    const double up = 2;
    const double down = next_.s_highest > -infinity ? std::min(1.0, counters_[j]) : 0;
    counters_[i] += up;
    counters_[j] -= down;
    s_[i] += up * p_.ridge_of(i);
    s_[j] -= down * p_.ridge_of(j);
    const double constant = up * offset_[i] - down * offset_[j];
    const KernelRow row_i = p_.kernel.row(i), row_j = p_.kernel.row(j);
    if (p_.kernel.precision() == Precision::float32)
      next_ = update<float>(row_i, row_j, up, down, constant);
    else
      next_ = update<double>(row_i, row_j, up, down, constant);
  }

  template <class T>
  simd::CounterPair update(const KernelRow& a, const KernelRow& b, double up, double down,
                           double constant) {
    return ALPHAPATH_DISPATCH(counter_update<T>)(view(), static_cast<const T*>(a.data),
                                                 static_cast<const T*>(b.data), up, down, constant);
  }

  simd::CounterPair find_pair() {
    return ALPHAPATH_DISPATCH(counter_update<double>)(view(), nullptr, nullptr, 0, 0, 0);
  }

  simd::CounterView view() {
    return {s_.data(), counters_.data(), bar_.data(), offset_.data(), s_.size()};
  }

  /// s <- K* counters from scratch.
  void recompute() {
    std::vector<std::size_t> support;
    std::vector<double> coefficients;
    double sum = 0, shift = 0;
    for (std::size_t i = 0; i < n_; ++i)
      if (counters_[i] != 0) {
        support.push_back(i);
        coefficients.push_back(counters_[i]);
        sum += counters_[i];
        shift += counters_[i] * offset_[i];
      }
    for (std::size_t i = 0; i < n_; ++i)
      s_[i] = p_.ridge_of(i) * counters_[i] + offset_[i] * sum + shift;
    multiply_add(p_.kernel, support, coefficients, std::span(s_).first(n_));
    ++result_.solution.n_refreshes;
    is_fresh_ = true;
  }

  void refresh() {
    recompute();
    next_ = find_pair();
  }

  /// The gap now, on record; where it is small enough, that of an s computed afresh.
  double find_gap() {
    double gap = gap_of_counters();
    if (gap <= options_.limits.tol && !is_fresh_) {
      refresh();
      gap = gap_of_counters();
    }
    result_.trace.push_back({result_.solution.n_iter, gap});
    return gap;
  }

  double gap_of_counters() const {
    return feasibility_gap(
        p_, {std::span(counters_).first(n_), std::span(s_).first(n_), next_.s_lowest});
  }

  bool has_stalled(double gap) {
    const std::int64_t k = result_.solution.n_iter;
    if (gap < best_gap_) {
      best_gap_ = gap;
      best_at_ = k;
    }
    return k - best_at_ > std::max(patience, k / 2);
  }

  /// beta = counters / rho and its gradient; rho <= 0 leaves the counters as they are.
  void finish() {
    if (!is_fresh_)
      refresh();
    result_.gap = gap_of_counters();
    const double rho = next_.s_lowest;
    const double scale = rho > 0 && rho < infinity ? 1 / rho : 1;
    result_.counters.assign(counters_.begin(), counters_.begin() + static_cast<std::ptrdiff_t>(n_));
    SolveResult& solution = result_.solution;
    for (std::size_t i = 0; i < n_; ++i) {
      solution.beta.push_back(counters_[i] * scale);
      solution.gradient.push_back(s_[i] * scale - 1);
    }
    solution.quality = measure_quality(p_, solution.beta, solution.gradient, false);
    solution.solve_time = watch_.seconds();
  }

  const BoxProblem& p_;
  const MaxMinOverOptions& options_;
  Watch watch_;
  std::size_t n_;
  std::vector<double> s_, counters_, bar_, offset_;
  simd::CounterPair next_{};
  MaxMinOverResult result_;
  double best_gap_ = infinity;
  std::int64_t best_at_ = 0;
  bool is_fresh_ = true;
};

} // namespace

MaxMinOverResult solve_maxminover(const BoxProblem& problem, const std::optional<StartPoint>& start,
                                  const MaxMinOverOptions& options) {
  return MaxMinOver(problem, start, options).run();
}

} // namespace alphapath
