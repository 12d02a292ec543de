#include "dual/solve_smo.hpp"

#include "dual/smo.hpp"
#include "dual/workspace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace alphapath {

namespace {

constexpr double finest_float32_tol = 1e-4;
constexpr double stage_tol = 0.1; // slopes of a stage on the way up need not be closer
constexpr std::int64_t patience =
    20; // iterations an instance before a cold solve turns to climbing

// Of the tolerance, what rounding may take.
constexpr double felt_share = 0.01;

double rounding_of_targets(const BoxProblem& problem) {
  double largest = 0;
  for (const double target : problem.targets)
    largest = std::max(largest, std::abs(target));
  return std::numeric_limits<double>::epsilon() * largest;
}

bool is_at_zero(const std::optional<StartPoint>& start) {
  return !start ||
         std::all_of(start->beta.begin(), start->beta.end(), [](double b) { return b == 0; });
}

SolveResult descend_from(const BoxProblem& problem, const std::optional<StartPoint>& start,
                         const SolveOptions& options, Workspace& workspace) {
  SmoState state(problem, start, options, workspace);
  const Status status = descend(state);
  return state.finish(status);
}

void add_counts(SolveResult& sum, const SolveResult& earlier) {
  sum.n_iter += earlier.n_iter;
  sum.n_free_set_solves += earlier.n_free_set_solves;
  sum.n_bound_hits += earlier.n_bound_hits;
  sum.n_refreshes += earlier.n_refreshes;
}

/// What is left of the limits after `done` (which carries all counts so far).
SolveOptions remaining(const SolveOptions& options, const SolveResult& done, const Watch& watch) {
  SolveOptions rest = options;
  if (options.max_iter >= 0)
    rest.max_iter = std::max<std::int64_t>(options.max_iter - done.n_iter, 0);
  if (options.time_limit > 0)
    rest.time_limit = std::max(options.time_limit - watch.seconds(), 1e-9);
  return rest;
}

bool is_cut_short(const SolveResult& result) {
  return result.status == Status::iteration_limit || result.status == Status::time_limit ||
         result.status == Status::interrupted;
}

constexpr double first_height = 8;  // C times typical curvature at the first stage
constexpr double least_height = 64; // below this the problem is solved directly
constexpr double ratio = 4;         // from one stage to the next
constexpr std::size_t n_probes = 8;

constexpr std::size_t lanes = 16; // sums at once: one would wait for each addition

template <class T> double mean_curvature(const KernelRows& kernel, std::size_t i) {
  const KernelRow row = kernel.row(i);
  const T* values = static_cast<const T*>(row.data);
  const double* diagonal = kernel.diagonal().data();
  const std::size_t n = kernel.size();
  double sums[lanes] = {};
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += diagonal[k + lane] - 2 * static_cast<double>(values[k + lane]);
  for (; k < n; ++k)
    sums[0] += diagonal[k] - 2 * static_cast<double>(values[k]);
  return diagonal[i] + std::accumulate(sums, sums + lanes, 0.0) / static_cast<double>(n);
}

/// Mean of K_ii + K_jj - 2 K_ij over a few rows i and all j.
double typical_curvature(const KernelRows& kernel) {
  double sum = 0;
  for (std::size_t probe = 0; probe < n_probes; ++probe) {
    const std::size_t i = probe * kernel.size() / n_probes;
    sum += kernel.precision() == Precision::float32 ? mean_curvature<float>(kernel, i)
                                                    : mean_curvature<double>(kernel, i);
  }
  return sum / n_probes;
}

/// Shares of the box (ascending, all below 1) at which to solve first; empty where it does not pay.
///
/// A cold solve at a large C by way of smaller ones.
///
/// At large C most of SMO's work is finding out which instances end up free. Solved at a small C
/// first and then scaled up a few times, the partition is nearly right at every stage.
std::vector<double> climbing_shares(const BoxProblem& problem) {
  if (problem.total != 0)
    return {};
  double width = 0;
  for (std::size_t i = 0; i < problem.lower.size(); ++i)
    width = std::max({width, -problem.lower[i], problem.upper[i]});
  if (!std::isfinite(width))
    return {};
  const double height = width * typical_curvature(problem.kernel);
  if (!(height > least_height))
    return {};
  std::vector<double> shares;
  for (double share = 1 / ratio; share * height > first_height / ratio; share /= ratio)
    shares.push_back(share);
  std::reverse(shares.begin(), shares.end());
  return shares;
}

/// The solution at one share of the box as a start at a larger one: unchanged where no beta was at
/// its outer bound (it is then optimal there too), else scaled, which keeps the partition.
void scale_start(const BoxProblem& problem, double old_share, double new_share,
                 std::vector<double>& beta, std::vector<double>& gradient) {
  bool is_bounded = false;
  for (std::size_t i = 0; i < beta.size() && !is_bounded; ++i)
    is_bounded = beta[i] != 0 && (beta[i] == old_share * problem.lower[i] ||
                                  beta[i] == old_share * problem.upper[i]);
  if (!is_bounded)
    return;
  const double factor = new_share / old_share;
  for (std::size_t i = 0; i < beta.size(); ++i) {
    const bool is_at_upper = beta[i] == old_share * problem.upper[i];
    const bool is_at_lower = beta[i] == old_share * problem.lower[i];
    beta[i] = is_at_upper   ? new_share * problem.upper[i]
              : is_at_lower ? new_share * problem.lower[i]
                            : factor * beta[i];
    gradient[i] = factor * (gradient[i] + problem.targets[i]) - problem.targets[i];
  }
}

/// Solve at every share of the box in turn, each from the last. Cut short, the point is one of a
/// smaller box, and its quality is what it is worth in the whole one.
SolveResult climb(const BoxProblem& problem, std::vector<double> shares,
                  const SolveOptions& options, SolveResult last, const Watch& watch,
                  Workspace& workspace) {
  const std::size_t n = problem.kernel.size();
  std::vector<double> lower(n), upper(n);
  std::optional<StartPoint> start;
  shares.push_back(1.0);
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const bool is_final = s + 1 == shares.size();
    for (std::size_t i = 0; i < n; ++i) {
      lower[i] = is_final ? problem.lower[i] : shares[s] * problem.lower[i];
      upper[i] = is_final ? problem.upper[i] : shares[s] * problem.upper[i];
    }
    if (s > 0) {
      scale_start(problem, shares[s - 1], shares[s], last.beta, last.gradient);
      // Every stage has multiplied the rounding of targets that the gradient had. Where that of
      // kernel values is beyond the tolerance, no other gradient is worth more.
      if (is_final && shares[0] * felt_share * options.tol < rounding_of_targets(problem) &&
          slope_rounding(problem.kernel, last.beta, true) <= options.tol)
        last.gradient.clear();
      start = StartPoint{last.beta, last.gradient};
    }
    SolveOptions stage_options = remaining(options, last, watch);
    if (!is_final)
      stage_options.tol = std::max(options.tol, stage_tol);
    const BoxProblem stage{problem.kernel,  problem.targets, lower,        upper,
                           problem.epsilon, problem.ridge,   problem.total};
    SolveResult result = descend_from(stage, start, stage_options, workspace);
    add_counts(result, last);
    last = std::move(result);
    if (is_cut_short(last)) {
      last.quality = measure_quality(problem, last.beta, last.gradient, true);
      admit_rounding(options.tol, last);
      break;
    }
  }
  return last;
}

} // namespace

Status descend(SmoState& state) {
  const double tol = state.options.tol;
  const KernelRows& kernel = state.problem.kernel;
  const auto solved = [&] {
    return state.has_negative_curvature ? Status::stationary : Status::solved;
  };
  if (state.watch.is_interrupted() || state.watch.is_out_of_time())
    return *state.limit_reached();
  if (state.slope_range().violation() <= tol || (state.is_enough && state.is_enough()))
    return solved();
  const bool suits_float32 =
      kernel.precision() == Precision::float32 ||
      (state.fits_float32() &&
       WorkingRows<float>::bytes_to_copy(state.movable.size()) <= state.options.memory_limit);
  if (suits_float32) {
    const bool is_coarse_enough = Smo<float>(state).run(std::max(tol, finest_float32_tol));
    if (is_coarse_enough && (tol >= finest_float32_tol || (state.is_enough && state.is_enough())))
      return solved();
  }
  if (!state.limit_reached() && Smo<double>(state).run(tol))
    return solved();
  return state.limit_reached().value_or(Status::stalled);
}

SolveResult solve_smo(const BoxProblem& problem, const std::optional<StartPoint>& start,
                      const SolveOptions& options) {
  Workspace workspace(problem.kernel);
  return solve_smo(problem, start, options, workspace);
}

SolveResult solve_smo(const BoxProblem& problem, const std::optional<StartPoint>& start,
                      const SolveOptions& options, Workspace& workspace) {
  std::vector<double> shares;
  if (options.free_set && is_at_zero(start))
    shares = climbing_shares(problem);
  if (shares.empty())
    return descend_from(problem, start, options, workspace);

  const Watch watch(options.time_limit, {});
  SolveOptions direct = options;
  const std::int64_t n_patient = patience * static_cast<std::int64_t>(problem.kernel.size());
  if (options.max_iter < 0 || options.max_iter > n_patient)
    direct.max_iter = n_patient;
  SolveResult result = descend_from(problem, start, direct, workspace);
  if (result.status == Status::iteration_limit && result.n_iter != options.max_iter)
    result = climb(problem, std::move(shares), options, std::move(result), watch, workspace);
  result.solve_time = watch.seconds();
  return result;
}

} // namespace alphapath
