// Hot loops for several models at once: their weights lie side by side, as lanes of one vector.
#pragma once

#include "simd/margin_loops.hpp"

namespace alphapath::simd {

/// Models whose products with a row are taken together.
inline constexpr std::size_t n_together = 8;

/// Where the margins of some rows are compared, lane by lane.
struct JointKink {
  double at;
  const double* bias;       // n_together
  const double* labels;     // one a row
  const std::uint8_t* used; // one a row: a bit for each lane that counts
};

/// The vectors of conjugate residuals, `size` entries of n_together lanes each.
struct LaneVectors {
  float* step;
  float* residual;
  float* direction;
  float* direction_image; // H direction
  float* image;           // G residual, then H residual
  std::size_t size;
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
  /* Bit f of bits[k]: whether the margin labels[k] (dots[k * n_together + f] + bias[f]) is below  \
     kink; distances[k]: how far the nearest of those in the lanes used[k] is from it. */          \
  void find_below(const double* dots, const JointKink& kink, std::size_t count,                    \
                  std::uint8_t* bits, double* distances);                                          \
  /* The rows with reach[i] - norm[i] path <= 0, in order; returns how many. Arrays padded to 16.  \
   */                                                                                              \
  std::size_t scan_reach(const float* reach, const float* norm, std::size_t n, float path,         \
                         std::int32_t* out);                                                       \
  /* out_f += sum_k weights[k * n_together + f] x_k (x_k'v_f) over n rows. */                      \
  void multiply_together(const CsrRows<float>& x, std::size_t n, const float* weights,             \
                         const float* v, float* out);                                              \
  /* Conjugate residuals, a step of each lane; see lane_paths.cpp. */                              \
  void take_image(const LaneVectors& at, const float* scale, double* dots);                        \
  void turn_direction(const LaneVectors& at, const float* ratio, double* squares);                 \
  void advance(const LaneVectors& at, const float* length, double* squares);                       \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE
#undef ALPHAPATH_DECLARE_TOGETHER

} // namespace alphapath::simd
