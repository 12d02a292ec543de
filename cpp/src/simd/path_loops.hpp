// The passes of a path over contiguous memory: the next crossing, and Givens rotations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

/// Residuals and the intervals they are in.
struct Intervals {
  double* e;
  const double *lo, *hi;
};

/// A rate: fixed + returned (nullptr: none) + constant + sum_k coef_k row_k.
struct RateTerms {
  const double* fixed;
  const double* returned;
  double constant;
  const double* const* rows;
  const double* coef;
  std::size_t n_rows;
};

/// Residuals at two points, and what they have to keep within between these: intervals, less `sag`
/// times a distance and `floor`.
struct Chords {
  const double *first, *last;
  const double *lo, *hi, *distance;
  double sag, floor;
};

/// The first to leave its interval, after how long and at which speed.
struct Crossing {
  double step, speed;
  std::size_t index;
};

struct PickedSums {
  double product, size;
};

#define ALPHAPATH_DECLARE_PATH_LOOPS(isa)                                                          \
  namespace isa {                                                                                  \
  /* Who first leaves its interval at rates de, of the fastest where several do; rates of at */    \
  /* most `noise` do not count, nor does a step of `limit` or more, which is returned where */     \
  /* nobody leaves before. n is a multiple of 16. */                                               \
  Crossing first_crossing(const Intervals& at, const double* de, std::size_t n, double noise,      \
                          double limit);                                                           \
  /* e += step de; then writes de from its terms, and finds the first crossing on the way. */      \
  Crossing sweep(const RateTerms& terms, double step, const Intervals& at, std::size_t n,          \
                 double noise, double limit, double* de);                                          \
  /* Whether residual + target, and that a `length` along its rate, is 0 or has the sign of */     \
  /* side (+-1; 0: never mind) for all of n rows. */                                               \
  bool keeps_sides(const double* residual, const double* rate, const double* target,               \
                   const double* side, std::size_t n, double length);                              \
  /* Lists those of n (a multiple of 16) that may leave; returns how many. */                      \
  std::size_t find_open(const Chords& chords, std::size_t n, std::uint32_t* out);                  \
  /* nearest = min(nearest, own - 2 row); n is a multiple of 16. */                                \
  void take_nearer(double own, const double* row, std::size_t n, double* nearest);                 \
  /* out[k] = values[at[k]] */                                                                     \
  void pick(const double* values, const std::uint32_t* at, std::size_t n, double* out);            \
  /* out[k * ld + r] = rows[r][at[k]] of 8 rows. */                                                \
  void pick_eight(const double* const* rows, const std::uint32_t* at, std::size_t n, double* out,  \
                  std::size_t ld);                                                                 \
  /* y += a x; n is a multiple of 16. */                                                           \
  void add_scaled(double a, const double* x, std::size_t n, double* y);                            \
  double sum_of(const double* x, std::size_t n);                                                   \
  /* max_k |values[at[k]]|; any n. */                                                              \
  double largest_picked(const double* values, const std::uint32_t* at, std::size_t n);             \
  /* sum_k values[at[k]] x_k, and sum_k |x_k|; any n. */                                           \
  PickedSums sum_picked(const double* values, const std::uint32_t* at, const double* x,            \
                        std::size_t n);                                                            \
  /* x'y + more as if in twice the precision (Ogita, Rump, Oishi); n is a multiple of 16. */       \
  double dot_twice(const double* x, const double* y, std::size_t n, double more);                  \
  /* n_columns columns, ld apart: n values after the first move up by one. */                      \
  void move_up(double* first, std::size_t ld, std::size_t n_columns, std::size_t n);               \
  /* out = c x + s v and v = c v - s x. */                                                         \
  void rotate_into(double c, double s, const double* x, double* v, double* out, std::size_t n);    \
  }
ALPHAPATH_DECLARE_PATH_LOOPS(baseline)
#if defined(ALPHAPATH_X86)
ALPHAPATH_DECLARE_PATH_LOOPS(avx2)
ALPHAPATH_DECLARE_PATH_LOOPS(avx512)
#endif
#undef ALPHAPATH_DECLARE_PATH_LOOPS

} // namespace alphapath::simd
