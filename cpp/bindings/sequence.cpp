#include "sequence/sequence.hpp"
#include "problem/solution.hpp"

#include "interrupt.hpp"
#include "sequence/shortlist.hpp"
#include "sequence_arrays.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

namespace alphapath::bindings {

namespace {

/// A Family and the Python objects it points into.
struct HeldFamily {
  nb::object kernel;
  Vector targets, lower_scale, upper_scale;
  Matrix weights;
  std::vector<std::uint32_t> scope;
  Family family;

  HeldFamily(nb::object matrix, Vector r, Vector low, Vector high, Matrix c, double epsilon,
             double total_share, const Vector& scope_weights)
      : kernel(std::move(matrix)), targets(std::move(r)), lower_scale(std::move(low)),
        upper_scale(std::move(high)), weights(std::move(c)),
        family{nb::cast<const KernelRows&>(kernel), {}, {}, {}, epsilon, total_share, {}, {}} {
    const std::size_t n = family.kernel.size();
    family.targets = checked_span(targets, n, "targets");
    family.lower_scale = checked_span(lower_scale, n, "lower_scale");
    family.upper_scale = checked_span(upper_scale, n, "upper_scale");
    if (weights.shape(1) != n)
      throw std::invalid_argument("weights has rows of " + std::to_string(weights.shape(1)) +
                                  " values; the kernel has " + std::to_string(n) + " instances.");
    family.weights = {weights.data(), weights.size()};
    const std::span<const double> in_scope = checked_span(scope_weights, n, "scope");
    for (std::size_t i = 0; i < n; ++i)
      if (in_scope[i] > 0)
        scope.push_back(static_cast<std::uint32_t>(i));
    family.scope = scope;
  }
};

/// A SequenceWorkspace and the Python object of its kernel.
struct HeldWorkspace {
  explicit HeldWorkspace(nb::object matrix)
      : kernel(std::move(matrix)), workspace(nb::cast<const KernelRows&>(kernel)) {}

  nb::object kernel;
  SequenceWorkspace workspace;
};

std::vector<SolveResult> read_known(const Matrix& beta, const Matrix& gradient, std::size_t n) {
  if (beta.shape(0) != gradient.shape(0) || beta.shape(1) != n || gradient.shape(1) != n)
    throw std::invalid_argument("Known solutions need a beta and a gradient for every instance.");
  std::vector<SolveResult> known(beta.shape(0));
  for (std::size_t k = 0; k < known.size(); ++k) {
    known[k].beta.assign(beta.data() + k * n, beta.data() + (k + 1) * n);
    known[k].gradient.assign(gradient.data() + k * n, gradient.data() + (k + 1) * n);
  }
  return known;
}

using Results = std::vector<StepResult>;

template <std::vector<double> SolveResult::* member> auto matrix_of(const Results& results) {
  const std::size_t n = results.empty() ? 0 : (results[0].solve.*member).size();
  auto values = std::make_unique_for_overwrite<double[]>(results.size() * n);
  for (std::size_t k = 0; k < results.size(); ++k)
    std::copy_n((results[k].solve.*member).begin(), n, values.get() + k * n);
  return to_numpy(std::move(values), {results.size(), n});
}

nb::typed<nb::dict, nb::str, nb::object> solve(const HeldFamily& held, const Indices& rows,
                                               const Vector& factors, const Indices& parents,
                                               const Indices& seeds, const Matrix& known_beta,
                                               const Matrix& known_gradient,
                                               const SolveOptions& options, double total_time_limit,
                                               HeldWorkspace* given, std::size_t n_threads) {
  const std::vector<Step> steps = read_steps(rows, factors, parents, seeds, held.weights.shape(0));
  std::vector<SolveResult> known =
      read_known(known_beta, known_gradient, held.family.kernel.size());
  if (given != nullptr && !given->kernel.is(held.kernel))
    throw std::invalid_argument("The workspace is that of another kernel.");
  std::optional<HeldWorkspace> own;
  SequenceWorkspace& workspace =
      given != nullptr ? given->workspace : own.emplace(held.kernel).workspace;
  const Results results = run_watched(options, [&](const SolveOptions& watched) {
    return solve_sequence(held.family, steps, std::move(known), watched, total_time_limit,
                          workspace, n_threads);
  });
  nb::dict columns = as_columns(results);
  columns["beta"] = matrix_of<&SolveResult::beta>(results);
  columns["gradient"] = matrix_of<&SolveResult::gradient>(results);
  return columns;
}

} // namespace

void bind_sequence(nb::module_& m) {
  nb::class_<HeldFamily>(m, "Family", "Problems on one kernel that differ in their weights.")
      .def(nb::init<nb::object, Vector, Vector, Vector, Matrix, double, double, Vector>(),
           nb::arg("gram"), nb::arg("targets"), nb::arg("lower_scale"), nb::arg("upper_scale"),
           nb::arg("weights"), nb::arg("epsilon"), nb::arg("total_share"), nb::arg("scope"));
  nb::class_<HeldWorkspace>(m, "SequenceWorkspace",
                            "What calls of solve_sequence on one kernel hand on; one at a time.")
      .def(nb::init<nb::object>(), nb::arg("gram"));
  m.def("solve_sequence", &solve, nb::arg("family"), nb::arg("rows"), nb::arg("factors"),
        nb::arg("parents"), nb::arg("seeds"), nb::arg("known_beta"), nb::arg("known_gradient"),
        nb::arg("options"), nb::arg("total_time_limit") = 0.0,
        nb::arg("workspace").none() = nb::none(), nb::arg("n_threads") = 1,
        "Solve steps in order, each from an earlier one; a dictionary of arrays.");
  m.def("near_size", &near_size, nb::arg("n_free"), nb::arg("n"),
        "How many of n instances a fold begins with; 0 for all.");
}

} // namespace alphapath::bindings
