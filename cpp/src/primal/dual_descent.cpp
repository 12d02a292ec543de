#include "primal/dual_descent.hpp"

#include "base/interrupt.hpp"
#include "base/isa.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

namespace alphapath {

namespace {

// Neighbouring rows visited one after the other; these blocks are shuffled for every sweep.
constexpr std::size_t block = 16;
// Sweeps over the rows that move, between two over all ...
constexpr int max_inner = 32;
// ... at most until they leave this share of the gap that the last sweep over all met.
constexpr double inner_share = 0.1;
// Of the gap to reach: no use in going below it while other rows may be further off.
constexpr double least_inner = 0.3;
// A new reference costs a margin for every row: it is taken when it would have spared this share.
constexpr double patience = 0.5;
// Rows between two looks at the clock, and for signals.
constexpr std::size_t watch_rows = 4096;

class DualDescent {
public:
  DualDescent(const MarginTask& task, std::span<const double> start, const DualOptions& options)
      : task_(task), options_(options), n_(task.rows.size()), d_(task.rows.n_columns()),
        blocks_((n_ + block - 1) / block), kept_(new std::int32_t[n_]),
        margins_(options.uses_bounds ? n_ : 0), reach_(options.uses_bounds ? n_ : 0),
        random_(options.seed) {
    result_.alpha.assign(n_, 0.0);
    std::copy(start.begin(), start.end(), result_.alpha.begin());
    result_.theta.assign(d_ + 1, 0.0);
    reference_.assign(d_ + 1, 0.0);
    std::iota(blocks_.begin(), blocks_.end(), 0);
    norms_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      norms_[i] = task.rows.norm(i);
      n_present_ += task.weights[i] > 0.0;
    }
    sweep_.labels = task.labels;
    sweep_.upper = task.weights;
    sweep_.norms = norms_.data();
    sweep_.bias_square = options.has_bias ? 1.0 : 0.0;
    sweep_.low = task.loss.low;
    sweep_.high = task.loss.high;
    sweep_.ridge = task.loss.curvature > 0.0 ? 0.5 / task.loss.curvature : 0.0;
    sweep_.has_top = std::isfinite(task.loss.low);
    sweep_.alpha = result_.alpha.data();
    sweep_.theta = result_.theta.data();
    sweep_.bias = result_.theta.data() + d_;
    // A sum of k products is off by at most k roundings of |x| |theta|.
    rounding_ = std::numeric_limits<double>::epsilon() * static_cast<double>(d_ + 16);
  }

  DualResult run(Watch& watch) {
    const bool is_cold = std::ranges::all_of(result_.alpha, [](double a) { return a == 0.0; });
    if (is_cold || !meets_gap()) {
      Status status = Status::iteration_limit;
      while (options_.max_iter < 0 || result_.n_iter < options_.max_iter) {
        status = iterate(watch);
        if (status != Status::iteration_limit || is_given_up_)
          break;
      }
      if (status != Status::solved && status != Status::stalled)
        meets_gap(); // what there is, stated as it is
      result_.status = status;
    }
    return std::move(result_);
  }

private:
  /// A sweep over all rows and those over the few; Status::iteration_limit: not yet there.
  Status iterate(Watch& watch) {
    prepare_sweep();
    shuffle(std::span(blocks_), random_);
    sweep_.kept = kept_.get();
    if (!sweep_all(watch))
      return stopped(watch);
    sweep_.kept = nullptr;
    ++result_.n_iter;
    const double met = sweep_.gap;
    const double dual =
        task_.loss.high * sweep_.alpha_sum - 0.5 * (sweep_.theta_square + sweep_.ridge_square);
    const double expected = gap_ratio_ * met;
    const bool is_stuck = sweep_.n_moved == 0;
    if (is_stuck || expected <= options_.tol * (dual + expected)) {
      if (meets_gap())
        return Status::solved;
      if (is_stuck)
        return Status::stalled;
      gap_ratio_ = std::max(0.9 * gap_ratio_, met > 0.0 ? result_.gap / met : 1.0);
    }
    const bool is_early = result_.n_examined < options_.max_examined / 4; // the pace may still rise
    if (options_.max_examined >= 0 && is_hopeless(met, dual) && !is_early) {
      is_given_up_ = true;
      return Status::iteration_limit;
    }
    const double enough = std::max(inner_share * met, least_inner * options_.tol * dual);
    const std::span kept = std::span(kept_.get(), sweep_.n_kept);
    for (int k = 0; k < max_inner; ++k) {
      shuffle(kept, random_);
      if (!sweep_few(kept, watch))
        return stopped(watch);
      if (sweep_.gap < enough)
        break;
    }
    return Status::iteration_limit;
  }

  /// Whether the gap, falling as it did in the later half of the work, would take too long.
  bool is_hopeless(double met, double dual) {
    const double work = static_cast<double>(result_.n_examined);
    log_.push_back({work, std::log(met)});
    if (log_.size() == 1)
      return false;
    while (log_[n_old_ + 1].work < 0.5 * work) // the last one is not
      ++n_old_;
    const Milestone& then = log_[n_old_];
    const double pace = std::max(then.log_gap - std::log(met), 0.0) / (work - then.work);
    const double left = std::log(std::max(met / (options_.tol * dual), 1.0));
    const double most = static_cast<double>(options_.max_examined);
    return !(work * pace + left <= most * pace);
  }

  static Status stopped(const Watch& watch) {
    return watch.is_interrupted() ? Status::interrupted : Status::time_limit;
  }

  /// How far theta has gone, and whether a new reference would pay.
  void prepare_sweep() {
    sweep_.gap = 0.0;
    sweep_.n_kept = 0;
    sweep_.n_moved = 0;
    if (!options_.uses_bounds)
      return;
    // What theta moved since the last sweep over all, it may move again.
    sweep_.promise = result_.n_iter == 0 ? std::numeric_limits<double>::infinity()
                                         : distance(last_, result_.theta);
    last_ = result_.theta;
    if (static_cast<double>(sweep_.n_promising) > patience * static_cast<double>(n_))
      take_margins();
    else if (sweep_.reference != nullptr)
      measure_distance();
  }

  void measure_distance() {
    const double measured = distance(reference_, result_.theta);
    sweep_.distance_square = measured * measured;
    sweep_.path = sweep_.drift = 0.0;
  }

  double distance(const std::vector<double>& a, const std::vector<double>& b) const {
    return std::sqrt(
        ALPHAPATH_DISPATCH(squared_distance)(a.data(), 1.0, b.data(), 0.0, b.data(), a.size()));
  }

  bool sweep_all(Watch& watch) {
    const std::int64_t n_visited = sweep_.n_visited;
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      if (k % (watch_rows / block) == 0 && watch.should_stop())
        return false;
      const std::size_t first = block * static_cast<std::size_t>(blocks_[k]);
      task_.rows.sweep_dual(all_rows(first, std::min(block, n_ - first)), sweep_);
    }
    count_visits(n_visited);
    result_.n_pruned += n_present_ - (sweep_.n_visited - n_visited);
    return true;
  }

  bool sweep_few(std::span<const std::int32_t> rows, Watch& watch) {
    const std::int64_t n_visited = sweep_.n_visited;
    sweep_.gap = 0.0;
    for (std::size_t k = 0; k < rows.size(); k += watch_rows) {
      if (watch.should_stop())
        return false;
      const std::size_t count = std::min(watch_rows, rows.size() - k);
      task_.rows.sweep_dual(listed_rows(rows.subspan(k, count)), sweep_);
    }
    ++result_.n_inner;
    count_visits(n_visited);
    return true;
  }

  void count_visits(std::int64_t before) { result_.n_examined += sweep_.n_visited - before; }

  /// theta anew from alpha, without the rounding of the steps; objective, gap and violation there.
  bool meets_gap() {
    std::vector<double>& theta = result_.theta;
    std::fill(theta.begin(), theta.end(), 0.0);
    sweep_.alpha_sum = sweep_.ridge_square = 0.0;
    double coef[margin_block];
    for (std::size_t first = 0; first < n_; first += margin_block) {
      const RowList rows = all_rows(first, std::min(margin_block, n_ - first));
      for (std::size_t k = 0; k < rows.count; ++k) {
        coef[k] = task_.labels[first + k] * result_.alpha[first + k];
        sweep_.alpha_sum += result_.alpha[first + k];
        if (task_.weights[first + k] > 0.0)
          sweep_.ridge_square +=
              ridge_of(first + k) * result_.alpha[first + k] * result_.alpha[first + k];
        theta[d_] += coef[k] * sweep_.bias_square;
      }
      task_.rows.add_rows(rows, coef, theta.data());
    }
    sweep_.theta_square = dot_product(theta.data(), theta.data(), d_ + 1);
    take_margins();
    return result_.gap <= options_.tol * result_.objective;
  }

  /// Every margin: objective and gap, and a new reference.
  void take_margins() {
    const std::vector<double>& theta = result_.theta;
    double losses = 0.0, dots[margin_block];
    result_.gap = result_.violation = 0.0;
    for (std::size_t first = 0; first < n_; first += margin_block) {
      const RowList rows = all_rows(first, std::min(margin_block, n_ - first));
      task_.rows.dots(rows, theta.data(), dots);
      for (std::size_t k = 0; k < rows.count; ++k) {
        const std::size_t i = first + k;
        const double m = task_.labels[i] * (dots[k] + theta[d_]);
        losses += add_row(i, m);
        if (options_.uses_bounds)
          margins_[i] = m;
      }
    }
    result_.objective = 0.5 * sweep_.theta_square + losses;
    result_.n_examined += static_cast<std::int64_t>(n_);
    if (options_.uses_bounds)
      become_reference();
  }

  double ridge_of(std::size_t i) const {
    return sweep_.ridge > 0.0 ? sweep_.ridge / task_.weights[i] : 0.0;
  }

  /// What row i adds to gap and violation; returns its loss.
  double add_row(std::size_t i, double m) {
    const double alpha = result_.alpha[i], upper = task_.weights[i];
    if (upper == 0.0)
      return 0.0;
    result_.gap += simd::row_gap(sweep_, alpha, upper, m);
    const double slope = m - task_.loss.high + ridge_of(i) * alpha;
    const bool is_free_way = slope < 0.0 ? !sweep_.has_top || alpha < upper : alpha > 0.0;
    if (is_free_way)
      result_.violation = std::max(result_.violation, std::abs(slope));
    return upper * task_.loss.value(m);
  }

  void become_reference() {
    reference_ = result_.theta;
    const double length = std::sqrt(dot_product(reference_.data(), reference_.data(), d_ + 1));
    sweep_.reference = margins_.data();
    sweep_.reach = reach_.data();
    sweep_.distance_square = sweep_.path = sweep_.drift = 0.0;
    sweep_.reference_rounding = 4.0 * rounding_ * length;
    sweep_.path_rounding = 8.0 * rounding_ * (1.0 + length);
    sweep_.step_rounding = 2.0 * std::numeric_limits<double>::epsilon() * (1.0 + length);
    sweep_.n_promising = 0;
    ++result_.n_references;
    ALPHAPATH_DISPATCH(set_reaches)(sweep_, n_);
  }

  const MarginTask& task_;
  DualOptions options_;
  std::size_t n_, d_;
  std::int64_t n_present_ = 0; // rows of positive weight
  std::vector<std::int32_t> blocks_;
  // Room for all rows; what is never touched costs nothing.
  std::unique_ptr<std::int32_t[]> kept_;
  std::vector<double> norms_, margins_;
  std::vector<float> reach_;
  std::vector<double> reference_, last_;
  std::uint64_t random_;
  double rounding_ = 0.0;
  struct Milestone {
    double work, log_gap; // margins computed, and what the sweep over all rows met
  };
  std::vector<Milestone> log_;
  std::size_t n_old_ = 0; // the last milestone of the first half of the work
  bool is_given_up_ = false;
  double gap_ratio_ = 1.0; // of the gap to what a sweep over all rows met
  simd::DualSweep sweep_{};
  DualResult result_;
};

} // namespace

DualResult descend_dual(const MarginTask& task, std::span<const double> start,
                        const DualOptions& options) {
  Watch watch(options.time_limit, options.wants_stop);
  return DualDescent(task, start, options).run(watch);
}

} // namespace alphapath
