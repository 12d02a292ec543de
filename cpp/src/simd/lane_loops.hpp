// Hot loops of paths side by side without second moments (lane_paths.cpp): one lane a model.
#pragma once

#include "simd/joint_loops.hpp"

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

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* Of the rows at hand, whose decision values are given: slopes[k * n_together + f] = -2 s y     \
     (1 - m)_+; adds to sums; appends the rows on the parabola of any model, with their weights    \
     lane by lane (0 where a model does not have the row on it), and returns how many. */          \
  std::size_t take_slopes(const LaneRows& at, const double* values, double* slopes,                \
                          LaneSums& sums, std::int32_t* parabola, float* weights);                 \
  /* First and second derivative of sum s (1 - m)_+^2 along values - before, at length t. */       \
  void derive_along(const LaneRows& at, const double* values, const double* before,                \
                    const double* t, double* slopes, double* curvatures);                          \
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
