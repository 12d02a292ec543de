#include "problem/solution.hpp"

namespace alphapath {

namespace {

// A violation of so many tolerances is what moving to the ends of boxes may leave.
constexpr double max_left = 10;

} // namespace

void admit_rounding(double tol, SolveResult& result) {
  Quality& quality = result.quality;
  const bool is_solved = result.status == Status::solved || result.status == Status::stationary;
  if (is_solved && (quality.rounding > tol || quality.violation > max_left * tol))
    result.status = Status::stalled;
  if (quality.rounding > tol)
    quality.violation += result.hidden = 2 * quality.rounding; // of two slopes
}

} // namespace alphapath
