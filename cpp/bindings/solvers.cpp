#include "bindings.hpp"

#include "alphapath/box_problem.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace alphapath::bindings {

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const double> as_span(const Vector& v, std::size_t n, const char* name) {
  if (v.shape(0) != n)
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(v.shape(0)) +
                                " values; the kernel has " + std::to_string(n) + " instances.");
  return {v.data(), n};
}

using Solver = SolveResult (*)(const BoxProblem&, const std::optional<StartPoint>&,
                               const SolveOptions&);

template <Solver solver>
SolveResult solve(const KernelRows& kernel, const Vector& targets, const Vector& lower,
                  const Vector& upper, double epsilon, double ridge, double total,
                  const std::optional<Vector>& beta, const std::optional<Vector>& gradient,
                  const SolveOptions& options) {
  const std::size_t n = kernel.size();
  const BoxProblem problem{kernel,
                           as_span(targets, n, "targets"),
                           as_span(lower, n, "lower"),
                           as_span(upper, n, "upper"),
                           epsilon,
                           ridge,
                           total};
  std::optional<StartPoint> start;
  if (beta) {
    start.emplace();
    start->beta = as_span(*beta, n, "beta");
    if (gradient)
      start->gradient = as_span(*gradient, n, "gradient");
  }
  SolveOptions watched = options;
  SignalWatch signals;
  watched.wants_stop = signals.question();
  SolveResult result = [&] {
    nb::gil_scoped_release release;
    return solver(problem, start, watched);
  }();
  signals.raise_caught(true);
  return result;
}

/// A view of a vector that keeps its result alive.
template <std::vector<double> SolveResult::* member> auto vector_of(nb::object self) {
  auto& values = nb::cast<SolveResult&>(self).*member;
  return nb::ndarray<nb::numpy, double, nb::ndim<1>>(values.data(), {values.size()}, self);
}

template <Solver solver> void def_solver(nb::module_& m, const char* name, const char* doc) {
  m.def(name, &solve<solver>, nb::arg("gram"), nb::arg("targets"), nb::arg("lower"),
        nb::arg("upper"), nb::arg("epsilon"), nb::arg("ridge"), nb::arg("total"),
        nb::arg("beta").none(), nb::arg("gradient").none(), nb::arg("options"), doc);
}

} // namespace

void bind_solvers(nb::module_& m) {
  nb::class_<SolveOptions>(m, "SolveOptions", "Tolerance, limits and memory of one solve.")
      .def(
          "__init__",
          [](SolveOptions* self, double tol, std::int64_t max_iter, double time_limit,
             bool free_set, std::size_t memory_limit) {
            new (self) SolveOptions{tol, max_iter, time_limit, free_set, memory_limit, {}};
          },
          nb::arg("tol") = 1e-3, nb::arg("max_iter") = -1, nb::arg("time_limit") = 0.0,
          nb::arg("free_set") = true, nb::arg("memory_limit") = std::size_t(1) << 30);
  nb::class_<SolveResult>(m, "SolveResult", "What a solver returns: the point and its counts.")
      .def_prop_ro("beta", &vector_of<&SolveResult::beta>)
      .def_prop_ro("gradient", &vector_of<&SolveResult::gradient>)
      .def_prop_ro("status", [](const SolveResult& r) { return static_cast<int>(r.status); })
      .def_ro("n_iter", &SolveResult::n_iter)
      .def_ro("n_free_set_solves", &SolveResult::n_free_set_solves)
      .def_ro("n_bound_hits", &SolveResult::n_bound_hits)
      .def_ro("n_refreshes", &SolveResult::n_refreshes)
      .def_ro("solve_time", &SolveResult::solve_time);
  def_solver<solve_smo>(m, "solve_smo", "Second-order SMO under sum(beta) = total.");
  def_solver<solve_coordinate>(m, "solve_coordinate",
                               "Greedy coordinate descent without the equality constraint.");
}

} // namespace alphapath::bindings
