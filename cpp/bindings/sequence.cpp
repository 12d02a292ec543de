#include "arrays.hpp"
#include "interrupt.hpp"
#include "module.hpp"

#include "problem/limits.hpp"
#include "problem/solution.hpp"
#include "sequence/class_pairs.hpp"
#include "sequence/sequence.hpp"
#include "sequence/shortlist.hpp"
#include "sequence/transduction.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace alphapath::bindings {

namespace {

std::vector<Step> read_steps(const Indices& rows, const Vector& factors, const Indices& parents,
                             const Indices& seeds, std::size_t n_rows) {
  const std::size_t n_steps = rows.shape(0);
  if (factors.shape(0) != n_steps || parents.shape(0) != n_steps || seeds.shape(0) != n_steps)
    throw std::invalid_argument("rows, factors, parents and seeds must be equally long.");
  std::vector<Step> steps;
  for (std::size_t k = 0; k < n_steps; ++k) {
    const std::int64_t row = rows.data()[k], parent = parents.data()[k], seed = seeds.data()[k];
    if (row < 0 || row >= static_cast<std::int64_t>(n_rows))
      throw std::invalid_argument("A step names a row of weights that does not exist.");
    if (parent >= static_cast<std::int64_t>(k))
      throw std::invalid_argument("The parent of a step must come before it.");
    if (seed < 0 || seed > static_cast<std::int64_t>(Seed::greedy))
      throw std::invalid_argument("A step names a seed that does not exist.");
    steps.push_back(
        {static_cast<std::size_t>(row), factors.data()[k], parent, static_cast<Seed>(seed)});
    if (parent >= 0 && steps.back().seed != Seed::greedy &&
        steps[static_cast<std::size_t>(parent)].row != steps.back().row)
      throw std::invalid_argument("Only the greedy seed leads from one row of weights to another.");
  }
  return steps;
}

/// One number of every step, by name (counts as floats).
nb::dict as_columns(const std::vector<StepResult>& results) {
  nb::dict columns;
  const auto add = [&](const char* name, const auto& get) {
    auto values = std::make_unique_for_overwrite<double[]>(results.size());
    for (std::size_t k = 0; k < results.size(); ++k)
      values[k] = static_cast<double>(get(results[k]));
    columns[name] = to_numpy(std::move(values), {results.size()});
  };
  add("bias", [](const StepResult& r) { return r.solve.quality.bias; });
  add("objective", [](const StepResult& r) { return r.solve.quality.objective; });
  add("duality_gap", [](const StepResult& r) { return r.solve.quality.gap; });
  add("kkt_violation", [](const StepResult& r) { return r.solve.quality.violation; });
  add("n_free", [](const StepResult& r) { return r.solve.quality.n_free; });
  add("status", [](const StepResult& r) { return r.solve.status; });
  add("n_iter", [](const StepResult& r) { return r.solve.n_iter; });
  add("n_free_set_solves", [](const StepResult& r) { return r.solve.n_free_set_solves; });
  add("n_bound_hits", [](const StepResult& r) { return r.solve.n_bound_hits; });
  add("n_refreshes", [](const StepResult& r) { return r.solve.n_refreshes; });
  add("seed", [](const StepResult& r) { return r.seed; });
  add("seed_time", [](const StepResult& r) { return r.seed_time; });
  add("solve_time", [](const StepResult& r) { return r.solve.solve_time; });
  return columns;
}

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

void bind_steps(nb::module_& m) {
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
  m.def("near_size", &shortlist_size, nb::arg("n_free"), nb::arg("n"),
        "How many of n instances a fold begins with; 0 for all.");
}

/// Members and their signs, pair after pair, with where each pair begins.
struct HeldPairs {
  HeldPairs(const Indices& rows, Vector signs_of, const Indices& begins, std::size_t n)
      : signs(std::move(signs_of)) {
    for (const std::size_t i : as_positions(rows, n))
      members.push_back(static_cast<std::uint32_t>(i));
    first = as_positions(begins, members.size() + 1);
    if (signs.shape(0) != members.size())
      throw std::invalid_argument("members and signs must be equally long.");
    if (first.empty() || first.front() != 0 || first.back() != members.size())
      throw std::invalid_argument("first must go from 0 to the number of members.");
    for (std::size_t p = 0; p + 1 < first.size(); ++p)
      if (first[p] >= first[p + 1])
        throw std::invalid_argument("Pair " + std::to_string(p) + " has no members.");
  }

  std::vector<std::uint32_t> members;
  Vector signs;
  std::vector<std::size_t> first;
};

using Pairs = std::vector<std::vector<PairStep>>;

template <class T> nb::object array_of(const std::vector<T>& values) {
  auto copy = std::make_unique_for_overwrite<T[]>(values.size());
  std::copy(values.begin(), values.end(), copy.get());
  T* data = copy.get();
  nb::capsule owner(copy.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, {values.size()}, owner));
}

/// The columns of all steps, pair after pair; `n_solved` of each pair, and the nonzero beta of a
/// step from indptr[step] on.
nb::dict as_arrays(Pairs& pairs) {
  std::vector<StepResult> results;
  std::vector<std::int64_t> n_solved, indptr{0}, rows;
  std::vector<double> beta;
  for (std::vector<PairStep>& steps : pairs) {
    n_solved.push_back(static_cast<std::int64_t>(steps.size()));
    for (PairStep& step : steps) {
      rows.insert(rows.end(), step.rows.begin(), step.rows.end());
      beta.insert(beta.end(), step.beta.begin(), step.beta.end());
      indptr.push_back(static_cast<std::int64_t>(rows.size()));
      results.push_back(std::move(step.result));
    }
  }
  nb::dict arrays = as_columns(results);
  arrays["n_solved"] = array_of(n_solved);
  arrays["indptr"] = array_of(indptr);
  arrays["rows"] = array_of(rows);
  arrays["beta"] = array_of(beta);
  return arrays;
}

nb::typed<nb::dict, nb::str, nb::object>
solve_pairs(const std::shared_ptr<KernelMatrix>& gram, const Indices& members, Vector signs,
            const Indices& first, const Matrix& weights, const Indices& rows, const Vector& factors,
            const Indices& parents, const Indices& seeds, const SolveOptions& options,
            double total_time_limit, std::size_t n_threads) {
  const HeldPairs held(members, std::move(signs), first, gram->size());
  if (weights.shape(1) != gram->size())
    throw std::invalid_argument("weights has rows of " + std::to_string(weights.shape(1)) +
                                " values; the kernel has " + std::to_string(gram->size()) +
                                " instances.");
  const std::vector<Step> steps = read_steps(rows, factors, parents, seeds, weights.shape(0));
  const ClassPairs pairs{
      gram, held.members, as_span(held.signs), held.first, {weights.data(), weights.size()}};
  Pairs solved = run_watched(options, [&](const SolveOptions& watched) {
    return solve_class_pairs(pairs, steps, watched, total_time_limit, n_threads);
  });
  return as_arrays(solved);
}

void bind_class_pairs(nb::module_& m) {
  m.def("solve_class_pairs", &solve_pairs, nb::arg("gram"), nb::arg("members"), nb::arg("signs"),
        nb::arg("first"), nb::arg("weights"), nb::arg("rows"), nb::arg("factors"),
        nb::arg("parents"), nb::arg("seeds"), nb::arg("options"), nb::arg("total_time_limit"),
        nb::arg("n_threads"),
        "The same steps for every pair of classes, on its own instances; a dictionary of arrays.");
}

TransductionResult run_transduction(const nb::object& matrix, const Vector& targets,
                                    const Vector& weights, double limit, double first_weight,
                                    std::size_t n_positive, const SolveOptions& options) {
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
  m.def("transduce", &run_transduction, nb::arg("gram"), nb::arg("targets"), nb::arg("weights"),
        nb::arg("limit"), nb::arg("first_weight"), nb::arg("n_positive"), nb::arg("options"),
        "Joachims' transductive SVM; targets of the unlabelled are 0.");
}

} // namespace

void bind_sequence(nb::module_& m) {
  nb::enum_<Seed>(m, "Seed", nb::is_arithmetic(), "How a step of a sequence starts.")
      .value("cold", Seed::cold)
      .value("keep", Seed::keep)
      .value("lift", Seed::lift)
      .value("scale", Seed::scale)
      .value("climb", Seed::climb)
      .value("greedy", Seed::greedy);
  bind_steps(m);
  bind_class_pairs(m);
  bind_transduction(m);
}

} // namespace alphapath::bindings
