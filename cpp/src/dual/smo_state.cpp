#include "dual/smo_state.hpp"

#include "base/isa.hpp"
#include "problem/quality.hpp"
#include "problem/solution.hpp"
#include "simd/dual/box_face_loops.hpp"

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
// A change whose sum is no more than this share of its size only rounds to another sum. More than
// that is felt through the offsets, however large the betas are.
constexpr double rounding_of_change = 16 * std::numeric_limits<double>::epsilon();
// Betas that went through the gradient leave their rounding there: it is made anew where that may
// reach this share of the tolerance, and betas were this many times as large as they are.
constexpr double felt_share = 0.01, past_to_present = 16;

} // namespace

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
  for (std::size_t i = 0; i < n; ++i)
    kernel_size = std::max({kernel_size, std::abs(problem.kernel.diagonal()[i]),
                            std::abs(problem.kernel.offset()[i])});
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
  moved = size_of_box(); // its past is unknown
}

void SmoState::gradient_from_scratch() {
  gradient.resize(beta.size());
  for (std::size_t i = 0; i < beta.size(); ++i)
    gradient[i] = -problem.targets[i];
  reference.assign(beta.size(), 0.0);
  moved = 0;
  add_changes();
}

double SmoState::offset_product() const {
  return ALPHAPATH_DISPATCH(inner_product)(beta.data(), problem.kernel.offset().data(),
                                           beta.size());
}

/// The most that all |betas| may sum to; in a box without ends, what they sum to now.
double SmoState::size_of_box() const {
  double size = 0;
  for (const std::uint32_t i : movable)
    size += std::max(std::abs(problem.lower[i]), std::abs(problem.upper[i]));
  return std::isfinite(size) ? size
                             : ALPHAPATH_DISPATCH(sum_and_size)(beta.data(), beta.size()).size;
}

/// Whether the gradient carries rounding of betas that are no longer there, and it may be felt.
bool SmoState::is_rounded_by_the_past() const {
  const double unit = std::numeric_limits<double>::epsilon() / 2;
  if (unit * kernel_size * moved <= felt_share * options.tol)
    return false;
  return moved > past_to_present * ALPHAPATH_DISPATCH(sum_and_size)(beta.data(), beta.size()).size;
}

void SmoState::refresh() {
  add_changes();
  if (is_rounded_by_the_past())
    gradient_from_scratch();
}

void SmoState::add_changes() {
  changed.resize(beta.size());
  change.resize(beta.size());
  const std::size_t n_changed = ALPHAPATH_DISPATCH(list_changes)(
      beta.data(), reference.data(), beta.size(), changed.data(), change.data());
  if (n_changed == 0)
    return;
  changed.resize(n_changed);
  result.n_refreshes += n_changed > few_rows;
  const auto [change_of_sum, size] = ALPHAPATH_DISPATCH(sum_and_size)(change.data(), n_changed);
  moved += size;
  if (std::abs(change_of_sum) > rounding_of_change * size)
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
    // What only rounds to another sum is no beta, and as one would set the bias.
    if (std::abs(beta[best]) <= rounding_of_change * size && problem.lower[best] <= 0 &&
        problem.upper[best] >= 0)
      beta[best] = 0;
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

bool SmoState::snap_to_bounds() {
  const auto at = [&](std::size_t k) {
    const std::uint32_t i = movable[k];
    return Boxed{beta[i], problem.lower[i], problem.upper[i]};
  };
  const BoxRounding rounding(movable.size(), at);
  bool has_moved = false;
  for (std::size_t k = 0; k < movable.size(); ++k) {
    const double snapped = rounding.snap(at(k));
    has_moved |= snapped != beta[movable[k]];
    beta[movable[k]] = snapped;
  }
  return has_moved;
}

void SmoState::measure() {
  const double shift = offset_product();
  std::vector<double> whole(gradient);
  for (double& g : whole)
    g += shift;
  result.quality = measure_quality(problem, beta, whole, true);
}

SolveResult SmoState::finish(Status status) {
  restore_sum();
  const std::vector<double> before = beta;
  const bool has_moved = snap_to_bounds();
  refresh();
  measure();
  if (has_moved && status == Status::solved && result.quality.violation > options.tol) {
    const double snapped = result.quality.violation;
    const std::vector<double> at_bounds = std::exchange(beta, before);
    refresh();
    measure();
    if (result.quality.violation >= snapped) {
      beta = at_bounds;
      refresh();
      measure();
    }
  }
  const double shift = offset_product();
  for (double& g : gradient)
    g += shift;
  result.status = status;
  admit_rounding(options.tol, result);
  result.beta = std::move(beta);
  result.gradient = std::move(gradient);
  result.solve_time = watch.seconds();
  return std::move(result);
}

} // namespace alphapath
