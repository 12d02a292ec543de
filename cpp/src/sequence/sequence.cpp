#include "sequence/sequence.hpp"

#include "base/parallel.hpp"
#include "dual/smo_state.hpp"
#include "dual/solve_smo.hpp"
#include "dual/workspace.hpp"
#include "problem/quality.hpp"
#include "problem/solution.hpp"
#include "sequence/shortlist.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <utility>

namespace alphapath {

namespace {

// With fewer bounded instances than this share of the free ones, the free ones stay where they are.
constexpr double max_bounded_share_to_lift = 0.4;

/// The box and the sum of one step.
struct Box {
  std::vector<double> lower, upper;
  double total = 0;

  Box() = default;
  Box(const Family& family, const Step& step)
      : lower(family.kernel.size()), upper(family.kernel.size()) {
    const std::size_t n = lower.size();
    const std::span<const double> weights = family.weights.subspan(step.row * n, n);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double c = step.factor * weights[i];
      // A side of the box that does not exist stays shut, whatever the weight.
      lower[i] = family.lower_scale[i] == 0 ? 0 : family.lower_scale[i] * c;
      upper[i] = family.upper_scale[i] == 0 ? 0 : family.upper_scale[i] * c;
      sum += c;
    }
    total = family.total_share == 0 ? 0 : family.total_share * sum;
  }

  BoxProblem problem(const Family& family) const {
    return {family.kernel, family.targets, lower, upper, family.epsilon, {}, total};
  }
};

bool is_bounded(const Box& box, std::size_t i, double beta) {
  return beta != 0 && (beta == box.lower[i] || beta == box.upper[i]);
}

/// No bounded instance: the box was not felt, and a larger one changes nothing. Few: their part of
/// the solution grows with C and the free ones answer. Many: all grow, so that the margin stays.
Seed choose_along_c(const BoxProblem& old, const Box& old_box, std::span<const double> beta,
                    double factor) {
  std::size_t n_bounded = 0, n_free = 0;
  for (std::size_t i = 0; i < beta.size(); ++i) {
    n_bounded += is_bounded(old_box, i, beta[i]);
    n_free += is_free(old, i, beta[i]);
  }
  if (old_box.total != 0) // the sum grows with the box
    return Seed::scale;
  if (n_bounded == 0 && factor >= 1)
    return Seed::keep;
  const double most = max_bounded_share_to_lift * static_cast<double>(n_free);
  return static_cast<double>(n_bounded) < most ? Seed::lift : Seed::scale;
}

double move_with_box(const Box& from, const Box& to, std::size_t i, double beta) {
  return beta == from.upper[i] ? to.upper[i] : to.lower[i];
}

// A factor of more members takes much memory, and folds take many out again.
constexpr std::size_t max_prepared = 400;
// The share of the cost of a parent's factor that a fold with sisters counts as its own.
constexpr double share_of_sisters = 0.125;

/// Whether what may move in a fold may all move in its parent, and more.
bool leaves_out_only(const BoxProblem& parent, const BoxProblem& fold) {
  std::size_t n_out = 0;
  for (std::size_t i = 0; i < parent.lower.size(); ++i) {
    const bool was_in = parent.lower[i] < parent.upper[i], is_in = fold.lower[i] < fold.upper[i];
    if (is_in && !was_in)
      return false;
    n_out += was_in && !is_in;
  }
  return n_out > 0;
}

/// The factor of a parent's free set, made when it is first asked for and kept for its other folds.
class ParentFactor {
public:
  explicit ParentFactor(const KernelRows& kernel) : free_set_(kernel) {}

  const FreeSet& of(const BoxProblem& problem, const std::vector<std::uint32_t>& members,
                    std::span<const double> beta, Watch& watch) {
    if (!std::ranges::equal(beta, beta_) || members != members_) {
      free_set_.prepare(problem, members, beta, watch);
      beta_.assign(beta.begin(), beta.end());
      members_ = members;
    }
    return free_set_;
  }

private:
  FreeSet free_set_;
  std::vector<double> beta_; // of the parent
  std::vector<std::uint32_t> members_;
};

} // namespace

struct SequenceWorkspace::Parts {
  explicit Parts(const KernelRows& kernel) : workspace(kernel), parent_factor(kernel) {}

  Workspace workspace;
  ParentFactor parent_factor;
};

SequenceWorkspace::SequenceWorkspace(const KernelRows& kernel) : kernel_(kernel) {}

SequenceWorkspace::~SequenceWorkspace() = default;

SequenceWorkspace::Parts& SequenceWorkspace::parts(std::size_t k) {
  while (parts_.size() <= k)
    parts_.push_back(std::make_unique<Parts>(kernel_));
  return *parts_[k];
}

namespace {

class Sequence {
public:
  Sequence(const Family& family, std::span<const Step> steps, SequenceWorkspace::Parts& parts)
      : family_(family), steps_(steps), workspace_(parts.workspace),
        parent_factor_(parts.parent_factor) {
    workspace_.scope.assign(family.scope.begin(), family.scope.end());
  }

  /// `begin` is the solution of the step's parent; null where it has none.
  StepResult solve(std::size_t k, const SolveResult* begin, const SolveOptions& options) {
    const Step& step = steps_[k];
    const bool is_alone = (k == 0 || steps_[k - 1].row != step.row) &&
                          (k + 1 == steps_.size() || steps_[k + 1].row != step.row);
    workspace_.next = is_alone ? Workspace::Next::others : Workspace::Next::same_instances;
    Box last_box = std::exchange(box_, Box(family_, step));
    const std::int64_t last_step = std::exchange(box_step_, static_cast<std::int64_t>(k));
    const Box& box = box_;
    const BoxProblem problem = box.problem(family_);
    if (step.parent < 0 || step.seed == Seed::cold) {
      workspace_.free_set.clear();
      return {solve_smo(problem, std::nullopt, options, workspace_), Seed::cold, 0};
    }

    const SolveResult& parent = *begin;
    const Step& parent_step = steps_[static_cast<std::size_t>(step.parent)];
    if (step.parent != std::exchange(parent_box_step_, step.parent))
      parent_box_ = step.parent == last_step ? std::move(last_box) : Box(family_, parent_step);
    const Box& old_box = parent_box_;
    const double factor = step.factor / parent_step.factor;
    const Seed seed = step.seed == Seed::climb
                          ? choose_along_c(old_box.problem(family_), old_box, parent.beta, factor)
                          : step.seed;
    if (seed == Seed::keep && parent.status == Status::solved && factor >= 1 &&
        box.total == old_box.total)
      if (std::optional<SolveResult> same = take_over(problem, parent, options.tol))
        return {std::move(*same), seed, 0};

    std::vector<double> beta = parent.beta, gradient = parent.gradient;
    if (seed == Seed::scale)
      scale(old_box, box, factor, beta, gradient);
    SmoState state(problem, StartPoint{beta, gradient}, options, workspace_);
    const BoxProblem old_problem = old_box.problem(family_);
    if (seed == Seed::greedy) {
      // A fold that only leaves instances out has sisters, who begin from the same parent: what is
      // copied and factored for it serves them too.
      const bool has_sisters = leaves_out_only(old_problem, problem);
      if (has_sisters && step.parent != std::exchange(near_step_, step.parent))
        workspace_.near = make_shortlist(family_, old_problem, parent);
      state.begins_near = has_sisters && !workspace_.near.empty();
      offer_factor(old_problem, parent.beta, has_sisters ? share_of_sisters : 1.0, state.watch);
    }
    for (std::size_t i = 0; i < beta.size(); ++i)
      state.beta[i] = seed == Seed::lift && is_bounded(old_box, i, beta[i])
                          ? move_with_box(old_box, box, i, beta[i])
                          : std::clamp(beta[i], box.lower[i], box.upper[i]);
    if (seed == Seed::lift)
      state.restore_sum();
    state.restore_sum_greedily();
    const double seed_time = state.watch.seconds();
    StepResult result{state.finish(descend(state)), seed, seed_time};
    workspace_.free_set.withdraw_offer(); // it knows of this step's problems
    result.solve.solve_time -= seed_time;
    return result;
  }

private:
  /// Offers the factor of the parent's free set, at this share of its cost.
  void offer_factor(const BoxProblem& parent, std::span<const double> beta, double share,
                    Watch& watch) {
    std::vector<std::uint32_t> members;
    for (std::size_t i = 0; i < beta.size(); ++i)
      if (is_free(parent, i, beta[i]))
        members.push_back(static_cast<std::uint32_t>(i));
    if (members.size() > max_prepared) {
      workspace_.free_set.clear();
      return;
    }
    workspace_.free_set.offer(members, share, [this, &parent, beta, &watch, members]() -> auto& {
      return parent_factor_.of(parent, members, beta, watch);
    });
  }

  /// The parent's point as the solution of a larger box, where it is one.
  static std::optional<SolveResult> take_over(const BoxProblem& problem, const SolveResult& parent,
                                              double tol) {
    const Quality quality = measure_quality(problem, parent.beta, parent.gradient, true);
    if (quality.violation > tol)
      return std::nullopt;
    SolveResult same;
    same.beta = parent.beta;
    same.gradient = parent.gradient;
    same.quality = quality;
    return same;
  }

  /// beta grows with its box: the gradient needs no kernel row.
  void scale(const Box& from, const Box& to, double factor, std::span<double> beta,
             std::span<double> gradient) const {
    for (std::size_t i = 0; i < beta.size(); ++i) {
      beta[i] =
          is_bounded(from, i, beta[i]) ? move_with_box(from, to, i, beta[i]) : factor * beta[i];
      gradient[i] = factor * (gradient[i] + family_.targets[i]) - family_.targets[i];
    }
  }

  const Family& family_;
  std::span<const Step> steps_;
  Workspace& workspace_;
  ParentFactor& parent_factor_;
  Box box_; // of step box_step_, the one solved last
  std::int64_t box_step_ = -1;
  Box parent_box_; // of step parent_box_step_: many folds have one parent
  std::int64_t parent_box_step_ = -1;
  std::int64_t near_step_ = -1; // whose near instances the workspace holds
};

} // namespace

namespace {

// Seconds that the steps of a wave are to take together before they are worth a thread.
constexpr double worth_a_thread = 2e-4;

/// The steps by what they wait for: those of a wave have their parents in earlier ones.
std::vector<std::vector<std::size_t>> arrange_waves(std::span<const Step> steps,
                                                    std::size_t n_known) {
  std::vector<std::vector<std::size_t>> waves;
  std::vector<std::size_t> wave_of(steps.size(), 0); // one more, so that 0 is for what is known
  for (std::size_t k = n_known; k < steps.size(); ++k) {
    const std::int64_t parent = steps[k].parent;
    const std::size_t wave = parent < 0 ? 0 : wave_of[static_cast<std::size_t>(parent)];
    wave_of[k] = wave + 1;
    if (waves.size() <= wave)
      waves.resize(wave + 1);
    waves[wave].push_back(k);
  }
  return waves;
}

/// Solves steps in order or, on several threads, wave by wave.
class SequenceRun {
public:
  SequenceRun(const Family& family, std::span<const Step> steps, std::vector<SolveResult> known,
              const SolveOptions& options, double total_time_limit, SequenceWorkspace& workspace)
      : steps_(steps), n_known_(known.size()), options_(options), limit_(total_time_limit),
        family_(family), workspace_(workspace), watch_(total_time_limit, options.wants_stop),
        done_(steps.size()), is_done_(steps.size(), 0) {
    for (std::size_t k = 0; k < n_known_; ++k) {
      done_[k] = {std::move(known[k]), Seed::cold, 0};
      is_done_[k] = 1;
    }
    add_sequence();
  }

  void run_in_order() {
    for (std::size_t k = n_known_; k < steps_.size() && !watch_.should_stop(); ++k)
      if (!solve(k, 0, options_))
        return;
  }

  void run_in_waves(std::size_t n_threads) {
    while (sequences_.size() < n_threads)
      add_sequence();
    SolveOptions helper = options_, leader = options_; // only the caller's thread may ask
    helper.wants_stop = [this] { return is_stopped_.load(); };
    leader.wants_stop = [this] {
      if (options_.wants_stop && options_.wants_stop())
        is_stopped_ = true;
      return is_stopped_.load();
    };
    for (const std::vector<std::size_t>& wave : arrange_waves(steps_, n_known_)) {
      const double expected = mean_seconds() * static_cast<double>(wave.size());
      const std::size_t n_workers = expected < worth_a_thread ? 1 : n_threads;
      for_each_piece(wave.size(), {n_workers, nullptr}, [&](std::size_t at, std::size_t worker) {
        if (worker == 0 && watch_.should_stop()) // a solve may be too short to ask
          is_stopped_ = true;
        if (!is_stopped_ && !solve(wave[at], worker, worker == 0 ? leader : helper))
          is_stopped_ = true;
      });
      if (is_stopped_)
        return;
    }
  }

  /// The steps before the first that was not solved.
  std::vector<StepResult> results() {
    const auto cut = std::find(is_done_.begin(), is_done_.end(), 0);
    done_.resize(static_cast<std::size_t>(cut - is_done_.begin()));
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(n_known_));
    return std::move(done_);
  }

private:
  void add_sequence() {
    sequences_.push_back(
        std::make_unique<Sequence>(family_, steps_, workspace_.parts(sequences_.size())));
  }

  /// False where the solve was cut short.
  bool solve(std::size_t k, std::size_t worker, const SolveOptions& options) {
    SolveOptions each = options;
    if (limit_ > 0) {
      const double left = std::max(limit_ - watch_.seconds(), 1e-9);
      each.time_limit = options.time_limit > 0 ? std::min(options.time_limit, left) : left;
    }
    const std::int64_t parent = steps_[k].parent;
    const SolveResult* begin =
        parent < 0 ? nullptr : &done_[static_cast<std::size_t>(parent)].solve;
    StepResult result = sequences_[worker]->solve(k, begin, each);
    const Status status = result.solve.status;
    if (status == Status::interrupted ||
        (status == Status::time_limit && limit_ > 0 && watch_.seconds() >= limit_))
      return false;
    done_[k] = std::move(result);
    is_done_[k] = 1;
    return true;
  }

  /// Of a step that was solved; more than is worth a thread where none was.
  double mean_seconds() const {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t k = n_known_; k < done_.size(); ++k) {
      count += is_done_[k] != 0;
      sum += is_done_[k] != 0 ? done_[k].solve.solve_time + done_[k].seed_time : 0;
    }
    return count == 0 ? worth_a_thread : sum / static_cast<double>(count);
  }

  std::span<const Step> steps_;
  std::size_t n_known_;
  const SolveOptions& options_;
  double limit_;
  const Family& family_;
  SequenceWorkspace& workspace_;
  Watch watch_;
  std::vector<StepResult> done_;
  std::vector<char> is_done_;
  std::vector<std::unique_ptr<Sequence>> sequences_; // one a thread
  std::atomic<bool> is_stopped_{false};
};

} // namespace

std::vector<StepResult> solve_sequence(const Family& family, std::span<const Step> steps,
                                       std::vector<SolveResult> known, const SolveOptions& options,
                                       double total_time_limit, SequenceWorkspace& workspace,
                                       std::size_t n_threads) {
  SequenceRun run(family, steps, std::move(known), options, total_time_limit, workspace);
  if (n_threads > 1)
    run.run_in_waves(n_threads);
  else
    run.run_in_order();
  return run.results();
}

} // namespace alphapath
