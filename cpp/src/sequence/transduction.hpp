// Joachims' transductive SVM: labels for the unlabelled, found by solving one SVM after another.
//
// The labelled have the weights given. The n_positive unlabelled with the largest decision values
// of their SVM become positive, the others negative, with tiny weights. Then, until the weights
// reach their limit: while there is a positive and a negative unlabelled instance whose slacks sum
// to more than 2, the pair with the largest is switched; after that the weights are doubled.
// (T. Joachims 1999; M. Karasuyama, section 4.5.3.)
#pragma once

#include "kernel/kernel_rows.hpp"
#include "problem/limits.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

struct TransductionProblem {
  const KernelRows& kernel;        // in double precision
  std::span<const double> targets; // +-1 of the labelled, 0 of the others
  std::span<const double> weights; // of the labelled
  double limit;                    // of the weights of the unlabelled
  double first_weight;             // of negative ones at the beginning
  std::size_t n_positive;
};

struct TransductionResult {
  std::vector<double> signs, beta;
  Status status = Status::solved;
  std::int64_t n_switches = 0, n_doublings = 0;
  std::int64_t n_solves = 0, n_rounds = 0; // by active sets
  std::int64_t n_descents = 0, n_iter = 0; // by SMO
};

/// Every problem is solved to options.tol.
TransductionResult transduce(const TransductionProblem& problem, const SolveOptions& options);

} // namespace alphapath
