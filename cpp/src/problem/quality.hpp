// The quality of a point of the box: the quantities a Solution reports, from beta and its gradient.
//
// The same formulas as alphapath/optimality.py, which the certificate uses; the tests hold the two
// against each other.
#pragma once

#include "problem/box_problem.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace alphapath {

/// Extreme slopes over all instances that may move. Optimal within tol when
/// max_down - min_up <= tol.
struct SlopeRange {
  double min_up, max_down;
  double violation() const { return max_down - min_up; }
  double middle() const;
};

SlopeRange slope_range(const BoxProblem& problem, std::span<const double> beta,
                       std::span<const double> gradient);

/// The bias that goes with a gradient known up to a constant: minus the mean slope of the free
/// instances, or LIBSVM's rule, minus the middle of what the bounded ones allow, where none is
/// free.
double find_bias(const BoxProblem& problem, std::span<const double> beta,
                 std::span<const double> gradient);

/// The quantities that a Solution reports.
struct Quality {
  double bias = 0;
  double objective = 0;
  double gap = 0;       // primal minus dual for this beta and this bias
  double violation = 0; // of the optimality conditions: LIBSVM's stopping quantity
  double rounding = 0;  // of the slopes, which may hide as much of the violation
  double n_free = 0;    // instances strictly inside their boxes (and off the kink)
};

/// `gradient` is (K + D) beta - r with the offsets of the kernel included.
Quality measure_quality(const BoxProblem& problem, std::span<const double> beta,
                        std::span<const double> gradient, bool has_equality);

/// How far slopes may be off because kernel values and sums are doubles, as they differ from one
/// instance to another (with the equality) or as they are: as if every value were the largest.
double slope_rounding(const KernelRows& kernel, std::span<const double> beta, bool has_equality);

/// A beta and the ends of its box.
struct Boxed {
  double beta, lower, upper;
};

/// Which betas only rounding keeps off an end of their box or 0 (the kink, where there is a tube).
/// One instance that seems free would set the bias, where all are bounded and the bias is the
/// middle of an interval. Rounding is relative to the present betas, not to their boxes: in
/// boxes that are never felt (a huge C, rows of huge norm) betas are small beside the width.
class BoxRounding {
public:
  /// `at(i)` is the Boxed beta of instance i, for all i < n.
  template <class At> BoxRounding(std::size_t n, const At& at) {
    for (std::size_t i = 0; i < n; ++i)
      largest_ = std::max(largest_, std::abs(at(i).beta));
    bool has_free = false, has_bounded = false;
    share_ = share_of_all;
    for (std::size_t i = 0; i < n && !has_free; ++i) {
      const Boxed b = at(i);
      const double end = snap(b);
      has_free = end != b.lower && end != b.upper && end != 0;
      has_bounded |= end != 0 && (end == b.lower || end == b.upper);
    }
    if (has_free || !has_bounded)
      share_ = share_of_one;
  }

  /// The beta in its box, and on an end or at 0 where only rounding keeps it off.
  double snap(const Boxed& b) const {
    const double width = b.upper - b.lower;
    const double margin = std::isinf(width) ? 0.0 : share_ * std::min(width, largest_);
    if (b.beta <= b.lower + margin)
      return b.lower;
    return b.beta >= b.upper - margin ? b.upper : std::abs(b.beta) <= margin ? 0.0 : b.beta;
  }

private:
  // Of the width of the box, or of the largest |beta| where that is less. The second holds where no
  // beta is further inside and some are at an end that is not 0: then their sum leaves them no
  // choice but the ends, and what rounding of many betas adds up to is larger.
  static constexpr double share_of_one = 1e-13, share_of_all = 1e-11;
  double largest_ = 0, share_ = share_of_one;
};

/// Unscaled a and its s on all instances; D = ridge_factor * ridge.
struct GapPoint {
  std::span<const double> a, s;
  double rho;
  double ridge_factor = 1;
};

/// The feasibility gap of the one-class model with squared slacks, by its definition.
///
///   minimise over w, xi   1/2 |w|^2 + 1/2 sum xi_i^2 / D_ii     subject to  w'phi_i >= 1 - xi_i
///
/// For beta = a / rho, w = sum beta_i phi_i and s = (K + D) a:
///   xi_i   = max(0, 1 - (s_i - D_ii a_i) / rho)
///   primal = 1/2 (a's - a'D a) / rho^2 + 1/2 sum xi_i^2 / D_ii
///   dual   = sum(a) / rho - 1/2 a's / rho^2
/// and the gap is (primal - dual) / (primal + 1). (Equation 5 and line C of algorithm 2 of the
/// paper disagree with each other and with this.)
///
/// Instances with upper = 0 are held out. Infinite where rho <= 0, or where an instance without a
/// ridge lies inside the margin.
double feasibility_gap(const BoxProblem& problem, const GapPoint& point);

} // namespace alphapath
