// Newton on the primal, which is piecewise quadratic with a continuous gradient,
//
//   P(b) = b' Q b / (2 lambda) + sum_i psi_i(z_i),  z = r - Q b / lambda,
//   psi_i(z) = z^2/2 on [0, u_i], 0 below, linear above;   its minimiser satisfies b = clip(z, 0,
//   u):
//
//   repeat  sets from z (the first time from the guess): zero, bound, free
//           b_zero = 0, b_bound = u, (Q_FF + lambda I) b_free = lambda r - Q_F,bound u
//           the full step, or the exact minimiser on the segment where that would climb
//
// Everything is kept as a difference from the last b, so that a further step refines the solution.
// Finitely many steps: P falls, and each set of pieces has one minimiser (Keerthi and DeCoste
// 2005).
#include "quadratic/newton.hpp"

#include "base/blas.hpp"
#include "base/buffer.hpp"
#include "base/dispatch.hpp"
#include "base/interrupt.hpp"
#include "simd/row_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace alphapath {

namespace quadratic {

void add_scaled_rows(const QuadraticView& problem, std::span<const std::size_t> rows,
                     std::span<const double> coefficients, std::span<double> out) {
  const double* pointers[simd::max_rows_at_once];
  for (std::size_t first = 0; first < rows.size(); first += simd::max_rows_at_once) {
    const std::size_t count = std::min(simd::max_rows_at_once, rows.size() - first);
    for (std::size_t k = 0; k < count; ++k)
      pointers[k] = problem.row(rows[first + k]);
    add_rows<double>(pointers, coefficients.data() + first, count, problem.size(), out.data());
  }
}

namespace {

/// Of the size of a box: what sums that lead to its end may miss it by.
constexpr double end_rounding = 8 * std::numeric_limits<double>::epsilon();

/// Steps after which an answer that is optimal but for a few ends of boxes is taken as it is.
constexpr int most_late = 20;
/// Steps from products of their own that may fail to halve the violation.
constexpr int most_vain = 3;

class Newton {
public:
  Newton(const QuadraticView& problem, double lambda)
      : p_(problem), n_(problem.size()), lambda_(lambda), b_(n_, 0.0), q_(n_, 0.0), step_(n_),
        q_step_(n_), sides_(n_) {}

  QuadraticSolution run(std::span<const double> guess, const NewtonOptions& options) {
    Watch watch(0, options.wants_stop);
    begin(guess);
    QuadraticSolution result;
    double violation = measure(), last_violation = violation;
    double least = std::numeric_limits<double>::infinity();
    int n_vain = 0;
    int n_late = 0;
    for (int k = 0; k < options.max_iter; ++k) {
      if (watch.should_stop()) {
        result.is_interrupted = true;
        break;
      }
      if (k > 0) {
        // Optimal (sets that rounding keeps changing then do not matter); or settled sets, where
        // refining no longer helps.
        const bool is_new = choose_sides(), is_near = violation <= options.tol;
        n_late += is_near;
        if ((is_near && measure_slopes() <= options.tol) ||
            (!is_new && violation > 0.5 * last_violation) || n_late > most_late) {
          // The steps' own products have drifted where kernel values are large: what is returned is
          // judged by a product of its own, and goes on from there while that helps.
          put_on_bounds();
          refresh();
          const double fresh = measure_slopes();
          n_vain = fresh < 0.5 * least ? 0 : n_vain + 1;
          if (fresh < least) {
            least = fresh;
            best_ = b_;
          }
          if (fresh <= std::max(options.tol, 8 * rounding()) || n_vain == most_vain)
            break;
          violation = measure();
          choose_sides();
        }
      }
      last_violation = violation;
      if (!make_step()) {
        result.is_convex = false;
        break;
      }
      ++result.n_iter;
      // The first step only completes the guess; from then on P must fall.
      take(k == 0 ? 1.0 : choose_length());
      violation = measure();
    }
    result.violation = conclude(least);
    result.is_solved = result.violation <= options.tol;
    result.a = std::move(b_);
    result.q = std::move(q_);
    return result;
  }

private:
  double clipped(std::size_t i, double z) const { return std::clamp(z, 0.0, p_.upper[i]); }
  double z_of(std::size_t i, double q) const { return p_.targets[i] - q / lambda_; }

  void begin(std::span<const double> guess) {
    const bool is_finite = std::isfinite(std::accumulate(guess.begin(), guess.end(), 0.0));
    if (!is_finite || std::all_of(guess.begin(), guess.end(), [](double a) { return a == 0; }))
      return void(choose_sides());
    std::vector<std::size_t> rows;
    std::vector<double> values;
    for (std::size_t i = 0; i < n_; ++i) {
      b_[i] = clipped(i, guess[i]);
      // Bounds are met exactly by whoever set them, so equality is the right test.
      sides_[i] = b_[i] == 0 ? Side::zero : b_[i] == p_.upper[i] ? Side::bound : Side::free;
      if (b_[i] != 0) {
        rows.push_back(i);
        values.push_back(b_[i]);
      }
    }
    add_scaled_rows(p_, rows, values, q_);
  }

  /// Into the box, and onto the end of it that z is beyond where only rounding is between.
  void put_on_bounds() {
    for (std::size_t i = 0; i < n_; ++i) {
      const double inside = clipped(i, b_[i]), goal = clipped(i, z_of(i, q_[i]));
      const bool is_end = goal == 0 || goal == p_.upper[i];
      const double size = std::min(p_.upper[i], p_.targets[i]);
      const double b = is_end && std::abs(inside - goal) <= end_rounding * size ? goal : inside;
      is_fresh_ &= b == b_[i];
      b_[i] = b;
    }
  }

  /// The better of the present b and the best one that was judged before; its violation.
  double conclude(double least) {
    put_on_bounds();
    if (!is_fresh_)
      refresh();
    const double violation = measure_slopes();
    const bool is_finite = std::isfinite(std::accumulate(q_.begin(), q_.end(), 0.0));
    if (is_finite && !(least < violation))
      return violation;
    b_ = std::isfinite(least) ? best_ : std::vector<double>(n_, 0.0);
    refresh();
    return measure_slopes();
  }

  /// What q_i / lambda may be off by rounding: |Q_ij| is at most sqrt(Q_ii Q_jj).
  double rounding() const {
    double largest = 0, sum = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double root = std::sqrt(std::abs(p_.row(i)[i]));
      largest = std::max(largest, root);
      sum += root * b_[i];
    }
    return std::numeric_limits<double>::epsilon() / 2 * largest * sum / lambda_;
  }

  /// q = Q b from scratch.
  void refresh() {
    rows_.clear();
    values_.clear();
    for (std::size_t i = 0; i < n_; ++i)
      if (b_[i] != 0) {
        rows_.push_back(i);
        values_.push_back(b_[i]);
      }
    std::fill(q_.begin(), q_.end(), 0.0);
    add_scaled_rows(p_, rows_, values_, q_);
    is_fresh_ = true;
  }

  /// The largest |b_i - clip(z_i)|.
  double measure() const {
    double worst = 0;
    for (std::size_t i = 0; i < n_; ++i)
      worst = std::max(worst, std::abs(b_[i] - clipped(i, z_of(i, q_[i]))));
    return worst;
  }

  /// The largest |b_i - z_i| that i may follow: up from 0, down from u, or both ways. Of a b that
  /// is not quite on its end this says more than the distance above, and it is what solutions are
  /// judged by.
  double measure_slopes() const {
    double worst = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double pull = z_of(i, q_[i]) - b_[i];
      if (pull > 0 ? b_[i] < p_.upper[i] : b_[i] > 0)
        worst = std::max(worst, std::abs(pull));
    }
    return worst;
  }

  /// Sets from z; whether any changed. After a full step z is b on the free set, and b the more
  /// exact of the two.
  bool choose_sides() {
    bool has_changed = false;
    for (std::size_t i = 0; i < n_; ++i) {
      const double z = is_full_ && sides_[i] == Side::free ? b_[i] : z_of(i, q_[i]);
      const Side side = z <= 0 ? Side::zero : z >= p_.upper[i] ? Side::bound : Side::free;
      has_changed |= side != sides_[i];
      sides_[i] = side;
    }
    return has_changed;
  }

  /// step_ and q_step_ = Q step_ to the minimiser of the pieces of sides_; false where Q + lambda I
  /// is not positive definite on the free set.
  bool make_step() {
    rows_.clear();
    values_.clear();
    free_.clear();
    std::fill(step_.begin(), step_.end(), 0.0);
    std::fill(q_step_.begin(), q_step_.end(), 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
      if (sides_[i] == Side::free) {
        free_.push_back(i);
        continue;
      }
      step_[i] = (sides_[i] == Side::zero ? 0.0 : p_.upper[i]) - b_[i];
      if (step_[i] != 0) {
        rows_.push_back(i);
        values_.push_back(step_[i]);
      }
    }
    add_scaled_rows(p_, rows_, values_, q_step_);
    n_free_ = free_.size();
    return n_free_ == 0 || solve_free();
  }

  bool solve_free() {
    const int m = static_cast<int>(n_free_), one = 1;
    if (block_.size() < n_free_ * n_free_)
      block_ = Buffer<double>(std::min(n_ * n_, n_free_ * n_free_ * 3 / 2));
    rhs_.resize(n_free_);
    for (std::size_t j = 0; j < n_free_; ++j) {
      const double* row = p_.row(free_[j]);
      double* column = block_.data() + j * n_free_;
      for (std::size_t i = j; i < n_free_; ++i)
        column[i] = row[free_[i]];
      column[j] += lambda_;
      const std::size_t f = free_[j];
      rhs_[j] = lambda_ * (p_.targets[f] - b_[f]) - q_[f] - q_step_[f];
    }
    int info = 0;
    blas().dpotrf("L", &m, block_.data(), &m, &info);
    if (info != 0)
      return false;
    blas().dtrsv("L", "N", "N", &m, block_.data(), &m, rhs_.data(), &one);
    blas().dtrsv("L", "T", "N", &m, block_.data(), &m, rhs_.data(), &one);
    for (std::size_t j = 0; j < n_free_; ++j)
      step_[free_[j]] = rhs_[j];
    add_scaled_rows(p_, free_, rhs_, q_step_);
    return true;
  }

  /// Derivative of P along the step at a share t of it, times lambda.
  double slope_at(double t) const {
    double sum = 0;
    for (std::size_t i = 0; i < n_; ++i)
      sum += q_step_[i] * (b_[i] + t * step_[i] - clipped(i, z_of(i, q_[i] + t * q_step_[i])));
    return sum;
  }

  double choose_length() const {
    const double at_start = slope_at(0), at_end = slope_at(1);
    if (!(at_start < 0) || at_end <= 0.9 * std::abs(at_start))
      return 1;
    double low = 0, high = 1;
    for (int k = 0; k < 40; ++k) {
      const double middle = (low + high) / 2;
      (slope_at(middle) < 0 ? low : high) = middle;
    }
    return high;
  }

  void take(double t) {
    is_fresh_ = false;
    is_full_ = t == 1;
    for (std::size_t i = 0; i < n_; ++i) {
      b_[i] += t * step_[i];
      q_[i] += t * q_step_[i];
      // Exactly on its bound, which the sum above may miss by rounding.
      if (t == 1 && sides_[i] != Side::free)
        b_[i] = sides_[i] == Side::zero ? 0 : p_.upper[i];
    }
  }

  QuadraticView p_;
  std::size_t n_, n_free_ = 0;
  bool is_full_ = false;  // the last step was taken to its end
  bool is_fresh_ = false; // q_ is Q b_ by a product of its own
  double lambda_;
  std::vector<double> b_, q_, step_, q_step_, best_;
  std::vector<Side> sides_;
  std::vector<std::size_t> free_, rows_;
  std::vector<double> values_, rhs_;
  Buffer<double> block_;
};

} // namespace

QuadraticSolution solve_newton(const QuadraticView& problem, double lambda,
                               std::span<const double> guess, const NewtonOptions& options) {
  return Newton(problem, lambda).run(guess, options);
}

} // namespace quadratic

QuadraticSolution solve_quadratic(const QuadraticProblem& problem, double lambda,
                                  std::span<const double> guess, const NewtonOptions& options) {
  const quadratic::QuadraticView view{problem.matrix(), problem.stride(), problem.targets(),
                                      problem.upper()};
  return quadratic::solve_newton(view, lambda, guess, options);
}

} // namespace alphapath
