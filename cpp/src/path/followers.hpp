// Everybody else along a recorded part of a walk.
//
// A recorded path must be optimal at every breakpoint, and a score needs every change of sign. So
// the residuals of all instances are computed at some points of the part, in one product, and
// between two of them bounded: with d the difference of the betas from their chord,
//   |e_i - chord of e_i| <= |x_i - x_r| sqrt(d'K d)   for any r that stays on the margin,
// and d'K d = sum_j d_j (e_j - chord of e_j) over the few j that came or went, because for all
// others one factor is 0. The few instances that this leaves open are computed at every point.
#pragma once

#include "base/buffer.hpp"
#include "path/record.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

/// Residuals of those that a recorded part follows, at the start of each of its pieces.
class FollowedResiduals {
public:
  void begin(std::size_t width) {
    width_ = width;
    values_.clear();
  }
  void add(const double* e, std::size_t n) {
    values_.resize(values_.size() + width_, 0.0);
    std::copy_n(e, n, values_.end() - static_cast<std::ptrdiff_t>(width_));
  }
  /// Whoever is followed at `place` from now on was on the margin before.
  void set_before(std::size_t place, double margin) {
    for (std::size_t at = place; at < values_.size(); at += width_)
      values_[at] = margin;
  }
  /// Of the piece `piece` of the part.
  const double* at(std::size_t piece) const { return values_.data() + piece * width_; }

private:
  std::size_t width_ = 0;
  std::vector<double> values_;
};

/// The points between the pieces of a part: 0 where it began, the last where it ended. At point k
/// the residual of any instance i is
///   e_i + time[k] (h_i + return_i) + shift[k] + sum_u by[k][u] K(who[u], i)
/// with e, h and the returned targets those of the start.
struct PartMoves {
  std::vector<std::uint32_t> who; // those that came or went, then those that stayed on the margin
  std::size_t n_changed = 0;      // of the former
  std::vector<double> time, shift;
  std::vector<double> by; // who.size() values a point
  std::vector<double> e;  // residuals of those that came or went, n_changed values a point

  void clear() {
    who.clear();
    time.clear();
    shift.clear();
    e.clear();
  }
  std::size_t n_points() const { return time.size(); }
  const double* by_at(std::size_t point) const { return by.data() + point * who.size(); }
  const double* e_at(std::size_t point) const { return e.data() + point * n_changed; }
};

/// The squared length, in feature space, of what betas differ by from their chord between points a
/// and b, at most. `floor`: the rounding of a residual.
double squared_sag(const PartMoves& moves, std::size_t a, std::size_t b, double floor);

/// Where the residuals of all others have to stay for nothing to happen: in their intervals, and on
/// the side (+-1 of rows with a score, else 0) of their sign; and how far they are, in feature
/// space, from somebody who stays on the margin.
struct FarRows {
  AlignedVector<double> lo, hi, side, distance;
  double rounding;                 // of a residual
  std::vector<std::uint32_t> copy; // which of the kernel rows that were copied is theirs
  std::uint32_t n_copied = 0;
};
/// Those of each piece of a part.
using Passages = std::vector<std::vector<CurveSums::Passage>>;

/// Memory kept from one part to the next.
struct FollowerMemory {
  AlignedVector<double> panel;
  std::vector<double> open_rows;
  PartMoves moves;
};

class PathWalker;

/// Everybody who is not near, along one part.
class Followers {
public:
  /// `is_near`: those who left their interval are added to them.
  Followers(PathWalker& all, std::vector<std::int8_t>& is_near, FollowerMemory& memory)
      : all_(all), is_near_(is_near), memory_(memory) {}

  /// Whether no instance left its interval on a part that was recorded from `begin` on. If so,
  /// `far_e` are the residuals at its end, rates are those towards it, and scores are summed along
  /// it.
  bool follow(const PathWalker& part, const PieceCounts& begin, AlignedVector<double>& far_e);

private:
  void list_movers(const PieceCounts& begin, PartMoves& moves) const;
  void list_moves(const PathWalker& part, const PieceCounts& begin, PartMoves& moves) const;
  void multiply_moves(const PartMoves& moves, std::span<const std::size_t> points,
                      double* out) const;
  FarRows describe_far(const PartMoves& moves) const;
  void set_far_interval(std::size_t i, FarRows& far) const;
  bool look_at_far(std::size_t i, std::size_t a, std::span<const double> e, double floor,
                   FarRows& far, Passages& passages);
  std::vector<const double*> copy_rows(const PartMoves& moves,
                                       std::span<const std::uint32_t> instances, FarRows& far);
  bool look_between(const PartMoves& moves, std::size_t a, std::size_t b, const double* e_a,
                    const double* e_b, FarRows& far, Passages& passages);

  PathWalker& all_;
  std::vector<std::int8_t>& is_near_;
  FollowerMemory& memory_;
};

} // namespace alphapath
