// The steps of a sequence from NumPy's arrays, and what was solved as arrays by name.
#pragma once

#include "sequence/sequence.hpp"

#include "arrays.hpp"

#include <stdexcept>
#include <vector>

namespace alphapath::bindings {

inline std::vector<Step> read_steps(const Indices& rows, const Vector& factors,
                                    const Indices& parents, const Indices& seeds,
                                    std::size_t n_rows) {
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
inline nb::dict as_columns(const std::vector<StepResult>& results) {
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

} // namespace alphapath::bindings
