#include "alphapath/box_problem.hpp"
#include "alphapath/quality.hpp"

#include "climb.hpp"
#include "smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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
