#include "ranking/pair_descent.hpp"

#include "base/interrupt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t passes_between_checks = 1000;

class Descent {
public:
  Descent(const ScoreSpace& space, const RankPairs& pairs, std::span<const double> upper,
          std::span<const double> start)
      : space_(space), pairs_(pairs), upper_(upper), beta_(start.begin(), start.end()),
        order_(pairs.size()), n_active_(pairs.n_queries()), blocks_(pairs.n_queries()) {
    std::iota(order_.begin(), order_.end(), 0u);
    sum_pairs(space_, pairs_, [&](std::size_t p) { return beta_[p]; }, v_);
    activate_all();
  }

  PairResult run(const Limits& limits, Watch& watch) {
    PairResult result;
    std::vector<std::size_t> queries(pairs_.n_queries());
    std::iota(queries.begin(), queries.end(), std::size_t{0});
    while (true) {
      largest_ = 0;
      next_up_ = 0;
      next_down_ = 0;
      for (std::size_t k = queries.size(); k > 1; --k)
        std::swap(queries[k - 1], queries[below(k)]);
      for (const std::size_t q : queries) {
        result.n_steps += visit(q);
        if (watch.should_stop())
          break;
      }
      ++result.n_passes;
      if (watch.should_stop()) {
        result.status = watch.is_interrupted() ? Status::interrupted : Status::time_limit;
        break;
      }
      if (largest_ <= limits.tol) {
        if (is_whole_ && violation() <= limits.tol)
          break;
        activate_all();
      } else {
        is_whole_ = false;
        highest_ = next_up_ > 0 ? next_up_ : infinity;
        lowest_ = next_down_ < 0 ? next_down_ : -infinity;
      }
      if (limits.max_iter >= 0 && result.n_passes >= limits.max_iter) {
        result.status = Status::iteration_limit;
        break;
      }
      if (result.n_passes % passes_between_checks == 0 && has_stalled(result.n_passes)) {
        result.status = Status::stalled;
        break;
      }
    }
    result.beta = std::move(beta_);
    return result;
  }

private:
  /// Whether the violation, of all pairs, has not fallen during the second half of the passes.
  bool has_stalled(std::int64_t n_passes) {
    const double now = violation();
    if (now < 0.99 * best_violation_) {
      best_violation_ = now;
      best_pass_ = n_passes;
    }
    return n_passes >= 2 * best_pass_ + 4 * passes_between_checks;
  }

  void activate_all() {
    for (std::size_t q = 0; q < n_active_.size(); ++q)
      n_active_[q] = pairs_.first_pair[q + 1] - pairs_.first_pair[q];
    is_whole_ = true;
    highest_ = infinity;
    lowest_ = -infinity;
  }

  /// One sweep over the active pairs of a query; returns how many betas moved.
  std::int64_t visit(std::size_t q) {
    if (n_active_[q] == 0)
      return 0;
    const std::size_t first = pairs_.first_row[q], n = pairs_.first_row[q + 1] - first;
    load_block(q, first, n);
    const double* G = blocks_[q].data();
    f_.resize(n);
    change_.assign(n, 0.0);
    space_.scores(first, n, v_.data(), f_.data());
    std::uint32_t* order = order_.data() + pairs_.first_pair[q];
    for (std::size_t k = n_active_[q]; k > 1; --k)
      std::swap(order[k - 1], order[below(k)]);
    std::int64_t n_moved = 0;
    for (std::size_t k = 0; k < n_active_[q];) {
      const std::size_t p = order[k];
      const std::size_t a = static_cast<std::size_t>(pairs_.better[p]) - first;
      const std::size_t b = static_cast<std::size_t>(pairs_.worse[p]) - first;
      const double g = f_[a] - f_[b] - 1;
      // A pair at its bound whose gradient holds it there firmly is left out.
      if ((beta_[p] <= 0 && g > highest_) || (beta_[p] >= upper_[p] && g < lowest_)) {
        std::swap(order[k], order[--n_active_[q]]);
        continue;
      }
      ++k;
      if ((beta_[p] <= 0 && g >= 0) || (beta_[p] >= upper_[p] && g <= 0))
        continue;
      largest_ = std::max(largest_, std::abs(g));
      next_up_ = std::max(next_up_, g);
      next_down_ = std::min(next_down_, g);
      const double own = G[a * n + a] + G[b * n + b] - 2 * G[a * n + b];
      // Equal instances have no curvature (and kernels that are not definite less than none).
      const double free = own > 0 ? beta_[p] - g / own : g < 0 ? infinity : -infinity;
      const double moved = std::clamp(free, 0.0, upper_[p]);
      const double step = moved - beta_[p];
      if (step == 0)
        continue;
      beta_[p] = moved;
      ++n_moved;
      change_[a] += step;
      change_[b] -= step;
      const double *row_a = G + a * n, *row_b = G + b * n;
      for (std::size_t i = 0; i < n; ++i)
        f_[i] += step * (row_a[i] - row_b[i]);
    }
    if (n_moved > 0)
      commit(first, n);
    return n_moved;
  }

  void commit(std::size_t first, std::size_t n) {
    rows_.clear();
    std::size_t n_used = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (change_[i] != 0) {
        rows_.push_back(static_cast<std::int32_t>(first + i));
        change_[n_used++] = change_[i];
      }
    space_.add(rows_, change_.data(), v_.data());
  }

  void load_block(std::size_t q, std::size_t first, std::size_t n) {
    if (!blocks_[q].empty())
      return;
    blocks_[q].resize(n * n);
    space_.block(first, n, blocks_[q].data());
  }

  /// Of all pairs, with scores from scratch.
  double violation() {
    sum_pairs(space_, pairs_, [&](std::size_t p) { return beta_[p]; }, v_);
    std::vector<double> f(space_.size());
    space_.scores(0, f.size(), v_.data(), f.data());
    double worst = 0;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const double g = f[static_cast<std::size_t>(pairs_.better[p])] -
                       f[static_cast<std::size_t>(pairs_.worse[p])] - 1;
      if (beta_[p] > 0)
        worst = std::max(worst, g);
      if (beta_[p] < upper_[p])
        worst = std::max(worst, -g);
    }
    return worst;
  }

  std::size_t below(std::size_t k) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<std::size_t>(random_ >> 11) % k;
  }

  const ScoreSpace& space_;
  const RankPairs& pairs_;
  std::span<const double> upper_;
  std::vector<double> beta_, v_;
  std::vector<std::uint32_t> order_; // pairs, those of a query that are active first
  std::vector<std::size_t> n_active_;
  std::vector<std::vector<double>> blocks_; // inner products within a query
  std::vector<double> f_, change_;
  std::vector<std::int32_t> rows_;
  double best_violation_ = infinity;
  std::int64_t best_pass_ = 0;
  bool is_whole_ = true;
  double highest_ = infinity, lowest_ = -infinity; // gradients beyond which a bound holds firmly
  double largest_ = 0, next_up_ = 0, next_down_ = 0;
  std::uint64_t random_ = 0x9E3779B97F4A7C15u;
};

} // namespace

PairResult descend_pairs(const ScoreSpace& space, const RankPairs& pairs,
                         std::span<const double> upper, std::span<const double> start,
                         const Limits& limits) {
  Watch watch(limits.time_limit, limits.wants_stop);
  return Descent(space, pairs, upper, start).run(limits, watch);
}

} // namespace alphapath
