#include "bindings.hpp"

#include "arrays.hpp"
#include "margin_task.hpp"
#include "primal/dual_descent.hpp"

#include <nanobind/stl/optional.h>

#include <optional>
#include <span>

namespace alphapath::bindings {

namespace {

DualResult descend_watched(const HeldTask& self, const std::optional<Vector>& start,
                           const DualOptions& options, double time_limit) {
  std::span<const double> alpha;
  if (start)
    alpha = one_per_row(*start, nb::cast<const HeldRows&>(self.rows), "start");
  SignalWatch signals;
  Watch watch(time_limit, signals.question());
  DualResult result = [&] {
    const ReleasedGil released;
    return descend_dual(self.task, alpha, options, watch);
  }();
  signals.raise_caught(true);
  return result;
}

} // namespace

void bind_dual(nb::module_& m) {
  nb::class_<DualOptions>(m, "DualOptions", "Tolerance, limits and order of a dual descent.")
      .def(nb::init<>())
      .def_rw("tol", &DualOptions::tol)
      .def_rw("has_bias", &DualOptions::has_bias)
      .def_rw("max_iter", &DualOptions::max_iter)
      .def_rw("max_examined", &DualOptions::max_examined)
      .def_rw("uses_bounds", &DualOptions::uses_bounds)
      .def_rw("seed", &DualOptions::seed);
  nb::class_<DualResult>(m, "DualResult", "Where a dual descent ended.")
      .def_prop_ro(
          "alpha", [](const DualResult& r) { return to_numpy(std::span(r.alpha)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "theta", [](const DualResult& r) { return to_numpy(std::span(r.theta)); },
          nb::rv_policy::move)
      .def_ro("objective", &DualResult::objective)
      .def_ro("gap", &DualResult::gap)
      .def_ro("violation", &DualResult::violation)
      .def_ro("n_iter", &DualResult::n_iter)
      .def_ro("n_inner", &DualResult::n_inner)
      .def_ro("n_examined", &DualResult::n_examined)
      .def_ro("n_pruned", &DualResult::n_pruned)
      .def_ro("n_references", &DualResult::n_references)
      .def_ro("status", &DualResult::status);
  m.def("descend_dual", &descend_watched, nb::arg("task"), nb::arg("start").none(),
        nb::arg("options"), nb::arg("time_limit") = 0.0,
        "Coordinate descent on the dual of the hinge loss.");
}

} // namespace alphapath::bindings
