// The instances SMO works on, and their rows: all that may move, those near the start, or those
// that can still be selected.
#include "dual/smo.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace alphapath {

namespace {

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
