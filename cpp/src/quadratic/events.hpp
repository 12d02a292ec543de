// Event equations of the lambda path and their roots by rational bracketing.
//
// A slack along x = lambda_0 - lambda (of either sign) is, with poles D_k > x,
//
//   s(x) = s_0 + x (e + sign sum_k w_k / (D_k - x)),      s(0) = s_0 >= 0.
//
// Terms with sign w_k > 0 are convex in x, the others concave. Around a point x_1 with s(x_1) >= 0
// s is bounded from below by the tangent of the linear and the convex part minus r + c/(delta - x)
// through value and slope of the rest, delta being the least pole of the rest. (Two such functions
// with a common tangent meet nowhere else, so the bound holds on all of the way.) Its first zero is
// the root of one quadratic, for all four types of events; iterating gives a monotone,
// quadratically convergent sequence that cannot pass the first root of s: equations (5.18)-(5.24),
// with a tangent in place of the lower rational bound, and both directions of lambda.
//
// Where s_0 = 0 (a tied instance, or the one that has just moved) the root at 0 is divided out:
// direction (e + sign sum_k w_k / (D_k - x)) is bracketed in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

/// Zeros of s_i + x (e_i + sum_k W_ik / (D_k - x)) for x between 0 and `end` (of either sign), all
/// of them, row by row: the places where decision values change their sign.
struct Crossing {
  std::int32_t row;
  double x;
};
struct RationalRows {
  std::span<const double> s, e; // one value a row
  std::span<const double> W;    // one column of s.size() values for each pole
  std::span<const double> poles;
};
std::vector<Crossing> find_crossings(const RationalRows& rows, double end);

namespace quadratic {

/// Row i of the pole coefficients: W[i + k * ld].
struct PoleRows {
  const double* W = nullptr;
  std::size_t ld = 0;
  std::span<const double> poles;
};

struct Equation {
  std::size_t row; // of PoleRows
  double s0, e, sign;
  bool is_tied;
};

/// What the bracketing needs to know at a point: value, slope of the tangent part, slope of the
/// rest (>= 0, its sign taken off), and the least pole of the rest.
struct Local {
  double value, gain, loss, delta;
};

/// The local data of an equation at x, in double from the sums over all poles.
Local evaluate(const PoleRows& rows, const Equation& equation, double x, double direction);

/// Distance t >= 0 from x to the first zero of the bound, going in `direction` (+1, -1); infinity
/// where the bound has none.
double bracket(const Local& local, double x, double direction);

/// The first event on the way from 0 to `length`.
struct FirstEvent {
  std::size_t equation = 0; // position in the list
  double t = 0;             // length where there is none
  bool is_found = false;
  std::int64_t n_iterations = 0;
};

class EventSearch {
public:
  /// Best first: the equation with the least bound is refined until it is that event. Without the
  /// cutoff each equation is solved to the end (the same answer; for counting).
  FirstEvent find(const PoleRows& rows, std::span<const Equation> equations, std::size_t n_rows,
                  double length, double direction, bool has_cutoff);

private:
  Local local_at_start(const Equation& equation) const;

  std::vector<double> positive_, negative_, least_positive_, least_negative_, bound_;
};

} // namespace quadratic

} // namespace alphapath
