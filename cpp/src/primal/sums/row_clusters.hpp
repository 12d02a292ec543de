// Per-cluster bounds on the change in the margin (section 5 of Guillory and Bilmes).
//
// Each row belongs to the nearest of a few centres. Where w goes aside by a, the margin of the row
// changes by c'a, which is known once for the centre c, and by at most |x - c| times the length of
// the way: less than |x| times it where rows are close to their centres.
#pragma once

#include "base/buffer.hpp"
#include "primal/margin_rows.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace alphapath {

class RowClusters {
public:
  /// Centres by k-means on a sample of the rows. Nothing is random.
  explicit RowClusters(const MarginRows& rows);

  /// |x_i - c| of its own centre, rounded up.
  double radius(const MarginRows& rows, std::size_t i, double norm) const;
  /// The longest centre.
  double longest() const { return longest_; }

  /// w goes by `step`, of which `ahead` along v and `sideways` along u are not aside.
  void move_by(const std::vector<double>& step, double ahead, double sideways);
  /// Other v and u; restarts.
  void set_plane(const std::vector<double>& v, const std::vector<double>& u);
  /// The way aside restarts.
  void reset() { moves_.fill(0.0); }

  /// c'a of the centre of row i.
  double move_of(std::size_t i) const { return moves_[own_[i]]; }
  /// Of each row (padded as all arrays of bounds), and c'a of each centre.
  const std::uint8_t* own() const { return own_.data(); }
  std::array<float, simd::n_centres> moves() const;

private:
  static constexpr std::size_t count = simd::n_centres;

  const double* centre(std::size_t k) const { return centres_.data() + k * d_; }
  void take_nearest(const MarginRows& rows, const RowList& list, std::uint8_t* out) const;
  void arrange();

  std::size_t d_;
  std::vector<double> centres_;    // one after the other
  AlignedVector<double> together_; // the same as dots_together takes them
  std::array<double, count> squares_{}, moves_{}, ahead_{}, sideways_{}; // |c|^2, c'a, c'v, c'u
  Buffer<std::uint8_t> own_;
  double longest_ = 0.0;
};

} // namespace alphapath
