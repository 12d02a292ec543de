#include "ranking/pair_newton.hpp"

#include "base/blas.hpp"
#include "base/interrupt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// A step that changes no residual by more than this share of the band is rounding.
constexpr double least_move = 1e-7;
// Steps of one band that do not halve the error, after which it is left.
constexpr int max_idle = 50;
// From one band to the next.
constexpr double narrowing = 4.0;
// Of the step, relative to the slope at 0, at which a line search ends.
constexpr double line_accuracy = 0.1;
constexpr int max_line_steps = 100;
// By how much a step that was too long is cut while no end below it is known: where features are
// large and no pair is in the band, the best step is many orders smaller than Newton's.
constexpr double cut = 16.0;

class Newton {
public:
  Newton(const ScoreSpace& rows, const RankPairs& pairs, std::span<const double> upper)
      : rows_(rows), pairs_(pairs), upper_(upper), d_(rows.width()), w_(d_, 0.0), g_(d_), p_(d_),
        f_(rows.size(), 0.0), df_(rows.size()), alpha_(rows.size()), all_(rows.size()),
        hessian_(d_ * d_) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  PairResult run(const Limits& limits, Watch& watch) {
    PairResult result;
    const double final_width = 0.9 * limits.tol; // what is left is for the gradient
    double h = std::max(1.0, final_width);
    const double reach = largest_distance();
    double least_error = infinity;
    int n_idle = 0;
    while (true) {
      evaluate(h);
      const bool is_last = h <= final_width;
      // |w - best| <= |g|: no residual is off by more than reach |g|.
      const double error = reach * std::sqrt(dot(g_, g_));
      const bool is_certain = error <= (is_last ? 0.05 : 0.5) * h;
      if (error < 0.5 * least_error) {
        least_error = error;
        n_idle = 0;
      }
      // Where features are large that is out of rounding's reach: then Newton's step is nothing,
      // or steps lead nowhere.
      if (is_certain || ++n_idle > max_idle ||
          (find_direction(h) && largest_move() <= least_move * h)) {
        least_error = infinity;
        if (is_last) {
          result.status = is_certain ? Status::solved : Status::stalled;
          break;
        }
        h = std::max(h / narrowing, final_width);
        continue;
      }
      if (limits.max_iter >= 0 && result.n_passes >= limits.max_iter) {
        result.status = Status::iteration_limit;
        break;
      }
      if (watch.should_stop()) {
        result.status = watch.is_interrupted() ? Status::interrupted : Status::time_limit;
        break;
      }
      ++result.n_passes;
      if (!has_direction_ || !step(h)) {
        result.status = Status::stalled;
        break;
      }
    }
    result.n_steps = result.n_passes;
    result.beta.resize(pairs_.size());
    for (std::size_t q = 0; q < pairs_.size(); ++q)
      result.beta[q] = upper_[q] * std::clamp(-residual(q) / h, 0.0, 1.0);
    return result;
  }

private:
  std::size_t better(std::size_t p) const { return static_cast<std::size_t>(pairs_.better[p]); }
  std::size_t worse(std::size_t p) const { return static_cast<std::size_t>(pairs_.worse[p]); }
  double residual(std::size_t p) const { return f_[better(p)] - f_[worse(p)] - 1; }
  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  /// The gradient w - X'alpha, and the pairs in the band.
  void evaluate(double h) {
    std::fill(alpha_.begin(), alpha_.end(), 0.0);
    band_.clear();
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const double e = residual(p);
      if (e >= 0 || upper_[p] == 0)
        continue;
      double beta = upper_[p];
      if (e > -h) {
        beta *= -e / h;
        band_.push_back(static_cast<std::uint32_t>(p));
      }
      alpha_[better(p)] += beta;
      alpha_[worse(p)] -= beta;
    }
    std::fill(g_.begin(), g_.end(), 0.0);
    rows_.add(all_, alpha_.data(), g_.data());
    for (std::size_t k = 0; k < d_; ++k)
      g_[k] = w_[k] - g_[k];
  }

  /// p = -H^-1 g and its scores; false where H can not be factored.
  bool find_direction(double h) {
    std::fill(hessian_.begin(), hessian_.end(), 0.0);
    for (std::size_t q = 0, at = 0; q < pairs_.n_queries(); ++q) {
      const std::size_t end = static_cast<std::size_t>(
          std::lower_bound(band_.begin() + static_cast<std::ptrdiff_t>(at), band_.end(),
                           static_cast<std::uint32_t>(pairs_.first_pair[q + 1])) -
          band_.begin());
      if (end > at)
        add_query(q, {band_.data() + at, end - at}, h);
      at = end;
    }
    for (std::size_t k = 0; k < d_; ++k) {
      hessian_[k * d_ + k] += 1.0;
      p_[k] = -g_[k];
    }
    const int d = static_cast<int>(d_), one = 1;
    int info = 0;
    blas().dpotrf("L", &d, hessian_.data(), &d, &info);
    has_direction_ = info == 0;
    if (!has_direction_)
      return false;
    blas().dtrsv("L", "N", "N", &d, hessian_.data(), &d, p_.data(), &one);
    blas().dtrsv("L", "T", "N", &d, hessian_.data(), &d, p_.data(), &one);
    rows_.scores(0, df_.size(), p_.data(), df_.data());
    return true;
  }

  /// By which p changes a residual at most.
  double largest_move() const {
    double largest = 0;
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      largest = std::max(largest, std::abs(df_[better(p)] - df_[worse(p)]));
    return largest;
  }

  /// H += X_q' (L_q X_q).
  void add_query(std::size_t q, std::span<const std::uint32_t> band, double h) {
    const std::size_t first = pairs_.first_row[q], n = pairs_.first_row[q + 1] - first;
    x_.assign(n * d_, 0.0);
    lx_.assign(n * d_, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::int32_t row = static_cast<std::int32_t>(first + i);
      const double one = 1.0;
      rows_.add({&row, 1}, &one, x_.data() + i * d_);
    }
    for (const std::uint32_t p : band) {
      const double scale = upper_[p] / h;
      const std::size_t a = (better(p) - first) * d_, b = (worse(p) - first) * d_;
      for (std::size_t k = 0; k < d_; ++k) {
        const double change = scale * (x_[a + k] - x_[b + k]);
        lx_[a + k] += change;
        lx_[b + k] -= change;
      }
    }
    const int d = static_cast<int>(d_), rows = static_cast<int>(n);
    const double one = 1.0;
    blas().dgemm("N", "T", &d, &d, &rows, &one, x_.data(), &d, lx_.data(), &d, &one,
                 hessian_.data(), &d);
  }

  /// Goes to where the objective is least along p, nearly. False where it no longer falls.
  bool step(double h) {
    const double along = dot(w_, p_), length = dot(p_, p_), at_start = dot(g_, p_);
    if (!(at_start < 0))
      return false;
    double low = 0, high = infinity, s = 1;
    for (int k = 0; k < max_line_steps; ++k) {
      const auto [slope, curvature] = along_line(s, h, along, length);
      if (std::abs(slope) <= line_accuracy * -at_start)
        break;
      (slope < 0 ? low : high) = s;
      s -= slope / curvature;
      if (!(s > low && s < high))
        s = high == infinity ? 2 * low : low == 0 ? high / cut : (low + high) / 2;
    }
    for (std::size_t k = 0; k < d_; ++k)
      w_[k] += s * p_[k];
    rows_.scores(0, f_.size(), w_.data(), f_.data());
    return true;
  }

  std::pair<double, double> along_line(double s, double h, double along, double length) const {
    double slope = along + s * length, curvature = length;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const double de = df_[better(p)] - df_[worse(p)];
      const double e = residual(p) + s * de;
      if (e >= 0)
        continue;
      const double share = e > -h ? -e / h : 1.0;
      slope -= upper_[p] * share * de;
      if (e > -h)
        curvature += upper_[p] / h * de * de;
    }
    return {slope, curvature};
  }

  double largest_distance() {
    double largest = 0;
    std::vector<double> block;
    for (std::size_t q = 0; q < pairs_.n_queries(); ++q) {
      const std::size_t first = pairs_.first_row[q], n = pairs_.first_row[q + 1] - first;
      block.resize(n * n);
      rows_.block(first, n, block.data());
      for (std::size_t p = pairs_.first_pair[q]; p < pairs_.first_pair[q + 1]; ++p) {
        const std::size_t a = better(p) - first, b = worse(p) - first;
        largest = std::max(largest, block[a * n + a] + block[b * n + b] - 2 * block[a * n + b]);
      }
    }
    return std::sqrt(largest);
  }

  const ScoreSpace& rows_;
  const RankPairs& pairs_;
  std::span<const double> upper_;
  std::size_t d_;
  std::vector<double> w_, g_, p_;
  std::vector<double> f_, df_, alpha_;
  std::vector<std::int32_t> all_;
  std::vector<std::uint32_t> band_;
  std::vector<double> hessian_, x_, lx_;
  bool has_direction_ = false;
};

} // namespace

PairResult solve_pairs_by_newton(const ScoreSpace& rows, const RankPairs& pairs,
                                 std::span<const double> upper, const Limits& limits) {
  Watch watch(limits.time_limit, limits.wants_stop);
  return Newton(rows, pairs, upper).run(limits, watch);
}

} // namespace alphapath
