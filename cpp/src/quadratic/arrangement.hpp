// Q with the free instances in front, and everything else in the same order.
//
// Positions 0 .. n_free - 1 hold the free instances, so that Q_FF and Q_OF (O: the others) are
// contiguous blocks for BLAS. A set change swaps two positions: O(n).
#pragma once

#include "base/buffer.hpp"
#include "quadratic/newton.hpp"
#include "quadratic/problem.hpp"

#include <vector>

namespace alphapath::quadratic {

class Arrangement {
public:
  explicit Arrangement(const QuadraticProblem& problem);

  std::size_t size() const { return who.size(); }
  std::size_t stride() const { return stride_; }
  const double* row(std::size_t position) const { return Q_.data() + position * stride_; }
  QuadraticView view() const { return {Q_.data(), stride_, targets, upper}; }

  /// A position that is not free becomes the last free one; returns its new position.
  std::size_t make_free(std::size_t position);
  /// A free position becomes the first that is not; `swapped` is where the last free one went.
  std::size_t make_fixed(std::size_t position, Side side);

  /// bound_part = Q[:, bound] u from scratch.
  void refresh_bound_part();

  std::size_t n_free = 0;
  std::vector<std::int32_t> who; // instance at a position
  std::vector<Side> side;
  std::vector<double> targets, upper, a;
  std::vector<double> bound_part; // Q[:, bound] u
  double bound_terms = 0;         // sum of |coefficient| sqrt(Q_ii) over what was added to it since
  std::vector<double> q;          // Q a, kept by the owner

private:
  void swap(std::size_t i, std::size_t j);
  void add_row(std::size_t position, double coefficient);

  std::size_t stride_;
  Buffer<double> Q_;
};

} // namespace alphapath::quadratic
