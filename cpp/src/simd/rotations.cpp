#include "simd/rotations.hpp"

#include <cmath>

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

// A rotation waits for the one before it, so several columns are taken at a time.
constexpr std::size_t n_lanes = 8;

/// Columns c + 1, ... of the old factor become columns c, ... of the new one.
struct Columns {
  const double* from[n_lanes];
  double* to[n_lanes];
  double carry[n_lanes]; // the entry that the next rotation takes with it

  Columns(double* u, std::size_t ld, std::size_t c, std::size_t width) {
    for (std::size_t l = 0; l < width; ++l) {
      from[l] = u + (c + 1 + l) * ld;
      to[l] = u + (c + l) * ld;
    }
  }

  void rotate(std::size_t l, std::size_t k, double cosine, double sine) {
    const double next = from[l][k + 1];
    to[l][k] = cosine * carry[l] + sine * next;
    carry[l] = cosine * next - sine * carry[l];
  }
};

} // namespace

void remove_from_factor(double* u, std::size_t ld, std::size_t m, std::size_t p, double* cosines,
                        double* sines) {
  for (std::size_t c = p; c + 1 < m; c += n_lanes) {
    const std::size_t width = m - 1 - c < n_lanes ? m - 1 - c : n_lanes;
    Columns columns(u, ld, c, width);
    // Lane by lane: what a lane writes, the lane before it has read.
    for (std::size_t l = 0; l < width; ++l) {
      __builtin_memcpy(columns.to[l], columns.from[l], p * sizeof(double));
      columns.carry[l] = columns.from[l][p];
    }
    if (width == n_lanes)
      for (std::size_t k = p; k < c; ++k)
        for (std::size_t l = 0; l < n_lanes; ++l)
          columns.rotate(l, k, cosines[k], sines[k]);
    else
      for (std::size_t k = p; k < c; ++k)
        for (std::size_t l = 0; l < width; ++l)
          columns.rotate(l, k, cosines[k], sines[k]);
    for (std::size_t l = 0; l < width; ++l) {
      const std::size_t last = c + l;
      for (std::size_t k = c; k < last; ++k)
        columns.rotate(l, k, cosines[k], sines[k]);
      const double below = columns.from[l][last + 1];
      const double root = std::sqrt(columns.carry[l] * columns.carry[l] + below * below);
      cosines[last] = columns.carry[l] / root;
      sines[last] = below / root;
      columns.to[l][last] = root;
    }
  }
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
