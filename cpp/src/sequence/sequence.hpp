// A sequence of related problems on one kernel: the same targets, other weights (a fold, another
// C), each solved from the solution of an earlier one.
//
//   step k:  box = [lower_scale, upper_scale] * c_k,  sum(beta) = total_share * sum(c_k),
//            c_k = factor_k * weights[row_k]
#pragma once

#include "problem/solution.hpp"

#include <memory>
#include <span>
#include <vector>

namespace alphapath {

struct Family {
  const KernelRows& kernel;
  std::span<const double> targets, lower_scale, upper_scale;
  double epsilon = 0;
  double total_share = 0;
  std::span<const double> weights; // rows of kernel.size() values
  // Ascending: instances that the steps are about, where they are few of all (a pair of classes).
  // Rows are then copied for them once instead of for every step. Empty: all of them.
  std::span<const std::uint32_t> scope;
};

/// How a step is warm-started. The numbers are part of the Python interface.
enum class Seed {
  cold = 0,
  keep = 1,   // beta as it is
  lift = 2,   // bounded instances go to their new bounds, the free ones make up the sum
  scale = 3,  // beta grows with its box
  climb = 4,  // for another C: keep, lift or scale, by how many instances are bounded
  greedy = 5, // for a fold: what fits stays; the sum is restored where that costs least
};

struct Step {
  std::size_t row = 0; // of the weights
  double factor = 1;
  std::int64_t parent = -1; // an earlier step, of the same row for all seeds but greedy; -1: none
  Seed seed = Seed::cold;
};

struct StepResult {
  SolveResult solve;
  Seed seed = Seed::cold; // what was used in the end
  double seed_time = 0;
};

/// What outlives one call of solve_sequence on a kernel, so that the next need not make it again:
/// rows copied for iterating, and the factor of the parent of the folds. It changes what
/// calls cost, not what they return.
class SequenceWorkspace {
public:
  explicit SequenceWorkspace(const KernelRows& kernel);
  ~SequenceWorkspace();
  SequenceWorkspace(const SequenceWorkspace&) = delete;
  SequenceWorkspace& operator=(const SequenceWorkspace&) = delete;

  struct Parts;
  /// What thread number k has of it.
  Parts& parts(std::size_t k);

private:
  const KernelRows& kernel_;
  std::vector<std::unique_ptr<Parts>> parts_;
};

/// The steps in order, as many as the limits allow: options.time_limit holds for each of them,
/// `total_time_limit` (0: none) for all together. A step that was cut short by the latter or by an
/// interrupt is not returned. The first steps may be `known`: their solutions exist and are
/// not returned. A step depends on its parent alone, not on what else is in the sequence, so steps
/// that do not wait for each other are solved on `n_threads` threads, each with its own copies of
/// kernel rows.
std::vector<StepResult> solve_sequence(const Family& family, std::span<const Step> steps,
                                       std::vector<SolveResult> known, const SolveOptions& options,
                                       double total_time_limit, SequenceWorkspace& workspace,
                                       std::size_t n_threads = 1);

} // namespace alphapath
