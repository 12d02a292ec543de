#include "sequence/transduction.hpp"

#include "dual/active_set.hpp"
#include "dual/solve_smo.hpp"
#include "problem/solution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// A slack up to this is rounding: an instance on the margin has none. Decision values that differ
// by no more are equal, and the first row is taken: rounding must not choose the labels. (Whether
// two do may not depend on a number that is added to both: the bias is not known to the last bit.)
constexpr double least_slack = 1e-8;
// What two slacks must sum to beyond 2 to be switched. Each switch lowers the objective by that
// much, so that none comes back; rounding must not take part.
constexpr double least_gain = 1e-9;
// What SMO comes near to.
constexpr double coarse_tol = 1e-3;
// A sum of betas, or one of their products with kernel values, that is below this share of its
// terms is rounding.
constexpr double rounding = 1e-14;

// What the sum of betas may be off by, as a share of their sizes.
constexpr double most_off = 1e-12;
// Switches without a doubling, for each unlabelled instance. Of a kernel that is not positive
// semi-definite a solution is stationary alone, and pairs may be switched back again and again.
constexpr std::int64_t most_switches = 100;

// Of SMO, where rounding keeps it from its tolerance.
constexpr std::int64_t most_iterations = 1'000'000;

class Transducer {
public:
  Transducer(const TransductionProblem& problem, const SolveOptions& options)
      : kernel_(problem.kernel), given_(problem), options_(options),
        watch_(options.time_limit, options.wants_stop), active_(problem.kernel),
        targets_(problem.targets.begin(), problem.targets.end()) {
    const std::size_t n = kernel_.size();
    for (auto* v : {&lower_, &upper_, &beta_, &gradient_, &held_, &row_sums_[0], &row_sums_[1],
                    &change_, &foreseen_})
      v->assign(n, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      if (targets_[i] == 0)
        open_.push_back(i);
      else
        set_box(i, problem.weights[i]);
  }

  TransductionResult run() {
    descend(coarse_tol);
    solve();
    label_first();
    const double n_negative = static_cast<double>(open_.size() - given_.n_positive);
    const double share = static_cast<double>(given_.n_positive) / std::max(n_negative, 1.0);
    std::array<double, 2> wanted{given_.first_weight, given_.first_weight * share};
    while (!open_.empty() && is_going()) {
      const std::array<double, 2> weights{std::min(wanted[0], given_.limit),
                                          std::min(wanted[1], given_.limit)};
      if (result_.n_doublings == 0)
        weigh_first(weights);
      else
        weigh(weights);
      std::int64_t n_left = most_switches * static_cast<std::int64_t>(open_.size());
      while (n_left-- > 0 && is_going() && switch_pair())
        ++result_.n_switches;
      if (std::min(wanted[0], wanted[1]) >= given_.limit)
        break;
      wanted = {2 * wanted[0], 2 * wanted[1]};
      ++result_.n_doublings;
    }
    refresh();
    if (is_going())
      solve();
    result_.n_rounds = active_.n_rounds();
    result_.signs = std::move(targets_);
    result_.beta = std::move(beta_);
    return std::move(result_);
  }

private:
  static std::size_t class_of(double sign) { return sign > 0; }

  bool is_going() {
    if (result_.status == Status::solved && watch_.should_stop())
      result_.status = watch_.is_interrupted() ? Status::interrupted : Status::time_limit;
    return result_.status == Status::solved;
  }

  void set_box(std::size_t i, double weight) {
    lower_[i] = targets_[i] > 0 ? 0 : -weight;
    upper_[i] = targets_[i] > 0 ? weight : 0;
  }

  BoxProblem problem() const { return {kernel_, targets_, lower_, upper_}; }

  /// To the optimum of the present problem, from the present betas. Where active sets do not get
  /// there, SMO comes near and they try again; then SMO alone.
  void solve(std::span<const double> foreseen = {}) {
    ++result_.n_solves;
    if (try_active_sets(foreseen))
      return;
    descend(coarse_tol);
    if (is_going() && !try_active_sets({}))
      descend(options_.tol);
  }

  /// False where that did not end: everything is as before.
  bool try_active_sets(std::span<const double> foreseen) {
    double size = 0, scale = 0;
    for (std::size_t i = 0; i < beta_.size(); ++i) {
      size += std::abs(beta_[i]);
      scale = std::max(scale, kernel_.diagonal()[i] + 2 * kernel_.offset()[i]);
    }
    std::vector<double> beta = beta_, gradient = gradient_;
    const double tol = std::max(options_.tol, rounding * scale * size);
    if (active_.solve(problem(), beta_, gradient_, tol, foreseen) && is_balanced())
      return true;
    beta_ = std::move(beta);
    gradient_ = std::move(gradient);
    return false;
  }

  /// Whether betas sum to 0. Where kernel values are small beside 1, slopes do not show it.
  bool is_balanced() const {
    double sum = 0, size = 0;
    for (const double b : beta_) {
      sum += b;
      size += std::abs(b);
    }
    return std::abs(sum) <= most_off * size;
  }

  void descend(double tol) {
    restore_sum();
    SolveOptions options = options_;
    options.tol = tol;
    options.max_iter = most_iterations;
    SolveResult found = solve_smo(problem(), StartPoint{beta_, {}}, options);
    beta_ = std::move(found.beta);
    gradient_ = std::move(found.gradient);
    result_.n_iter += found.n_iter;
    ++result_.n_descents;
    if (found.status != Status::stationary && found.status != Status::stalled &&
        found.status != Status::iteration_limit)
      result_.status = found.status;
  }

  /// Brings the sum to 0 by the moves that cost the objective least, by the slopes as they are.
  void restore_sum() {
    double missing = 0, size = 0;
    for (const double b : beta_) {
      missing -= b;
      size += std::abs(b);
    }
    if (std::abs(missing) <= rounding * size)
      return;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < beta_.size(); ++i)
      if (missing > 0 ? beta_[i] < upper_[i] : beta_[i] > lower_[i])
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return missing > 0 ? gradient_[a] < gradient_[b] : gradient_[a] > gradient_[b];
    });
    for (const std::size_t i : order) {
      const double moved = std::clamp(beta_[i] + missing, lower_[i], upper_[i]);
      missing -= moved - beta_[i];
      beta_[i] = moved;
      if (missing == 0)
        break;
    }
  }

  /// The gradient without what rounding has gathered in it.
  void refresh() {
    std::vector<std::size_t> support;
    std::vector<double> betas;
    for (std::size_t i = 0; i < beta_.size(); ++i) {
      gradient_[i] = -targets_[i];
      if (beta_[i] != 0) {
        support.push_back(i);
        betas.push_back(beta_[i]);
      }
    }
    multiply_add(kernel_, support, betas, gradient_);
  }

  double bias() const { return find_bias(problem(), beta_, gradient_); }

  /// The decision value of instance i, but for the bias.
  double value(std::size_t i) const { return gradient_[i] + targets_[i]; }

  void set_label(std::size_t i, double sign) {
    gradient_[i] += targets_[i] - sign;
    targets_[i] = sign;
  }

  void label_first() {
    std::vector<std::size_t> order(open_);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return value(a) > value(b); });
    for (std::size_t begin = 0, end = 1; begin < order.size(); begin = end++) {
      while (end < order.size() && value(order[end - 1]) - value(order[end]) <= least_slack)
        ++end;
      std::sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
                order.begin() + static_cast<std::ptrdiff_t>(end));
    }
    for (std::size_t k = 0; k < order.size(); ++k)
      set_label(order[k], k < given_.n_positive ? 1.0 : -1.0);
  }

  /// Who is at its bound goes with it; of each class the sum of their kernel rows is kept.
  template <class IsBounded> void hold(IsBounded is_bounded) {
    std::array<std::vector<std::size_t>, 2> rows;
    std::array<std::vector<double>, 2> changes;
    const auto add = [&](std::size_t i, double sign, double by) {
      rows[class_of(sign)].push_back(i);
      changes[class_of(sign)].push_back(by);
    };
    for (const std::size_t i : open_) {
      const double before = std::exchange(held_[i], is_bounded(i) ? targets_[i] : 0.0);
      if (before == held_[i])
        continue;
      if (before != 0)
        add(i, before, -before);
      if (held_[i] != 0)
        add(i, held_[i], held_[i]);
    }
    for (std::size_t c = 0; c < 2; ++c)
      multiply_add(kernel_, rows[c], changes[c], row_sums_[c]);
  }

  /// How K beta and the sum of betas change when those held go to other weights: change_, and what
  /// is returned.
  double find_change(std::array<double, 2> weights) {
    const double negative = weights[0] - weights_[0], positive = weights[1] - weights_[1];
    for (std::size_t i = 0; i < change_.size(); ++i)
      change_[i] = negative * row_sums_[0][i] + positive * row_sums_[1][i];
    double total = 0;
    for (const double sign : held_)
      total += sign > 0 ? positive : sign < 0 ? -negative : 0.0;
    return total;
  }

  /// To other weights of the unlabelled, with those held.
  void set_weights(std::array<double, 2> weights) {
    for (const std::size_t i : open_) {
      const double weight = weights[class_of(targets_[i])];
      set_box(i, weight);
      if (held_[i] != 0)
        beta_[i] = targets_[i] * weight;
    }
    for (std::size_t i = 0; i < gradient_.size(); ++i)
      gradient_[i] += change_[i];
    weights_ = weights;
  }

  /// The solution with the first, tiny weights of the unlabelled.
  void weigh_first(std::array<double, 2> weights) {
    const double bias = this->bias();
    hold([&](std::size_t i) { return targets_[i] * (value(i) + bias) < 1; });
    find_change(weights);
    set_weights(weights);
    solve();
  }

  /// The solution with larger weights of the unlabelled.
  void weigh(std::array<double, 2> weights) {
    hold([&](std::size_t i) { return beta_[i] == targets_[i] * weights_[class_of(targets_[i])]; });
    const double total = find_change(weights);
    active_.foresee(problem(), beta_, gradient_, change_, total, foreseen_);
    set_weights(weights);
    solve(foreseen_);
  }

  /// Switches the pair whose slacks are largest, if they sum to more than 2: the positive one with
  /// the least decision value and the negative one with the largest. Their slacks sum to 2 and the
  /// difference of these, if both have one.
  bool switch_pair() {
    double low = infinity, high = -infinity;
    for (const std::size_t i : open_)
      if (targets_[i] > 0)
        low = std::min(low, value(i));
      else
        high = std::max(high, value(i));
    if (std::isinf(low) || std::isinf(high))
      return false;
    const auto find_first = [&](auto is_extreme) {
      return *std::find_if(open_.begin(), open_.end(), is_extreme);
    };
    const std::array<std::size_t, 2> pair{
        find_first([&](std::size_t i) { return targets_[i] > 0 && value(i) - low <= least_slack; }),
        find_first(
            [&](std::size_t i) { return targets_[i] < 0 && high - value(i) <= least_slack; })};
    const double positive = value(pair[0]), negative = value(pair[1]), bias = this->bias();
    if (!(negative - positive > least_gain) || 1 - (positive + bias) <= least_slack ||
        1 + (negative + bias) <= least_slack)
      return false;
    std::array<double, 2> changes{};
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t i = pair[k];
      set_label(i, -targets_[i]);
      const double weight = weights_[class_of(targets_[i])];
      set_box(i, weight);
      changes[k] = targets_[i] * weight - beta_[i];
      beta_[i] = targets_[i] * weight;
    }
    multiply_add(kernel_, pair, changes, gradient_);
    solve();
    return true;
  }

  const KernelRows& kernel_;
  const TransductionProblem& given_;
  SolveOptions options_;
  Watch watch_;
  ActiveSet active_;
  std::vector<std::size_t> open_; // the unlabelled
  std::vector<double> targets_, lower_, upper_, beta_, gradient_;
  std::array<double, 2> weights_{0, 0}; // of the negative and of the positive unlabelled
  // By which sign an unlabelled instance is in row_sums_, of each class one sum of kernel rows.
  std::vector<double> held_;
  std::array<std::vector<double>, 2> row_sums_;
  std::vector<double> change_, foreseen_; // of K beta, and slopes, along a change of weights
  TransductionResult result_;
};

} // namespace

TransductionResult transduce(const TransductionProblem& problem, const SolveOptions& options) {
  return Transducer(problem, options).run();
}

} // namespace alphapath
