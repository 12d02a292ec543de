#include "bindings.hpp"
#include "problem/solution.hpp"

#include "box_problem.hpp"
#include "dual/coordinate.hpp"
#include "dual/maxminover.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

namespace alphapath::bindings {

namespace {

MaxMinOverResult solve(const HeldProblem& held, const std::optional<Vector>& counters,
                       const std::optional<Vector>& gradient, const SolveOptions& options,
                       std::int64_t recompute_every, std::int64_t check_every) {
  const std::optional<StartPoint> start = start_point(held, counters, gradient);
  return run_watched(options, [&](const SolveOptions& watched) {
    return solve_maxminover(held.problem, start, {watched, recompute_every, check_every});
  });
}

/// The trace as two columns: steps and gaps.
auto trace_of(const MaxMinOverResult& r) {
  auto values = std::make_unique_for_overwrite<double[]>(2 * r.trace.size());
  for (std::size_t k = 0; k < r.trace.size(); ++k) {
    values[2 * k] = static_cast<double>(r.trace[k].n_iter);
    values[2 * k + 1] = r.trace[k].gap;
  }
  return to_numpy(std::move(values), {r.trace.size(), 2});
}

RidgeChainResult solve_chain(const HeldProblem& held, const Vector& factors,
                             const std::optional<Vector>& beta,
                             const std::optional<Vector>& gradient, const SolveOptions& options) {
  const std::optional<StartPoint> start = start_point(held, beta, gradient);
  return run_watched(options, [&](const SolveOptions& watched) {
    return solve_ridge_chain(held.problem, as_span(factors), start, watched);
  });
}

/// One row a node, as a view that keeps the result alive.
template <std::vector<double> RidgeChainResult::* member> auto rows_of(nb::object self) {
  auto& result = nb::cast<RidgeChainResult&>(self);
  auto& values = result.*member;
  const std::size_t n_rows = result.nodes.size();
  const std::size_t n_columns = n_rows == 0 ? 0 : values.size() / n_rows;
  return nb::ndarray<nb::numpy, double, nb::ndim<2>>(values.data(), {n_rows, n_columns}, self);
}

} // namespace

void bind_one_class(nb::module_& m) {
  nb::class_<MaxMinOverResult>(m, "MaxMinOverResult", "A solution, its counters and its gaps.")
      .def_prop_ro(
          "solution", [](const MaxMinOverResult& r) -> const SolveResult& { return r.solution; },
          nb::rv_policy::reference_internal)
      .def_prop_ro(
          "counters", [](const MaxMinOverResult& r) { return to_numpy(std::span(r.counters)); },
          nb::rv_policy::move)
      .def_ro("gap", &MaxMinOverResult::gap)
      .def_prop_ro("trace", &trace_of, nb::rv_policy::move);
  m.def("solve_maxminover", &solve, nb::arg("problem"), nb::arg("counters").none(),
        nb::arg("gradient").none(), nb::arg("options"), nb::arg("recompute_every") = 1000,
        nb::arg("check_every") = 0,
        "OneClassMaxMinOver: one class with squared slacks, by steps of +2 and -1.");

  nb::class_<ChainNode>(m, "ChainNode", "How one solve of a chain went.")
      .def_prop_ro("status", [](const ChainNode& node) { return static_cast<int>(node.status); })
      .def_ro("n_iter", &ChainNode::n_iter)
      .def_ro("n_refreshes", &ChainNode::n_refreshes)
      .def_ro("gap", &ChainNode::gap)
      .def_ro("seconds", &ChainNode::seconds);
  nb::class_<RidgeChainResult>(m, "RidgeChainResult", "Solutions for several ridges in turn.")
      .def_ro("nodes", &RidgeChainResult::nodes)
      .def_prop_ro("beta", &rows_of<&RidgeChainResult::beta>)
      .def_prop_ro("gradient", &rows_of<&RidgeChainResult::gradient>);
  m.def("solve_ridge_chain", &solve_chain, nb::arg("problem"), nb::arg("factors"),
        nb::arg("beta").none(), nb::arg("gradient").none(), nb::arg("options"),
        "Coordinate descent for several ridges in turn, each from the last.");
}

} // namespace alphapath::bindings
