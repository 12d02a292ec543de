#include "sequence/class_pairs.hpp"
#include "problem/limits.hpp"

#include "interrupt.hpp"
#include "sequence_arrays.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <string>

namespace alphapath::bindings {

namespace {

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
solve(const std::shared_ptr<KernelMatrix>& gram, const Indices& members, Vector signs,
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

} // namespace

void bind_class_pairs(nb::module_& m) {
  m.def("solve_class_pairs", &solve, nb::arg("gram"), nb::arg("members"), nb::arg("signs"),
        nb::arg("first"), nb::arg("weights"), nb::arg("rows"), nb::arg("factors"),
        nb::arg("parents"), nb::arg("seeds"), nb::arg("options"), nb::arg("total_time_limit"),
        nb::arg("n_threads"),
        "The same steps for every pair of classes, on its own instances; a dictionary of arrays.");
}

} // namespace alphapath::bindings
