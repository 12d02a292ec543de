// What the duality gap of margin losses needs, in one pass and without a number for every row.
//
// A loss with slopes gives a point of the dual: alpha_i = -s_i l'(m_i). For the hinge, whose slope
// jumps, that of a smooth loss close to it lies in [0, s_i] too. A free bias needs the alpha of
// both classes to have the same sum, for which those of one class are scaled down: so all sums are
// taken by class.
#pragma once

#include "primal/margin_loss.hpp"

#include <vector>

namespace alphapath {

struct DualSums {
  double losses = 0.0;            // sum s l(m), of the task
  double alpha[2] = {0.0, 0.0};   // sum alpha over y = -1, and over y = 1
  double squares[2] = {0.0, 0.0}; // sum alpha^2 / s over each
  std::vector<double> moments[2]; // sum alpha y (x, 1) over each
};

/// At theta = (w, b), alpha by the slopes of `smooth`; fills the decision values of all rows where
/// `values` is not null.
DualSums sum_dual(const MarginTask& task, const MarginLoss& smooth, const double* theta,
                  double* values = nullptr);

} // namespace alphapath
