// Whether bounds on margins would pay, tried out on a few rows.
//
// References for all rows cost about three passes over the data. Where w jumps to and fro nothing
// can be proven with them, so a sample of the rows gets its references first, and the share of it
// that is proven at the next w is that of all rows.
#pragma once

#include "primal/sums/loss_sums.hpp"
#include "primal/sums/margin_bounds.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace alphapath {

class BoundsProbe {
public:
  explicit BoundsProbe(const MarginTask& task);

  std::size_t size() const { return ids_.size(); }
  MarginBounds& bounds() { return bounds_; }

  /// References for the sample at (w, b), to which its bounds have been moved.
  void take_references(const double* w, double b);
  /// The share of the sample that is not proven where its bounds are now.
  double share_unproven();

private:
  static std::vector<std::int32_t> choose_rows(std::size_t n);

  const MarginTask& task_;
  std::vector<std::int32_t> ids_;
  std::unique_ptr<MarginRows> rows_; // a copy of them
  MarginBounds bounds_;
  std::vector<double> dots_, along_, across_;
};

/// The reference of row i of `bounds`, which lies on the segment `now` of the loss with margin m.
void set_reference(MarginBounds& bounds, std::size_t i, const MarginLoss& loss, Segment now,
                   double m, double y);

} // namespace alphapath
