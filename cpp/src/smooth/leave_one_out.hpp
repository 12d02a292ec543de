// Leave-one-out of smooth SVMs: what every model trained without one instance says about it.
#pragma once

#include "base/interrupt.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

/// The optimum on all instances, as seen from the p instances nearest to a change of state.
///
/// G = A H^-1 A' says how decision values answer: u_j units of pull at the instances j move the
/// values by G u. Instances are sorted by `reach`, the length of the move of theta (in the norm of
/// H) before which none of them can change its state.
struct NearInstances {
  std::span<const double> reach;   // ascending
  std::span<const double> values;  // f0
  std::span<const double> targets; // y
  std::span<const double> states;  // 0, or the side (+1, -1) on which the instance has a loss
  std::span<const double> weights; // D > 0: curvature of the loss where there is one
  std::span<const double> answers; // p x p: G among them; its diagonal is not read
  std::span<const double> change;  // diagonal of a change: G_jj + 1/D entering, G_jj - 1/D leaving
  double width = 0;                // of the tube
  bool is_two_sided = false;       // a loss on either side of the tube, else only below y f = 1
  bool is_everybody = false;       // there are no instances further away
};

/// The instances to be left out, each alone. Those with a loss leave the sum of losses; where the
/// features are kernel columns, the instance's own feature is also forced to 0.
struct Removals {
  std::span<const std::int64_t> places; // position among the near instances, or -1
  std::span<const double> values;       // f0
  std::span<const double> goals;        // value at which the quadratic has its minimum
  std::span<const double> weights;      // D, or 0 where the instance has no loss
  std::span<const double> change;       // G_ii - 1/D (not read where D = 0)
  std::span<const double> answers;      // m x p: G between them and the near instances
  // The feature: empty spans where it stays.
  std::span<const double> coefs;           // theta of the feature
  std::span<const double> feature_change;  // G_ee
  std::span<const double> feature_own;     // G_ie
  std::span<const double> feature_answers; // m x p: G_e,near
};

enum class RemovalStatus : int { done = 0, out_of_reach = 1, unsettled = 2, stopped = 3 };

struct RemovalResult {
  std::vector<double> values; // decision value of each instance by the model without it
  std::vector<double> reach;  // length of the last move of theta
  std::vector<std::int64_t> n_solves;
  std::vector<std::int64_t> n_changes; // states that differ from the model on all instances
  std::vector<RemovalStatus> statuses;
};

/// For each instance: solve for the changes assumed, look which states they bring about among the
/// instances within reach, and repeat until these are the ones assumed, which is the optimum.
RemovalResult remove_each(const NearInstances& near, const Removals& removals, Watch& watch);

} // namespace alphapath
