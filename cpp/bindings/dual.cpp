#include "box_problem.hpp"
#include "module.hpp"

#include "dual/coordinate.hpp"
#include "dual/maxminover.hpp"
#include "dual/solve_smo.hpp"
#include "problem/box_problem.hpp"
#include "problem/quality.hpp"
#include "problem/solution.hpp"
#include "sequence/leave_one_out.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>

namespace alphapath::bindings {

namespace {

using Solver = SolveResult (*)(const BoxProblem&, const std::optional<StartPoint>&,
                               const SolveOptions&);

template <Solver solver>
SolveResult solve(const HeldProblem& held, const std::optional<Vector>& beta,
                  const std::optional<Vector>& gradient, const SolveOptions& options) {
  const std::optional<StartPoint> start = start_point(held, beta, gradient);
  return run_watched(
      options, [&](const SolveOptions& watched) { return solver(held.problem, start, watched); });
}

template <Solver solver> void def_solver(nb::module_& m, const char* name, const char* doc) {
  m.def(name, &solve<solver>, nb::arg("problem"), nb::arg("beta").none(),
        nb::arg("gradient").none(), nb::arg("options"), doc);
}

LeaveOneOutResult leave_out(const HeldProblem& held, const Vector& beta, const Vector& gradient,
                            const Indices& instances, const Vector& totals,
                            const SolveOptions& options, bool only_signs) {
  const std::size_t n = held.problem.kernel.size();
  const StartPoint full{checked_span(beta, n, "beta"), checked_span(gradient, n, "gradient")};
  const std::vector<std::size_t> which = as_positions(instances, n);
  if (totals.shape(0) != which.size())
    throw std::invalid_argument("There must be one total for each instance left out.");
  std::vector<LeftOut> list;
  for (std::size_t k = 0; k < which.size(); ++k)
    list.push_back({which[k], totals.data()[k]});
  return run_watched(options, [&](const SolveOptions& watched) {
    return leave_one_out(held.problem, full, list, watched, only_signs);
  });
}

/// A view of a vector that keeps its result alive.
template <std::vector<double> SolveResult::* member> auto vector_of(nb::object self) {
  auto& values = nb::cast<SolveResult&>(self).*member;
  return nb::ndarray<nb::numpy, double, nb::ndim<1>>(values.data(), {values.size()}, self);
}

void bind_solvers(nb::module_& m) {
  m.attr("LARGEST_IN_FLOAT32") = largest_in_float32;
  nb::class_<HeldProblem>(m, "BoxProblem", "One SVM dual on a kernel; keeps its arrays alive.")
      .def(nb::init<nb::object, Vector, Vector, Vector, double, std::optional<Vector>, double>(),
           nb::arg("gram"), nb::arg("targets"), nb::arg("lower"), nb::arg("upper"),
           nb::arg("epsilon") = 0.0, nb::arg("ridge") = nb::none(), nb::arg("total") = 0.0);
  nb::class_<SolveOptions>(m, "SolveOptions", "Tolerance, limits and memory of one solve.")
      .def(
          "__init__",
          [](SolveOptions* self, double tol, std::int64_t max_iter, double time_limit,
             bool free_set, std::size_t memory_limit, double gap_tol) {
            new (self)
                SolveOptions{{tol, max_iter, time_limit, gap_tol, {}}, free_set, memory_limit};
          },
          nb::arg("tol") = 1e-3, nb::arg("max_iter") = -1, nb::arg("time_limit") = 0.0,
          nb::arg("free_set") = true, nb::arg("memory_limit") = 0, nb::arg("gap_tol") = 0.0);
  nb::class_<SolveResult>(m, "SolveResult", "What a solver returns: the point and its counts.")
      .def_prop_ro("beta", &vector_of<&SolveResult::beta>)
      .def_prop_ro("gradient", &vector_of<&SolveResult::gradient>)
      .def_prop_ro("status", [](const SolveResult& r) { return static_cast<int>(r.status); })
      .def_prop_ro("bias", [](const SolveResult& r) { return r.quality.bias; })
      .def_prop_ro("objective", [](const SolveResult& r) { return r.quality.objective; })
      .def_prop_ro("duality_gap", [](const SolveResult& r) { return r.quality.gap; })
      .def_prop_ro("kkt_violation", [](const SolveResult& r) { return r.quality.violation; })
      .def_ro("hidden", &SolveResult::hidden)
      .def_ro("n_iter", &SolveResult::n_iter)
      .def_ro("n_free_set_solves", &SolveResult::n_free_set_solves)
      .def_ro("n_bound_hits", &SolveResult::n_bound_hits)
      .def_ro("n_refreshes", &SolveResult::n_refreshes)
      .def_ro("solve_time", &SolveResult::solve_time);
  def_solver<solve_smo>(m, "solve_smo", "Second-order SMO under sum(beta) = total.");
  def_solver<solve_coordinate>(m, "solve_coordinate",
                               "Greedy coordinate descent without the equality constraint.");

  m.def(
      "slope_rounding",
      [](nb::object matrix, const Vector& beta, bool has_equality) {
        const KernelRows& kernel = nb::cast<const KernelRows&>(matrix);
        return slope_rounding(kernel, checked_span(beta, kernel.size(), "beta"), has_equality);
      },
      nb::arg("gram"), nb::arg("beta"), nb::arg("has_equality"),
      "How far slopes may be off because kernel values are doubles.");

  nb::class_<LeaveOneOutResult>(m, "LeaveOneOutResult", "One value for each instance left out.")
      .def_prop_ro(
          "values", [](const LeaveOneOutResult& r) { return to_numpy(std::span(r.values)); },
          nb::rv_policy::move)
      .def_ro("n_iter", &LeaveOneOutResult::n_iter)
      .def_prop_ro("statuses",
                   [](const LeaveOneOutResult& r) {
                     std::vector<int> numbers;
                     for (const Status status : r.statuses)
                       numbers.push_back(static_cast<int>(status));
                     return numbers;
                   })
      .def_ro("solve_time", &LeaveOneOutResult::solve_time);
  m.def("leave_one_out", &leave_out, nb::arg("problem"), nb::arg("beta"), nb::arg("gradient"),
        nb::arg("instances"), nb::arg("totals"), nb::arg("options"), nb::arg("only_signs"),
        "Decision values of instances by the models trained without them.");
}

MaxMinOverResult solve_counters(const HeldProblem& held, const std::optional<Vector>& counters,
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
  m.def("solve_maxminover", &solve_counters, nb::arg("problem"), nb::arg("counters").none(),
        nb::arg("gradient").none(), nb::arg("options"), nb::arg("recompute_every") = 1000,
        nb::arg("check_every") = 0,
        "OneClassMaxMinOver: one class with squared slacks, by steps of +2 and -1.");

  nb::class_<ChainNode>(m, "ChainNode", "How one solve_counters of a chain went.")
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

} // namespace

void bind_dual(nb::module_& m) {
  bind_solvers(m);
  bind_one_class(m);
}

} // namespace alphapath::bindings
