// The model without one instance, from the model with it, by one small linear system a round.
//
// With M the rows whose state changes (the instance left out, its feature, and those that follow),
// the optimum for assumed states is theta0 + H^-1 A_M' u, where for each row a of M
//
//   leaving   (G u)_a - u_a / D_a = t_a - f0_a        t the minimum of its quadratic
//   entering  (G u)_a + u_a / D_a = t_a - f0_a
//   feature   (G u)_a             = -theta_a
//
// The system is indefinite where M has both kinds, hence LU. The move of theta has length
// q = sqrt(u'Gu) in the norm of H, so no instance with reach > q changes its state.
// Paper 003 with the Hessian inverse never formed; see smooth_removal.py.
#include "smooth/leave_one_out.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// More rounds than this without settling: full steps may cycle, and Newton-Armijo is for that.
constexpr int max_rounds = 12;
// Beyond this many changes a factored Hessian is the better tool.
constexpr std::size_t max_changes = 400;
// An instance this close to the kink has no loss to speak of: its state is the one assumed.
constexpr double tie = 1e-12;
// Outward rounding of the reach.
constexpr double slack = 1.0 + 1e-9;

/// One row of M.
struct Change {
  std::int64_t place; // among the near instances; -1 the instance left out, -2 its feature
  double rhs;
  double diagonal;
  double shift; // (G u)_a = rhs + shift u_a
};

/// LU with partial pivoting of a row-major matrix, applied to `x`; false where it is singular.
bool solve_dense(std::vector<double>& a, std::vector<double>& x) {
  const std::size_t r = x.size();
  for (std::size_t k = 0; k < r; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < r; ++i)
      if (std::abs(a[i * r + k]) > std::abs(a[pivot * r + k]))
        pivot = i;
    if (!(std::abs(a[pivot * r + k]) > 0))
      return false;
    if (pivot != k) {
      std::swap_ranges(a.begin() + k * r, a.begin() + (k + 1) * r, a.begin() + pivot * r);
      std::swap(x[k], x[pivot]);
    }
    for (std::size_t i = k + 1; i < r; ++i) {
      const double factor = a[i * r + k] / a[k * r + k];
      if (factor == 0)
        continue;
      for (std::size_t j = k + 1; j < r; ++j)
        a[i * r + j] -= factor * a[k * r + j];
      x[i] -= factor * x[k];
    }
  }
  for (std::size_t k = r; k-- > 0;) {
    for (std::size_t j = k + 1; j < r; ++j)
      x[k] -= a[k * r + j] * x[j];
    x[k] /= a[k * r + k];
  }
  return true;
}

class Remover {
public:
  Remover(const NearInstances& near, const Removals& removals)
      : near_(near), removals_(removals), p_(near.reach.size()),
        has_features_(!removals.coefs.empty()), moves_(p_), assumed_(p_, 0.0) {}

  /// Leave out number `i`; the answer is in the members below.
  RemovalStatus run(std::size_t i) {
    own_ = i;
    reset_changes();
    value = removals_.values[i];
    length = 0;
    n_solves = 0;
    RemovalStatus status = RemovalStatus::done;
    if (n_own_ > 0)
      status = settle();
    n_changes = static_cast<std::int64_t>(changes_.size() - n_own_);
    for (std::size_t a = n_own_; a < changes_.size(); ++a)
      assumed_[changes_[a].place] = 0;
    return status;
  }

  double value = 0, length = 0;
  std::int64_t n_solves = 0, n_changes = 0;

private:
  RemovalStatus settle() {
    while (n_solves < max_rounds && changes_.size() <= max_changes) {
      ++n_solves;
      if (!solve_changes())
        return RemovalStatus::unsettled;
      const auto end = std::lower_bound(near_.reach.begin(), near_.reach.end(), length * slack);
      if (end == near_.reach.end() && !near_.is_everybody)
        return RemovalStatus::out_of_reach;
      const bool is_settled = follow_states(end - near_.reach.begin());
      if (is_impossible_)
        return RemovalStatus::unsettled;
      if (is_settled) {
        value = own_value();
        return RemovalStatus::done;
      }
    }
    return RemovalStatus::unsettled;
  }

  void reset_changes() {
    changes_.clear();
    const double weight = removals_.weights[own_];
    if (weight > 0)
      changes_.push_back(
          {-1, removals_.goals[own_] - removals_.values[own_], removals_.change[own_], 1 / weight});
    if (has_features_)
      changes_.push_back({-2, -removals_.coefs[own_], removals_.feature_change[own_], 0});
    n_own_ = changes_.size();
    is_impossible_ = false;
  }

  const double* answers_of(std::int64_t place) const {
    if (place == -1)
      return removals_.answers.data() + own_ * p_;
    if (place == -2)
      return removals_.feature_answers.data() + own_ * p_;
    return near_.answers.data() + static_cast<std::size_t>(place) * p_;
  }

  double answer_between(std::int64_t a, std::int64_t b) const {
    if (b >= 0)
      return answers_of(a)[b];
    return a >= 0 ? answers_of(b)[a] : removals_.feature_own[own_];
  }

  bool solve_changes() {
    const std::size_t r = changes_.size();
    system_.resize(r * r);
    pull_.resize(r);
    for (std::size_t a = 0; a < r; ++a) {
      pull_[a] = changes_[a].rhs;
      for (std::size_t b = 0; b < a; ++b)
        system_[a * r + b] = system_[b * r + a] =
            answer_between(changes_[a].place, changes_[b].place);
      system_[a * r + a] = changes_[a].diagonal;
    }
    if (!solve_dense(system_, pull_))
      return false;
    double squared = 0;
    for (std::size_t a = 0; a < r; ++a)
      squared += pull_[a] * (changes_[a].rhs + changes_[a].shift * pull_[a]);
    length = std::sqrt(std::max(squared, 0.0));
    return std::isfinite(length);
  }

  /// Values of the first `n_within` near instances; the changes that their states ask for.
  bool follow_states(std::size_t n_within) {
    std::fill_n(moves_.begin(), n_within, 0.0);
    for (std::size_t a = 0; a < changes_.size(); ++a) {
      const double* row = answers_of(changes_[a].place);
      const double u = pull_[a];
      for (std::size_t j = 0; j < n_within; ++j)
        moves_[j] += u * row[j];
    }
    for (std::size_t a = n_own_; a < changes_.size(); ++a)
      set_own_move(changes_[a], pull_[a], n_within);
    bool is_settled = true;
    std::size_t n_kept = 0;
    next_.clear();
    for (std::size_t j = 0; j < n_within; ++j) {
      if (static_cast<std::int64_t>(j) == removals_.places[own_])
        continue;
      const double assumed = assumed_[j] != 0 ? other_state(j) : near_.states[j];
      const double state = state_at(j, near_.values[j] + moves_[j], assumed);
      if (state != assumed)
        is_settled = false;
      n_kept += assumed_[j] != 0;
      if (state != near_.states[j])
        next_.push_back(make_change(j, state));
    }
    // Assumed ones further away than the move reaches are back in the state they had.
    is_settled = is_settled && n_kept == changes_.size() - n_own_;
    if (!is_settled)
      take_over();
    return is_settled;
  }

  /// The diagonal of `answers` is not read, so a change's effect on itself comes from its equation.
  void set_own_move(const Change& change, double pull, std::size_t n_within) {
    if (static_cast<std::size_t>(change.place) < n_within)
      moves_[change.place] = change.rhs + change.shift * pull;
  }

  void take_over() {
    for (std::size_t a = n_own_; a < changes_.size(); ++a)
      assumed_[changes_[a].place] = 0;
    changes_.resize(n_own_);
    changes_.insert(changes_.end(), next_.begin(), next_.end());
    for (const Change& change : next_)
      assumed_[change.place] = 1;
  }

  /// The state that an instance of `changes_` was assumed to have.
  double other_state(std::size_t j) const {
    if (near_.states[j] != 0)
      return 0;
    return near_.is_two_sided ? (near_.values[j] < near_.targets[j] ? 1.0 : -1.0)
                              : near_.targets[j];
  }

  double state_at(std::size_t j, double value, double assumed) const {
    const double y = near_.targets[j];
    const double miss = near_.is_two_sided ? std::abs(y - value) - near_.width : 1 - y * value;
    if (std::abs(miss) <= tie * std::max(1.0, std::abs(y)))
      return assumed;
    if (miss <= 0)
      return 0;
    return near_.is_two_sided ? (value < y ? 1.0 : -1.0) : y;
  }

  Change make_change(std::size_t j, double state) {
    const double old = near_.states[j];
    // From one side of the tube to the other, or out of it on the far side: left to the caller.
    if (old != 0 ? state != 0 : state != other_state(j))
      is_impossible_ = true;
    const double side = old != 0 ? old : state;
    const double goal = near_.targets[j] - near_.width * side;
    const double shift = (old != 0 ? 1.0 : -1.0) / near_.weights[j];
    return {static_cast<std::int64_t>(j), goal - near_.values[j], near_.change[j], shift};
  }

  double own_value() const {
    if (changes_.front().place == -1)
      return removals_.goals[own_] + pull_[0] * changes_.front().shift;
    double found = removals_.values[own_];
    for (std::size_t a = 0; a < changes_.size(); ++a)
      found += pull_[a] * answer_between(-1, changes_[a].place);
    return found;
  }

  const NearInstances& near_;
  const Removals& removals_;
  std::size_t p_;
  bool has_features_;
  std::size_t own_ = 0, n_own_ = 0;
  bool is_impossible_ = false;
  std::vector<double> moves_, assumed_, system_, pull_;
  std::vector<Change> changes_, next_;
};

} // namespace

RemovalResult remove_each(const NearInstances& near, const Removals& removals, Watch& watch) {
  const std::size_t m = removals.values.size();
  RemovalResult result;
  result.values.assign(m, std::nan(""));
  result.reach.assign(m, 0);
  result.n_solves.assign(m, 0);
  result.n_changes.assign(m, 0);
  result.statuses.assign(m, RemovalStatus::stopped);
  Remover remover(near, removals);
  for (std::size_t i = 0; i < m; ++i) {
    if (watch.should_stop())
      break;
    result.statuses[i] = remover.run(i);
    result.reach[i] = remover.length;
    result.n_solves[i] = remover.n_solves;
    result.n_changes[i] = remover.n_changes;
    if (result.statuses[i] == RemovalStatus::done)
      result.values[i] = remover.value;
  }
  return result;
}

} // namespace alphapath
