// Coordinate steps of the dual of a linear SVM with a margin loss; see primal/dual_descent.hpp.
#pragma once

#include "simd/primal/margin_loops.hpp"

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

/// Where a descent stands, and what a sweep over some rows found. Arrays have one entry a row.
struct DualSweep {
  RowSigns labels;
  RowWeights upper;             // c_i; 0: the row is left out
  const double* norms;          // |x_i|, without the bias
  double bias_square;           // 1 where theta ends in a bias, which is a feature of ones; else 0
  double low = 1.0, high = 1.0; // between them the loss is a parabola, below a line
  double ridge = 0.0;           // that of row i is ridge / c_i; 0 for the hinge
  bool has_top = true;          // whether alpha_i is at most c_i

  double* alpha;
  double* theta; // weights
  double* bias;
  double alpha_sum = 0.0;    // sum alpha
  double theta_square = 0.0; // |theta|^2
  double ridge_square = 0.0; // sum ridge_i alpha_i^2

  // Bounds: a row whose reach exceeds the squared distance of theta from the reference would not
  // move. |x_i| includes the bias.
  const double* reference = nullptr; // margins at the reference; null: no bounds
  float* reach = nullptr;
  double distance_square = 0.0;
  double path = 0.0;               // length of all steps since distance_square was measured
  double drift = 0.0;              // how far rounding may have carried theta in them
  double path_rounding = 0.0;      // of distance_square, for a path of length 1
  double step_rounding = 0.0;      // of theta, in a step
  double reference_rounding = 0.0; // of a margin at the reference, for |x_i| = 1

  double gap = 0.0;     // sum of what the visited rows add to the duality gap, each as it was met
  double promise = 0.0; // how far theta may be expected to go
  std::int64_t n_visited = 0;
  std::int64_t n_moved = 0;
  std::int64_t n_promising = 0; // visits in vain that a reference of here would have spared
  std::int32_t* kept = nullptr; // rows that moved or are inside their box, where wanted
  std::size_t n_kept = 0;
};

/// c l(m) less what alpha adds to the dual, and alpha m: what is left of Fenchel's inequality.
static inline double row_gap(const DualSweep& s, double alpha, double upper, double m) {
  const double short_by = 1.0 - m;
  if (s.ridge == 0.0)
    return short_by > 0.0 ? (upper - alpha) * short_by : -alpha * short_by;
  const double ridge = s.ridge / upper;
  if (m >= s.high) // alpha (m - high) + 1/2 ridge alpha^2
    return alpha * (m - s.high + 0.5 * ridge * alpha);
  if (m <= s.low) // the same from the top
    return (upper - alpha) * (s.low - m + 0.5 * ridge * (upper - alpha));
  const double off = s.high - m - ridge * alpha;
  return 0.5 * off * off / ridge;
}

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* For the rows in their order: alpha_i to its best, theta with it. */                           \
  void sweep_dual_dense_f32(const DenseRows<float>& x, const RowList& rows, DualSweep& sweep);     \
  void sweep_dual_dense_f64(const DenseRows<double>& x, const RowList& rows, DualSweep& sweep);    \
  void sweep_dual_csr_f32(const CsrRows<float>& x, const RowList& rows, DualSweep& sweep);         \
  void sweep_dual_csr_f64(const CsrRows<double>& x, const RowList& rows, DualSweep& sweep);        \
  /* The reaches of n rows from their margins at the reference. */                                 \
  void set_reaches(DualSweep& sweep, std::size_t n);                                               \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
