// What the duality gap of the hinge needs, in one pass and without a number for every row.
//
// A smooth loss that is close to the hinge gives a point of its dual: alpha_i = -s_i smooth'(m_i)
// lies in [0, s_i]. A free bias needs the alpha of both classes to have the same sum, for which
// those of one class are scaled down: so all sums are taken by class.
#pragma once

#include "margins.hpp"

#include <vector>

namespace alphapath {

struct HingeSums {
  double losses = 0.0;            // sum s (1 - m)_+
  double alpha[2] = {0.0, 0.0};   // sum alpha over y = -1, and over y = 1
  std::vector<double> moments[2]; // sum alpha y (x, 1) over each
};

/// At theta = (w, b); the loss of the task is not used.
HingeSums sum_hinge(const MarginTask& task, const MarginLoss& smooth, const double* theta);

} // namespace alphapath
