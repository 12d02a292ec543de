#include "sequence/transduction.hpp"
#include "problem/limits.hpp"

#include "arrays.hpp"
#include "interrupt.hpp"

namespace alphapath::bindings {

namespace {

TransductionResult run(const nb::object& matrix, const Vector& targets, const Vector& weights,
                       double limit, double first_weight, std::size_t n_positive,
                       const SolveOptions& options) {
  const auto& kernel = nb::cast<const KernelRows&>(matrix);
  const std::size_t n = kernel.size();
  const TransductionProblem problem{kernel,
                                    checked_span(targets, n, "targets"),
                                    checked_span(weights, n, "weights"),
                                    limit,
                                    first_weight,
                                    n_positive};
  return run_watched(options,
                     [&](const SolveOptions& watched) { return transduce(problem, watched); });
}

} // namespace

void bind_transduction(nb::module_& m) {
  nb::class_<TransductionResult>(m, "TransductionResult", "Labels, the solution, and the work.")
      .def_prop_ro(
          "signs", [](const TransductionResult& r) { return to_numpy(std::span(r.signs)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "beta", [](const TransductionResult& r) { return to_numpy(std::span(r.beta)); },
          nb::rv_policy::move)
      .def_prop_ro("status", [](const TransductionResult& r) { return static_cast<int>(r.status); })
      .def_ro("n_switches", &TransductionResult::n_switches)
      .def_ro("n_doublings", &TransductionResult::n_doublings)
      .def_ro("n_solves", &TransductionResult::n_solves)
      .def_ro("n_rounds", &TransductionResult::n_rounds)
      .def_ro("n_descents", &TransductionResult::n_descents)
      .def_ro("n_iter", &TransductionResult::n_iter);
  m.def("transduce", &run, nb::arg("gram"), nb::arg("targets"), nb::arg("weights"),
        nb::arg("limit"), nb::arg("first_weight"), nb::arg("n_positive"), nb::arg("options"),
        "Joachims' transductive SVM; targets of the unlabelled are 0.");
}

} // namespace alphapath::bindings
