// Hot loops of paths side by side without second moments
// (primal/newton/matrix_free_fold_paths.cpp): one lane a model.
#pragma once

#include "simd/primal/fold_loops.hpp"

namespace alphapath::simd {

/// Some rows as the models see them.
struct LaneRows {
  const JointRow* rows; // of all rows, as the weights
  const double* weights;
  std::size_t first, count;
};

/// What the rows on the parabola add up to, lane by lane.
struct LaneSums {
  double losses[n_together]; // sum s (1 - m)^2
  double slopes[n_together]; // sum of what take_slopes returns
};

/// The vectors of conjugate residuals, `size` entries of n_together lanes each.
struct LaneVectors {
  float* step;
  float* direction;
  float* direction_image; // H direction
  // The residual and its image, which is G residual and then H residual: those of an entry side by
  // side, so that a product has both in one cache line.
  float* pairs;
  std::size_t size;

  [[gnu::always_inline]] float* residual(std::size_t entry) const {
    return pairs + 2 * n_together * entry;
  }
  [[gnu::always_inline]] float* image(std::size_t entry) const {
    return residual(entry) + n_together;
  }
};

/// Of a function of three coefficients, lane by lane.
struct SpanSums {
  double value[n_together];
  double gradient[3 * n_together];
  double hessian[6 * n_together]; // 00, 10, 11, 20, 21, 22
};

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* Of the rows at hand, whose decision values are given: slopes[k * n_together + f] = -2 s y     \
     (1 - m)_+; adds to sums; appends the rows on the parabola of any model, with their weights    \
     lane by lane (0 where a model does not have the row on it), and returns how many. */          \
  std::size_t take_slopes(const LaneRows& at, const double* values, double* slopes,                \
                          LaneSums& sums, std::int32_t* parabola, float* weights);                 \
  /* sum s (1 - m)_+^2 at the decision values sum_i a_i v_i, and its derivatives with respect to   \
     a; v_0 is the last of the three decision values given, v_1 and v_2 the ways to it and to the  \
     one before. */                                                                                \
  void derive_in_span(const LaneRows& at, const double* const values[3], const double* a,          \
                      SpanSums& sums);                                                             \
  /* image_f += sum_k weights[k * n_together + f] x_k (x_k'residual_f) over n rows. */             \
  void multiply_together(const CsrRows<float>& x, std::size_t n, const float* weights,             \
                         const LaneVectors& at);                                                   \
  /* A step of each lane: image <- residual + scale image; returns residual' image. */             \
  void take_image(const LaneVectors& at, const float* scale, double* dots);                        \
  /* direction <- residual + ratio direction, and so its image; returns its squared norm. */       \
  void turn_direction(const LaneVectors& at, const float* ratio, double* squares);                 \
  /* Goes `length` along the direction; the image is 0 again. Returns the squared residual. */     \
  void advance(const LaneVectors& at, const float* length, double* squares);                       \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
