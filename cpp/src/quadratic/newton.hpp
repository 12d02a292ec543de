// Active-set Newton for one lambda.
#pragma once

#include "quadratic/problem.hpp"

#include <cstddef>
#include <functional>
#include <span>

namespace alphapath {

struct NewtonOptions {
  double tol = 1e-9;
  int max_iter = 200;
  std::function<bool()> wants_stop;
};

/// Active-set Newton. `guess` gives a and the first sets; empty or zero means cold.
QuadraticSolution solve_quadratic(const QuadraticProblem& problem, double lambda,
                                  std::span<const double> guess, const NewtonOptions& options);

namespace quadratic {

/// A symmetric matrix (padded rows), targets and bounds, in whatever order the caller keeps them.
struct QuadraticView {
  const double* Q;
  std::size_t stride;
  std::span<const double> targets, upper;

  std::size_t size() const { return targets.size(); }
  const double* row(std::size_t i) const { return Q + i * stride; }
};

QuadraticSolution solve_newton(const QuadraticView& problem, double lambda,
                               std::span<const double> guess, const NewtonOptions& options);

/// out += sum over the listed rows of coefficient * row.
void add_scaled_rows(const QuadraticView& problem, std::span<const std::size_t> rows,
                     std::span<const double> coefficients, std::span<double> out);

} // namespace quadratic

} // namespace alphapath
