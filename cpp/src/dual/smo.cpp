#include "dual/smo.hpp"

#include "base/isa.hpp"
#include "dual/workspace.hpp"
#include "problem/quality.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace alphapath {

namespace {

constexpr double min_curvature = 1e-12; // as in the selection pass
// g is recomputed when its rounding error passes this share of what still has to be resolved: the
// tolerance at the end, a part of the violation before.
constexpr double drift_share = 0.05;
constexpr double resolved_share = 0.1;
constexpr int max_fruitless_rounds = 6;
// The share of its cost after which the free set is solved for a start close to the solution.
constexpr double patience_nearly_solved = 0.1;
// The same once it was solved before: the factor is there and lacks few members.
constexpr double patience_after_first = 0.2;
// How often, in iterations an instance, one looks whether to solve it: these are the inverses.
constexpr std::size_t looks_at_first = 4, looks_nearly_solved = 16, looks_after_first = 24;
constexpr std::size_t n_prefetched = 32;
constexpr std::int64_t iterations_a_prefetch = 16;

constexpr std::size_t min_size_to_compact = 8192;
// Copies of more would take long to win back what fresh memory costs.
constexpr double max_active_share = 0.4;
constexpr double share_worth_copying = 0.75;
constexpr std::int64_t near_iterations = 3; // for each that is near, before all are looked at

std::vector<std::uint32_t> all_instances(std::size_t n) {
  std::vector<std::uint32_t> members(n);
  std::iota(members.begin(), members.end(), 0u);
  return members;
}

/// Whether rows of `count` instances among n are worth a copy for one solve.
bool is_worth_copying(std::size_t count, std::size_t n) {
  return static_cast<double>(count) < share_worth_copying * static_cast<double>(n);
}

} // namespace

template <class T>
Smo<T>::Smo(SmoState& state)
    : state_(state), update_and_select_(ALPHAPATH_DISPATCH(update_and_select<T>)) {
  const KernelRows& kernel = state.problem.kernel;
  const double sum = ALPHAPATH_DISPATCH(sum_and_size)(kernel.diagonal().data(), kernel.size()).size;
  kernel_scale_ = std::max(1.0, sum / static_cast<double>(kernel.size()));
}

template <class T> Smo<T>::~Smo() {
  if (compact_rows_)
    state_.workspace.spare<T>() = compact_rows_->release();
}

/// Takes beta and gradient from the state. g_ is held relative to the middle of the slopes, where
/// float32 resolves best.
template <class T> void Smo<T>::load_gradient(double middle) {
  ALPHAPATH_DISPATCH(load_members<T>)
  (state_.point(), members_.data(), members_.size(), middle, g_.data(), marks_.data());
  drift_squared_ = 0;
  update(g_.data(), g_.data(), 0);
}

template <class T> void Smo<T>::update(const T* row_i, const T* row_j, double step) {
  extremes_ = update_and_select_(g_.data(), row_i, row_j, static_cast<T>(step), marks_.data(),
                                 marks_.size(), static_cast<T>(state_.problem.epsilon));
}

template <class T> void Smo<T>::mark(std::size_t k) {
  const std::size_t i = members_[k];
  const std::uint16_t bit = static_cast<std::uint16_t>(1u << (k % row_padding));
  simd::Marks& m = marks_[k / row_padding];
  const auto set = [bit](std::uint16_t& bits, bool value) {
    bits = static_cast<std::uint16_t>(value ? bits | bit : bits & ~bit);
  };
  set(m.up, state_.may_rise(i));
  set(m.down, state_.may_fall(i));
  set(m.nonneg, state_.beta[i] >= 0);
  set(m.positive, state_.beta[i] > 0);
}

/// Move beta_i up and beta_j down by the same step. False where rounding swallows the step.
template <class T> bool Smo<T>::move_pair(std::size_t ki, std::size_t kj, const T* row_i) {
  const BoxProblem& p = state_.problem;
  const std::size_t i = members_[ki], j = members_[kj];
  double& beta_i = state_.beta[i];
  double& beta_j = state_.beta[j];
  const double falling = static_cast<double>(g_[kj]) + (beta_j > 0 ? p.epsilon : -p.epsilon);
  const double kernel_ij = static_cast<double>(row_i[kj]);
  const double curvature =
      static_cast<double>(diagonal_[ki]) + static_cast<double>(diagonal_[kj]) - 2 * kernel_ij;
  if (curvature < -1e-5 * (std::abs(static_cast<double>(diagonal_[ki])) + std::abs(kernel_ij)))
    state_.has_negative_curvature = true;
  step_ = (falling - static_cast<double>(extremes_.min_up)) / std::max(curvature, min_curvature);
  if (std::isnan(step_)) { // values or slopes beyond the range of T
    step_ = 0;
    return false;
  }

  const double ceiling = p.epsilon > 0 && beta_i < 0 ? std::min(p.upper[i], 0.0) : p.upper[i];
  const double floor = p.epsilon > 0 && beta_j > 0 ? std::max(p.lower[j], 0.0) : p.lower[j];
  const double room_i = ceiling - beta_i, room_j = beta_j - floor;
  const double old_i = beta_i, old_j = beta_j;
  if (step_ >= std::min(room_i, room_j))
    step_ = std::min(room_i, room_j);
  beta_i = step_ == room_i ? ceiling : beta_i + step_;
  beta_j = step_ == room_j ? floor : beta_j - step_;
  mark(ki);
  mark(kj);
  return beta_i != old_i || beta_j != old_j;
}

/// Rows on demand are cheaper together: ask for those of the worst violators, who come next.
template <class T> void Smo<T>::prefetch_rows() {
  std::vector<std::pair<T, std::uint32_t>> rising, falling;
  const T epsilon = static_cast<T>(state_.problem.epsilon);
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const std::uint32_t i = members_[k];
    if (state_.may_rise(i))
      rising.emplace_back(g_[k] + (state_.beta[i] >= 0 ? epsilon : -epsilon), i);
    if (state_.may_fall(i))
      falling.emplace_back(-g_[k] - (state_.beta[i] > 0 ? epsilon : -epsilon), i);
  }
  std::vector<std::size_t> wanted;
  for (auto* side : {&rising, &falling}) {
    const std::size_t count = std::min(n_prefetched / 2, side->size());
    std::nth_element(side->begin(), side->begin() + static_cast<std::ptrdiff_t>(count),
                     side->end());
    for (std::size_t c = 0; c < count; ++c)
      wanted.push_back((*side)[c].second);
  }
  state_.problem.kernel.prefetch(wanted);
}

template <class T> typename Smo<T>::Pause Smo<T>::iterate(double tol, std::int64_t period) {
  const T epsilon = static_cast<T>(state_.problem.epsilon);
  const double unit = std::numeric_limits<T>::epsilon() / 2;
  const std::int64_t poll =
      std::clamp<std::int64_t>(200'000 / static_cast<std::int64_t>(members_.size() + 1), 1, 256);
  const auto select = ALPHAPATH_DISPATCH(select_partner<T>);
  const bool is_on_demand = state_.problem.kernel.is_on_demand();
  for (; since_look_ < period; ++since_look_) {
    const double violation = this->violation();
    if (violation <= tol)
      return Pause::converged;
    const double max_drift = drift_share / 3 * std::max(tol, resolved_share * violation);
    if (drift_squared_ > max_drift * max_drift)
      return Pause::drifted;
    if (state_.is_at_iteration_limit())
      return Pause::limit;
    if (since_look_ % poll == 0 && state_.watch.should_stop())
      return Pause::limit;
    if (is_on_demand && state_.result.n_iter % iterations_a_prefetch == 0)
      prefetch_rows();
    const std::size_t ki = static_cast<std::size_t>(extremes_.arg_up);
    const T* row_i = rows_->row(ki, 0);
    const auto partner = select(g_.data(), row_i, diagonal_.data(), diagonal_[ki], extremes_.min_up,
                                marks_.data(), marks_.size(), epsilon);
    if (!(partner.gain > 0))
      return Pause::stuck;
    const std::size_t kj = static_cast<std::size_t>(partner.index);
    const bool has_moved = move_pair(ki, kj, row_i);
    update(row_i, rows_->row(kj, 1), step_);
    ++state_.result.n_iter;
    ++since_compaction_;
    work_ += iteration_cost_;
    if (!has_moved)
      return Pause::stuck;
    const double size = std::max(std::abs(static_cast<double>(extremes_.min_up)),
                                 std::abs(static_cast<double>(extremes_.max_down)));
    const double rounding = unit * (size + step_ * kernel_scale_);
    drift_squared_ += rounding * rounding;
  }
  since_look_ = 0;
  return Pause::checkpoint;
}

template <class T> std::vector<std::uint32_t> Smo<T>::free_members() const {
  std::vector<std::uint32_t> free(members_.size());
  free.resize(
      ALPHAPATH_DISPATCH(list_free)(state_.point(), members_.data(), members_.size(), free.data()));
  return free;
}

/// Solve the free set exactly if SMO has already spent as much as that is estimated to cost. A
/// result that does not lower the objective (an ill-conditioned block) is taken back.
template <class T> bool Smo<T>::try_free_set() {
  const double patience = state_.is_nearly_solved ? patience_nearly_solved
                          : has_solved_free_set() ? patience_after_first * patience_
                                                  : patience_;
  // Hardly fewer can be free than half of those at the last look.
  if (work_ < patience * FreeSet::least_cost(last_free_.size() / 2, state_.beta.size()))
    return false;
  const std::vector<std::uint32_t> free = free_members();
  std::vector<std::uint32_t> changed;
  std::set_symmetric_difference(free.begin(), free.end(), last_free_.begin(), last_free_.end(),
                                std::back_inserter(changed));
  // As many bounds will be hit as members came or went since the last look.
  const double n_expected_hits = static_cast<double>(changed.size());
  last_free_ = free;
  if (free.size() < 3 || !FreeSet::fits(free.size(), state_.options.memory_limit) ||
      work_ < patience * FreeSet::least_cost(free.size(), state_.beta.size(), n_expected_hits) ||
      work_ < patience * state_.workspace.free_set.estimate_cost(free, n_expected_hits))
    return false;
  state_.is_nearly_solved = false;
  work_ = 0;
  // The slopes that SMO has are good to a part of the tolerance: one pass over the rows,
  // afterwards.
  std::vector<double> slopes(state_.beta.size());
  for (std::size_t k = 0; k < members_.size(); ++k)
    slopes[members_[k]] = static_cast<double>(g_[k]);
  const std::vector<double> before = state_.beta;
  const int n_hits =
      state_.workspace.free_set.minimise(state_.problem, free, slopes, state_.beta, state_.watch);
  bool is_better = false;
  // A factor of rows that depend on one another may lead nowhere: no slope may see that.
  const bool is_finite = std::all_of(state_.beta.begin(), state_.beta.end(),
                                     [](double b) { return std::isfinite(b); });
  if (n_hits >= 0 && is_finite) {
    ++state_.result.n_free_set_solves;
    state_.result.n_bound_hits += n_hits;
    state_.restore_sum();
    state_.refresh();
    is_better = state_.change_since(before, slopes) < 0;
  }
  if (!is_better) {
    patience_ *= 4;
    state_.beta = before;
    state_.refresh();
  }
  load_gradient(state_.slope_range().middle());
  return is_better;
}

template <class T> bool Smo<T>::run(double tol) {
  if (!work_on_near())
    work_on_all();
  load_gradient(state_.slope_range().middle());
  last_free_ = free_members();
  double best_violation = std::numeric_limits<double>::infinity();
  int n_fruitless = 0;
  for (;;) {
    const std::size_t looks = state_.is_nearly_solved ? looks_nearly_solved
                              : has_solved_free_set() ? looks_after_first
                                                      : looks_at_first;
    const auto period =
        static_cast<std::int64_t>(std::max<std::size_t>(32, members_.size() / looks));
    iteration_cost_ = iteration_cost();
    const Pause pause = iterate(tol, period);
    if (pause == Pause::checkpoint) {
      const bool has_solved = state_.options.free_set && try_free_set();
      if (has_solved && state_.is_enough && state_.is_enough())
        return true;
      if (is_near_ && (has_solved || is_near_too_long()))
        widen(tol);
      else if (!has_solved)
        compact();
      continue;
    }
    state_.restore_sum();
    state_.refresh();
    if (pause == Pause::limit || state_.limit_reached())
      return false;
    const SlopeRange range = state_.slope_range();
    if (range.violation() <= tol || (state_.is_enough && state_.is_enough()))
      return true;
    if (is_compacted_ && pause != Pause::drifted)
      work_on_all();
    load_gradient(range.middle());
    if (pause == Pause::drifted) // however often it does, one looks at the free set in time
      continue;
    since_look_ = 0;
    n_fruitless = range.violation() < 0.5 * best_violation ? 0 : n_fruitless + 1;
    best_violation = std::min(best_violation, range.violation());
    if (n_fruitless >= max_fruitless_rounds)
      return false;
  }
}

/// Nanoseconds of one iteration by count: two rows streamed from cache or from memory.
template <class T> double Smo<T>::iteration_cost() const {
  const double n = static_cast<double>(members_.size());
  const double bytes = n * sizeof(T);
  return 60 + bytes * (n * bytes < 4e6 ? 0.07 : 0.18);
}

template class Smo<float>;
template class Smo<double>;

/// The whole problem: all movable instances, copied together where that pays; else those of the
/// scope, copied for every solve in it; else all rows as they lie. Who may not move is masked.
template <class T> void Smo<T>::work_on_all() {
  using Next = Workspace::Next;
  const KernelRows& kernel = state_.problem.kernel;
  const std::size_t n = kernel.size(), limit = state_.copies.room<T>(CopyBudget::all);
  const std::vector<std::uint32_t>& movable = state_.movable;
  const std::vector<std::uint32_t>& scope = state_.workspace.scope;
  const auto fits = [&](std::size_t count) {
    return WorkingRows<T>::bytes_to_copy(count) <= limit;
  };
  const bool has_scope = is_worth_copying(scope.size(), n) && fits(scope.size()) &&
                         std::includes(scope.begin(), scope.end(), movable.begin(), movable.end());
  const std::size_t n_others = has_scope ? scope.size() : n;
  const Next next = state_.workspace.next;
  const bool is_same_precision = kernel.precision() == WorkingRows<T>::precision;
  const bool pays = is_worth_copying(movable.size(), n_others) ||
                    (next == Next::same_instances && movable.size() < n_others) ||
                    (next != Next::others && !is_same_precision);
  is_compacted_ = is_near_ = false;
  WorkingRows<T>& rows = state_.workspace.rows<T>(fits(movable.size()) && pays ? movable
                                                  : has_scope                  ? scope
                                                                               : all_instances(n),
                                                  limit);
  state_.copies.take<T>(CopyBudget::all, rows.nbytes());
  work_on(rows);
}

/// From what is near to all, where the others are further from their optimum or the near ones take
/// too long to reach theirs: without the others it may be far away.
template <class T> void Smo<T>::widen(double tol) {
  state_.refresh();
  const SlopeRange range = state_.slope_range();
  if (!is_near_too_long() && range.violation() <= std::max(tol, 1.01 * violation()))
    return;
  work_on_all();
  load_gradient(range.middle());
}

/// What is near the parent's solution, where the state says so; false where it does not.
template <class T> bool Smo<T>::work_on_near() {
  const std::size_t limit = state_.copies.room<T>(CopyBudget::near);
  const std::size_t count = state_.workspace.near.size();
  if (!std::exchange(state_.begins_near, false) || count == 0 ||
      WorkingRows<T>::bytes_to_copy(count) > limit)
    return false;
  is_compacted_ = is_near_ = true;
  WorkingRows<T>& rows = state_.workspace.near_rows<T>(limit);
  state_.copies.take<T>(CopyBudget::near, rows.nbytes());
  work_on(rows);
  near_until_ = state_.result.n_iter + near_iterations * static_cast<std::int64_t>(count);
  return true;
}

template <class T> void Smo<T>::work_on(WorkingRows<T>& rows) {
  rows_ = &rows;
  members_ = rows.members();
  const std::size_t stride = rows_->stride();
  g_ = Buffer<T>(stride);
  diagonal_ = Buffer<T>(stride);
  marks_.assign(stride / row_padding, {});
  std::fill_n(g_.data(), stride, T(0));
  std::fill_n(diagonal_.data(), stride, T(0));
  const std::span<const double> diagonal = state_.problem.kernel.diagonal();
  for (std::size_t k = 0; k < members_.size(); ++k)
    diagonal_[k] = static_cast<T>(diagonal[members_[k]]);
  since_compaction_ = 0;
}

/// At a bound and pushed against it beyond the current extremes: not selectable for now.
template <class T> bool Smo<T>::is_shrinkable(std::size_t k) const {
  const std::size_t i = members_[k];
  const double g = static_cast<double>(g_[k]), epsilon = state_.problem.epsilon;
  const double rising = g + (state_.beta[i] >= 0 ? epsilon : -epsilon);
  const double falling = g + (state_.beta[i] > 0 ? epsilon : -epsilon);
  return (!state_.may_rise(i) || rising > static_cast<double>(extremes_.max_down)) &&
         (!state_.may_fall(i) || falling < static_cast<double>(extremes_.min_up));
}

/// Go on with the selectable instances alone, in rows of their own, where that is expected to pay:
/// as many iterations again as were done so far must win back the copying.
template <class T> void Smo<T>::compact() {
  const std::size_t n = members_.size();
  if (n < min_size_to_compact || since_compaction_ < static_cast<std::int64_t>(n / 2))
    return;
  since_compaction_ = 0;
  std::vector<std::uint32_t> active;
  std::vector<T> g_active;
  for (std::size_t k = 0; k < n; ++k)
    if (!is_shrinkable(k)) {
      active.push_back(members_[k]);
      g_active.push_back(g_[k]);
    }
  const double n_active = static_cast<double>(active.size());
  const double n_saved = static_cast<double>(n) - n_active;
  const std::size_t limit = state_.copies.room<T>(CopyBudget::selectable);
  if (n_active > max_active_share * static_cast<double>(n) ||
      WorkingRows<T>::bytes_to_copy(active.size()) > limit ||
      static_cast<double>(state_.result.n_iter) < n_active * n_active / (2 * n_saved))
    return;
  if (compact_rows_)
    state_.workspace.spare<T>() = compact_rows_->release();
  compact_rows_ = std::make_unique<WorkingRows<T>>(state_.problem.kernel, std::move(active), limit,
                                                   std::move(state_.workspace.spare<T>()));
  state_.copies.take<T>(CopyBudget::selectable, compact_rows_->nbytes());
  work_on(*compact_rows_);
  is_compacted_ = true;
  for (std::size_t k = 0; k < members_.size(); ++k)
    mark(k);
  std::copy(g_active.begin(), g_active.end(), g_.data());
  update(g_.data(), g_.data(), 0);
}

template void Smo<float>::work_on_all();
template bool Smo<float>::work_on_near();
template void Smo<float>::widen(double);
template void Smo<float>::compact();
template void Smo<float>::work_on(WorkingRows<float>&);
template bool Smo<float>::is_shrinkable(std::size_t) const;
template void Smo<double>::work_on_all();
template bool Smo<double>::work_on_near();
template void Smo<double>::widen(double);
template void Smo<double>::compact();
template void Smo<double>::work_on(WorkingRows<double>&);
template bool Smo<double>::is_shrinkable(std::size_t) const;

} // namespace alphapath
