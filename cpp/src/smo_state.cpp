#include "smo_state.hpp"

#include "alphapath/quality.hpp"

#include "simd/face_loops.hpp"
#include "simd/isa.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t rows_between_stops = 256;
constexpr std::size_t few_rows = 16; // that are added at no cost worth counting
// A sum of changes below this share of their sizes is rounding: the sum was meant to stay.
constexpr double rounding_of_sum = 1e-8;

} // namespace

double SlopeRange::middle() const {
  if (std::isinf(min_up))
    return std::isinf(max_down) ? 0 : max_down;
  return std::isinf(max_down) ? min_up : (min_up + max_down) / 2;
}

SmoState::SmoState(const BoxProblem& problem, const std::optional<StartPoint>& start,
                   const SolveOptions& options, Workspace& workspace)
    : problem(problem), options(options), watch(options.time_limit, options.wants_stop),
      workspace(workspace), copies(options.memory_limit) {
  const std::size_t n = problem.kernel.size();
  movable.resize(n);
  std::size_t n_movable = 0;
  for (std::size_t i = 0; i < n; ++i) {
    movable[n_movable] = static_cast<std::uint32_t>(i);
    n_movable += problem.lower[i] < problem.upper[i];
  }
  movable.resize(n_movable);
  if (start)
    start_from(*start);
  else
    start_cold();
}

/// Every beta at the end of its box nearest to 0, then raised in order until the sum is right.
void SmoState::start_cold() {
  const std::size_t n = problem.kernel.size();
  beta.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    beta[i] = std::clamp(0.0, problem.lower[i], problem.upper[i]);
  double missing = problem.total - std::accumulate(beta.begin(), beta.end(), 0.0);
  for (std::size_t i = 0; i < n && missing != 0; ++i) {
    const double moved = std::clamp(beta[i] + missing, problem.lower[i], problem.upper[i]);
    missing -= moved - beta[i];
    beta[i] = moved;
  }
  gradient_from_scratch();
}

void SmoState::start_from(const StartPoint& start) {
  beta.assign(start.beta.begin(), start.beta.end());
  if (start.gradient.empty()) {
    gradient_from_scratch();
    return;
  }
  const double shift = offset_product();
  gradient.resize(beta.size());
  for (std::size_t i = 0; i < beta.size(); ++i)
    gradient[i] = start.gradient[i] - shift;
  reference = beta;
}

void SmoState::gradient_from_scratch() {
  gradient.resize(beta.size());
  for (std::size_t i = 0; i < beta.size(); ++i)
    gradient[i] = -problem.targets[i];
  reference.assign(beta.size(), 0.0);
  refresh();
}

double SmoState::offset_product() const {
  return ALPHAPATH_DISPATCH(inner_product)(beta.data(), problem.kernel.offset().data(),
                                           beta.size());
}

void SmoState::refresh() {
  changed.resize(beta.size());
  change.resize(beta.size());
  const std::size_t n_changed = ALPHAPATH_DISPATCH(list_changes)(
      beta.data(), reference.data(), beta.size(), changed.data(), change.data());
  if (n_changed == 0)
    return;
  changed.resize(n_changed);
  result.n_refreshes += n_changed > few_rows;
  const auto [change_of_sum, size] = ALPHAPATH_DISPATCH(sum_and_size)(change.data(), n_changed);
  if (std::abs(change_of_sum) > rounding_of_sum * size)
    ALPHAPATH_DISPATCH(add_multiple)
  (change_of_sum, problem.kernel.offset().data(), beta.size(), gradient.data());
  for (std::size_t first = 0; first < changed.size(); first += rows_between_stops) {
    const std::size_t count = std::min(rows_between_stops, changed.size() - first);
    multiply_add(problem.kernel, std::span(changed).subspan(first, count),
                 std::span(change).subspan(first, count), gradient);
    for (std::size_t k = first; k < first + count; ++k)
      reference[changed[k]] = beta[changed[k]];
    watch.should_stop();
  }
}

SlopeRange SmoState::slope_range() const {
  const auto [min_up, max_down] = ALPHAPATH_DISPATCH(extreme_slopes)(point());
  return {min_up, max_down};
}

std::optional<Status> SmoState::limit_reached() const {
  if (watch.is_interrupted())
    return Status::interrupted;
  if (watch.is_out_of_time())
    return Status::time_limit;
  if (is_at_iteration_limit())
    return Status::iteration_limit;
  return std::nullopt;
}

void SmoState::restore_sum() {
  const auto [sum, size] = ALPHAPATH_DISPATCH(sum_and_size)(beta.data(), beta.size());
  double missing = problem.total - sum;
  if (std::abs(missing) <= 4 * std::numeric_limits<double>::epsilon() * size)
    return;
  std::vector<std::pair<double, std::uint32_t>> rooms;
  for (const std::uint32_t i : movable) {
    const double room = missing > 0 ? problem.upper[i] - beta[i] : beta[i] - problem.lower[i];
    const double kept = is_free(problem, i, beta[i]) ? std::min(room, std::abs(beta[i])) / 2 : 0;
    rooms.emplace_back(kept, i); // free ones stay free; the others are the last resort
  }
  std::sort(rooms.begin(), rooms.end(), std::greater<>());
  for (const auto& [kept, i] : rooms) {
    const double room = kept > 0      ? kept
                        : missing > 0 ? problem.upper[i] - beta[i]
                                      : beta[i] - problem.lower[i];
    const double moved = std::clamp(missing, -room, room);
    beta[i] += moved;
    missing -= moved;
    if (missing == 0) // all given back
      break;
  }
}

void SmoState::restore_sum_greedily() {
  refresh();
  const auto [sum, size] = ALPHAPATH_DISPATCH(sum_and_size)(beta.data(), beta.size());
  double missing = problem.total - sum;
  while (std::abs(missing) > rounding_of_sum * size) {
    std::size_t best = beta.size();
    double best_slope = infinity;
    for (const std::uint32_t i : movable) {
      const bool may_move = missing > 0 ? may_rise(i) : may_fall(i);
      const double slope = missing > 0 ? rising_slope(i) : -falling_slope(i);
      if (may_move && slope < best_slope) {
        best = i;
        best_slope = slope;
      }
    }
    if (best == beta.size())
      break;
    const double old = beta[best];
    beta[best] = std::clamp(old + missing, problem.lower[best], problem.upper[best]);
    const double moved = beta[best] - old;
    missing -= moved;
    ALPHAPATH_DISPATCH(add_multiple)
    (moved, problem.kernel.offset().data(), beta.size(), gradient.data());
    multiply_add(problem.kernel, {&best, 1}, {&moved, 1}, gradient);
    reference[best] = beta[best];
  }
  restore_sum();
  refresh();
}

double SmoState::change_since(std::span<const double> before,
                              std::span<const double> slopes) const {
  double sum = 0;
  for (const std::uint32_t i : movable) {
    const double step = beta[i] - before[i];
    sum += step * (gradient[i] + slopes[i]) / 2 +
           problem.epsilon * (std::abs(beta[i]) - std::abs(before[i]));
  }
  return sum;
}

void SmoState::snap_to_bounds() {
  // Betas far below their boxes (rows of huge norm) are rounded by their own size.
  double largest = 0;
  for (const std::uint32_t i : movable)
    largest = std::max(largest, std::abs(beta[i]));
  BoxEnds ends;
  for (const std::uint32_t i : movable)
    ends.look_at(beta[i], problem.lower[i], problem.upper[i], largest);
  for (const std::uint32_t i : movable)
    beta[i] = snap_to_box(beta[i], problem.lower[i], problem.upper[i], ends.rounding(), largest);
}

SolveResult SmoState::finish(Status status) {
  restore_sum();
  snap_to_bounds();
  refresh();
  const double shift = offset_product();
  for (double& g : gradient)
    g += shift;
  result.status = status;
  result.quality = measure_quality(problem, beta, gradient, true);
  result.beta = std::move(beta);
  result.gradient = std::move(gradient);
  result.solve_time = watch.seconds();
  return std::move(result);
}

} // namespace alphapath
