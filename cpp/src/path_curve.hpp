// The exact 0-1 error along a path, from values that are affine on each of its pieces.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace alphapath {

/// On piece k, row j has f(t) = residual[k][j] + target[j] + (t - starts[k]) rate[k][j].
struct PieceValues {
  std::span<const double> starts, ends;   // one a piece
  std::span<const double> residual, rate; // a row of targets.size() values a piece
  std::span<const double> targets;
};

/// A function of t that is value[k] from where[k] on; several steps may be at one place, and the
/// last of them stands.
struct Steps {
  std::vector<double> where, value;
};

/// The sum of shares[j] over all rows whose sign of f (0 counts as +, but a row that begins a piece
/// at 0 is judged by where it goes) is not that of its target.
Steps sum_errors(const PieceValues& values, std::span<const double> shares);

} // namespace alphapath
