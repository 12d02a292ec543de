// The rates of betas that are not on the margin, and h = K rates; and of those on the margin.
#pragma once

#include "base/buffer.hpp"
#include "kernel/kernel_rows.hpp"
#include "simd/path_loops.hpp"

#include <cstddef>
#include <vector>

namespace alphapath {

/// One value an instance, whose vectors are as wide as kernel rows.
class Rates {
public:
  /// Nobody moves.
  void clear();
  /// Takes note of a rate; returns what it adds to the present one, which is still to go into h.
  double count(std::size_t i, double to);
  void add(const KernelRows& kernel, std::size_t i, double change);
  /// If no instance moves, h is 0 exactly, not to rounding. Returns whether that is so.
  bool stand_still();
  /// h = K rates; kept up to date by `add`, whose rounding adds up.
  void multiply(const KernelRows& kernel);
  /// Whether h should be computed again: the rounding of large rates that are gone would move all
  /// instances along small ones that are left.
  bool is_worn() const;
  /// Keeps these for `scale`, and forgets what is kept.
  void keep();
  void forget() { last_h_.clear(); }
  /// h from that of the rates kept, where most are exactly one multiple of what they were then:
  /// weights that are doubled again and again. False where K rates is to be computed.
  bool scale(const KernelRows& kernel);

  AlignedVector<double> rate, h;
  std::size_t n_moving = 0; // rates that are not 0
  double size = 0;          // sum of |rates|
  double largest_size = 0;  // that `size` was since h was computed

private:
  AlignedVector<double> last_rate_, last_h_;
};

/// Where betas on the margin and the bias go, and what meets the end of its interval first.
struct Direction {
  std::vector<double> beta; // of the members
  double bias = 0;
  double size = 0; // sum of |rates| of all betas
  double noise = 0, beta_noise = 0, residual_noise = 0;
  simd::Crossing crossing{};
};

} // namespace alphapath
