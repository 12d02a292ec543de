// A BoxProblem made of Python objects, and how native work on it is called.
#pragma once

#include "arrays.hpp"
#include "interrupt.hpp"

#include "problem/box_problem.hpp"

#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace alphapath::bindings {

/// A BoxProblem and the Python objects it points into.
struct HeldProblem {
  nb::object kernel;
  Vector targets, lower, upper;
  std::optional<Vector> ridge;
  BoxProblem problem;

  HeldProblem(nb::object matrix, Vector r, Vector low, Vector high, double epsilon,
              std::optional<Vector> ridges, double total)
      : kernel(std::move(matrix)), targets(std::move(r)), lower(std::move(low)),
        upper(std::move(high)), ridge(std::move(ridges)),
        problem{nb::cast<const KernelRows&>(kernel), {}, {}, {}, epsilon, {}, total} {
    const std::size_t n = problem.kernel.size();
    problem.targets = checked_span(targets, n, "targets");
    problem.lower = checked_span(lower, n, "lower");
    problem.upper = checked_span(upper, n, "upper");
    if (ridge)
      problem.ridge = checked_span(*ridge, n, "ridge");
  }
};

/// The start that Python hands in as beta and gradient; both may be None.
inline std::optional<StartPoint> start_point(const HeldProblem& held,
                                             const std::optional<Vector>& beta,
                                             const std::optional<Vector>& gradient) {
  const std::size_t n = held.problem.kernel.size();
  std::optional<StartPoint> start;
  if (beta) {
    start.emplace();
    start->beta = checked_span(*beta, n, "beta");
    if (gradient)
      start->gradient = checked_span(*gradient, n, "gradient");
  }
  return start;
}

} // namespace alphapath::bindings
