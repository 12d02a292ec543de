// Sums of kernel rows in double.
#pragma once

#include <cstddef>

namespace alphapath::simd {

/// Rows taken in one pass over the output.
inline constexpr std::size_t max_rows_at_once = 8;

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* out[j] += sum_r coef[r] rows[r][j] for j < n; 1 <= n_rows <= max_rows_at_once. */             \
  void add_rows_f32(const float* const* rows, const double* coef, std::size_t n_rows,              \
                    std::size_t n, double* out);                                                   \
  void add_rows_f64(const double* const* rows, const double* coef, std::size_t n_rows,             \
                    std::size_t n, double* out);                                                   \
  /* sum_j (row[j] + (own + offsets[j])) beta[j] for j < n, a multiple of 16. The order of the */  \
  /* sum depends on n alone: equal rows have the same sum, wherever they are. */                   \
  double dot_true_f32(const float* row, const double* offsets, double own, const double* beta,     \
                      std::size_t n);                                                              \
  double dot_true_f64(const double* row, const double* offsets, double own, const double* beta,    \
                      std::size_t n);                                                              \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
