#include "sequence/leave_one_out.hpp"

#include "dual/box_face.hpp"
#include "dual/smo_state.hpp"
#include "dual/solve_smo.hpp"
#include "dual/workspace.hpp"
#include "problem/limits.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace alphapath {

namespace {

/// Removes instances from one full solution, each anew.
///
/// beta_t goes to 0 along the direction that keeps the other free instances M on the margin:
/// delta_M = -A^-1 A_Mt dbeta_t, corrected for the sum, to the first bound of M; there that
/// instance is fixed and the direction deflected. The full model's factor serves every t. What
/// this can not foresee (bounded instances that cross the margin) SMO repairs.
class Withdrawal {
public:
  Withdrawal(const BoxProblem& problem, std::span<const double> beta, std::size_t n_refits,
             const SolveOptions& options, Watch& watch)
      : problem_(problem), factor_(problem.kernel) {
    std::vector<std::uint32_t> free;
    for (std::size_t i = 0; i < beta.size(); ++i)
      if (is_free(problem, i, beta[i]))
        free.push_back(static_cast<std::uint32_t>(i));
    if (free.size() > 2 && FreeSet::fits(free.size(), options.memory_limit) &&
        is_worth_it(static_cast<double>(free.size()), static_cast<double>(beta.size()),
                    static_cast<double>(n_refits)))
      factor_.set_members(std::move(free), 0, watch);
    position_.assign(beta.size(), factor_.size());
    for (std::size_t k = 0; k < factor_.size(); ++k)
      position_[factor_.members()[k]] = k;
  }

  /// Moves beta_t to 0 and the sum by `change_of_total`, as far as M carries it; beta_t is 0 on
  /// return, the sum may still be off.
  void withdraw(std::size_t t, double change_of_total, std::span<double> beta) const {
    const double beta_t = beta[t];
    beta[t] = 0;
    if (factor_.size() == 0 || !(factor_.ones_sum() > 0))
      return;
    BoxFace face(problem_, factor_, beta);
    for (std::size_t k = 0; k < factor_.size(); ++k)
      if (factor_.is_dependent(k))
        face.hold(k);
    std::vector<double> direction(factor_.size());
    const std::size_t own = position_[t];
    if (own < factor_.size()) {
      if (factor_.is_dependent(own) || !face.fix(own))
        return;
      // The conjugate of t is the answer of M to a move of t; it sums to 0 with t's own part.
      const std::span<const double> conjugate = face.last_conjugate();
      for (std::size_t k = 0; k < direction.size(); ++k)
        direction[k] = -beta_t * conjugate[k] / conjugate[own];
      direction[own] = 0;
      add_sum(face, change_of_total, direction);
    } else {
      factor_.fill_column(t, direction);
      for (double& d : direction)
        d *= beta_t;
      factor_.solve(direction);
      const double sum = std::accumulate(direction.begin(), direction.end(), 0.0);
      const double missing = beta_t + change_of_total - sum;
      for (std::size_t k = 0; k < direction.size(); ++k)
        direction[k] += missing / factor_.ones_sum() * factor_.ones()[k];
    }
    follow(face, direction);
  }

private:
  /// The factor of m free instances against half an iteration an instance saved in every refit.
  static bool is_worth_it(double m, double n, double n_refits) {
    return m * m * m / 50 < n_refits * (n / 2) * (60 + 0.4 * n);
  }

  /// Adds the direction on the face that changes the sum by `change`.
  void add_sum(const BoxFace& face, double change, std::span<double> direction) const {
    if (change == 0) // the usual model
      return;
    std::vector<double> up(factor_.ones().begin(), factor_.ones().end());
    face.deflect(up);
    for (std::size_t k = 0; k < up.size(); ++k)
      direction[k] += change / factor_.ones_sum() * up[k];
  }

  static void follow(BoxFace& face, std::span<double> direction) {
    const std::size_t max_hits = std::max<std::size_t>(16, face.size() / 4);
    for (std::size_t n_hits = 0; n_hits < max_hits; ++n_hits) {
      const auto [blocking, step] = face.step(direction, 1.0);
      if (blocking == face.size() || !face.fix(blocking))
        return;
      for (double& d : direction)
        d *= 1 - step;
      face.deflect(direction);
    }
  }

  const BoxProblem& problem_;
  FreeSetFactor factor_;
  std::vector<std::size_t> position_;
};

/// The bias, up to the constant in the gradient.
double bias_of(const SmoState& state) {
  return find_bias(state.problem, state.beta, state.gradient);
}

/// stored[t, :] beta, which the gradient has less the target.
template <class T> double stored_product(const KernelRow& row, std::span<const double> beta) {
  const T* values = static_cast<const T*>(row.data);
  double sum = 0;
  for (std::size_t i = 0; i < beta.size(); ++i)
    sum += static_cast<double>(values[i]) * beta[i];
  return sum;
}

/// The decision value of t; the constant in the gradient cancels. Summed without the target, whose
/// rounding would say which class t is of, where a row costs no kernel values.
double decision_value(const SmoState& state, std::size_t t) {
  const KernelRows& kernel = state.problem.kernel;
  if (kernel.is_on_demand())
    return state.gradient[t] + state.problem.targets[t] + bias_of(state);
  const KernelRow row = kernel.row(t);
  const double product = kernel.precision() == Precision::float32
                             ? stored_product<float>(row, state.beta)
                             : stored_product<double>(row, state.beta);
  return product + kernel.offset()[t] * state.problem.total + bias_of(state);
}

/// Whether the sign of a classifier's decision value at t is that of its optimum already.
///
/// With duality gap G the optimal w* has |w - w*| <= sqrt(2 G), so every f_i - f_t is within
/// delta = sqrt(2 G) max |phi_i - phi_t| of its optimal value. The slope S(b) of the primal in the
/// bias rises with every f_i + b; the optimal bias is therefore beyond -f_t, on the side of f_t's
/// sign, as soon as S, at the present f, is still of that sign at -f_t moved by delta.
class SignTest {
public:
  SignTest(const SmoState& state, std::size_t t, double max_distance)
      : state_(state), t_(t), max_distance_(max_distance) {}

  bool is_certain() const {
    const double delta = std::sqrt(2 * std::max(duality_gap(), 0.0)) * max_distance_;
    const double f_t = state_.gradient[t_] + state_.problem.targets[t_];
    return slope_in_bias(delta - f_t, true) < 0 || slope_in_bias(-delta - f_t, false) > 0;
  }

private:
  double duality_gap() const {
    const double bias = bias_of(state_);
    double gap = 0;
    for (const std::uint32_t i : state_.movable) {
      const double slope = state_.gradient[i] + bias;
      const double worst = slope > 0 ? state_.problem.lower[i] : state_.problem.upper[i];
      gap += slope * (state_.beta[i] - worst);
    }
    return gap;
  }

  /// One-sided derivative of the sum of hinge losses at bias b, from the right or from the left.
  double slope_in_bias(double b, bool from_right) const {
    double slope = 0;
    for (const std::uint32_t i : state_.movable) {
      const double y = state_.problem.targets[i];
      const double c = y > 0 ? state_.problem.upper[i] : -state_.problem.lower[i];
      const double excess = state_.gradient[i] + b; // f_i + b - y_i
      const bool is_above = from_right ? excess >= 0 : excess > 0;
      if (y > 0 && !is_above)
        slope -= c;
      if (y < 0 && is_above)
        slope += c;
    }
    return slope;
  }

  const SmoState& state_;
  std::size_t t_;
  double max_distance_;
};

/// max |phi_i - phi_t| over all instances.
template <class T> double max_distance(const KernelRows& kernel, std::size_t t) {
  const KernelRow row = kernel.row(t);
  const T* values = static_cast<const T*>(row.data);
  double largest = 0;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    largest = std::max(largest, kernel.diagonal()[i] + kernel.diagonal()[t] -
                                    2 * static_cast<double>(values[i]));
  return std::sqrt(largest);
}

} // namespace

LeaveOneOutResult leave_one_out(const BoxProblem& problem, const StartPoint& full,
                                std::span<const LeftOut> instances, const SolveOptions& options,
                                bool only_signs) {
  Watch watch(options.time_limit, options.wants_stop);
  const Withdrawal withdrawal(problem, full.beta, instances.size(), options, watch);
  std::vector<double> lower(problem.lower.begin(), problem.lower.end());
  std::vector<double> upper(problem.upper.begin(), problem.upper.end());
  BoxProblem without = problem;
  without.lower = lower;
  without.upper = upper;
  SolveOptions each = options;
  Workspace workspace(problem.kernel);
  workspace.next = Workspace::Next::others;
  LeaveOneOutResult result;
  for (const auto& [t, total] : instances) {
    if (watch.should_stop())
      break;
    lower[t] = upper[t] = 0;
    without.total = total;
    if (options.time_limit > 0)
      each.time_limit = std::max(options.time_limit - watch.seconds(), 1e-9);
    SmoState state(without, full, each, workspace);
    withdrawal.withdraw(t, total - problem.total, state.beta);
    state.restore_sum_greedily();
    state.is_nearly_solved = true;
    if (only_signs) {
      const double distance = problem.kernel.precision() == Precision::float32
                                  ? max_distance<float>(problem.kernel, t)
                                  : max_distance<double>(problem.kernel, t);
      state.is_enough = [test = SignTest(state, t, distance)] { return test.is_certain(); };
    }
    const Status status = descend(state);
    state.snap_to_bounds();
    const double value = decision_value(state, t); // before the box of t is opened again
    lower[t] = problem.lower[t];
    upper[t] = problem.upper[t];
    if (status == Status::interrupted || status == Status::time_limit)
      break;
    result.values.push_back(value);
    result.n_iter.push_back(state.result.n_iter);
    result.statuses.push_back(status);
  }
  result.solve_time = watch.seconds();
  return result;
}

} // namespace alphapath
