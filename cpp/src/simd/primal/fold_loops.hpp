// Hot loops for several models at once: their weights lie side by side, as lanes of one vector.
#pragma once

#include "simd/primal/margin_loops.hpp"

namespace alphapath::simd {

/// Models whose products with a row are taken together.
inline constexpr std::size_t n_together = 8;

/// What a row is to the models: y, a bit for each lane that trains on it, the lane that holds it
/// out (n_together: none), and a bit for each lane in which it was last seen below the kink.
struct JointRow {
  std::int8_t label;
  std::uint8_t trains, holder, below;
};

/// Where the margins of some rows are compared, lane by lane.
struct JointKink {
  double at;
  const double* bias;   // n_together
  const JointRow* rows; // of all rows
};

/// CSR rows of which every stored value is 1.
struct IndicatorRows {
  const std::uint16_t* columns;
  RowStarts starts;
};

#define ALPHAPATH_DECLARE_TOGETHER(name, Rows)                                                     \
  /* out[k * n_together + f] = x_{rows[k]}' w_f, where w[j * n_together + f] = w_{f, j}. */        \
  void dots_together_##name(const Rows& x, const RowList& rows, const double* w, double* out);     \
  /* sum_f += sum_k coef[k * n_together + f] x_{first + k}; rows with no coef are not touched. */  \
  void add_together_##name(const Rows& x, std::size_t first, std::size_t count,                    \
                           const double* coef, double* sum);

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  ALPHAPATH_DECLARE_TOGETHER(dense_f32, DenseRows<float>)                                          \
  ALPHAPATH_DECLARE_TOGETHER(dense_f64, DenseRows<double>)                                         \
  ALPHAPATH_DECLARE_TOGETHER(csr_f32, CsrRows<float>)                                              \
  ALPHAPATH_DECLARE_TOGETHER(csr_f64, CsrRows<double>)                                             \
  void dots_together_indicator(const IndicatorRows& x, const RowList& rows, const double* w,       \
                               double* out);                                                       \
  /* Bit f of bits[k]: whether the margin of the k-th listed row, y (dots[k * n_together + f] +    \
     bias[f]), is below the kink. held_out[i]: the decision value of row i where it is held out.   \
     distances[k]: how far the nearest margin of the lanes that train on the row is from the kink, \
     or its held-out value from 0. */                                                              \
  void find_below(const double* dots, const JointKink& kink, const RowList& rows,                  \
                  std::uint8_t* bits, double* distances, double* held_out);                        \
  /* The rows with reach[i] - norm[i] path <= 0, in order; returns how many. Arrays padded to 16.  \
   */                                                                                              \
  std::size_t scan_reach(const float* reach, const float* norm, std::size_t n, float path,         \
                         std::int32_t* out);                                                       \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE
#undef ALPHAPATH_DECLARE_TOGETHER

} // namespace alphapath::simd
