// Pegasos, stochastic subgradient descent for the hinge loss, with Algorithm 3 of the paper named
// in loss_sums.hpp: the margin of a sampled row is not computed where a bound on its change says on
// which side of 1 it lies.
#pragma once

#include "base/interrupt.hpp"
#include "primal/margin_loss.hpp"
#include "problem/limits.hpp"

#include <cstdint>
#include <vector>

namespace alphapath {

struct PegasosOptions {
  double lam = 1.0;          // of lam / 2 |theta|^2
  bool has_bias = false;     // theta ends in b, penalised like w
  std::size_t n_sampled = 1; // rows a step, drawn with replacement
  std::int64_t n_steps = 1;
  bool uses_bounds = true;
  std::uint64_t seed = 0;
};

struct PegasosResult {
  std::vector<double> theta; // w, and last b
  std::int64_t n_steps = 0;
  std::int64_t n_examined = 0;
  std::int64_t n_pruned = 0;
  Status status = Status::solved;
};

/// Minimises lam / 2 |theta|^2 + sum s_i (1 - m_i)_+ / sum s_i from theta = 0: steps of 1 / (lam
/// t), then back into the ball of radius 1 / sqrt(lam). Every row is drawn with the same chance and
/// counts by its weight.
PegasosResult run_pegasos(const MarginTask& task, const PegasosOptions& options, Watch& watch);

} // namespace alphapath
