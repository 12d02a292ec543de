// The pairs of many classes on one kernel, each a sequence of problems on the instances of its two
// classes (sequence.hpp): thousands of small problems in one call.
//
//   pair p, step k:  targets y in {-1, 1}, beta_i between 0 and y_i c_i, sum(beta) = 0,
//                    c = factor_k * weights[row_k] on the members of p
#pragma once

#include "kernel/kernel_matrix.hpp"
#include "problem/limits.hpp"
#include "sequence/sequence.hpp"

namespace alphapath {

struct ClassPairs {
  std::shared_ptr<const KernelMatrix> kernel;
  std::span<const std::uint32_t> members; // pair after pair
  std::span<const double> signs;          // of each member in its pair
  std::span<const std::size_t> first;     // where the members of each pair begin, and the end
  std::span<const double> weights;        // rows of kernel->size() values

  std::size_t n_pairs() const { return first.size() - 1; }
};

/// A step of a pair. Of beta only the instances (numbered as in the kernel) with beta != 0 are
/// kept, of the gradient nothing.
struct PairStep {
  StepResult result;
  std::vector<std::uint32_t> rows;
  std::vector<double> beta;
};

/// The steps of every pair, as many as the limits allow, on `n_threads` threads: a pair does not
/// depend on the others.
std::vector<std::vector<PairStep>>
solve_class_pairs(const ClassPairs& pairs, std::span<const Step> steps, const SolveOptions& options,
                  double total_time_limit, std::size_t n_threads);

} // namespace alphapath
