// Passes over a solver's state in double: what is done once or twice a solve, for all instances.
#pragma once

#include "simd/dual/smo_loops.hpp"

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

/// A point in its box, with its gradient, n values each.
struct Point {
  const double *beta, *gradient, *lower, *upper;
  std::size_t n;
  double epsilon;
};

struct SumAndSize {
  double sum, size; // of x and of |x|
};

/// Least slope of those that may rise and greatest of those that may fall.
struct SlopeExtremes {
  double min_up, max_down;
};

struct PointSums {
  SlopeExtremes slopes;
  double free_sum, n_free; // of the slopes of free instances
  double objective;
};

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  SumAndSize sum_and_size(const double* x, std::size_t n);                                         \
  double inner_product(const double* x, const double* y, std::size_t n);                           \
  SlopeExtremes extreme_slopes(const Point& point);                                                \
  /* Where x differs from y, ascending, and by how much; room for n each. Returns how many. */     \
  std::size_t list_changes(const double* x, const double* y, std::size_t n, std::size_t* at,       \
                           double* change);                                                        \
  /* Which of `members` are off their bounds (and off the kink); room for all. */                  \
  std::size_t list_free(const Point& point, const std::uint32_t* members, std::size_t n_members,   \
                        std::uint32_t* out);                                                       \
  /* What SMO iterates on: the members' gradients less `middle`, and how they may move. */         \
  template <class T>                                                                               \
  void load_members(const Point& point, const std::uint32_t* members, std::size_t n_members,       \
                    double middle, T* g, Marks* marks);                                            \
  PointSums sum_point(const Point& point, const double* targets);                                  \
  /* Primal minus dual objective, for instances without a ridge. */                                \
  double sum_gaps(const Point& point, double bias);                                                \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
