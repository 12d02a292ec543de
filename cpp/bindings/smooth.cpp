#include "arrays.hpp"
#include "interrupt.hpp"
#include "module.hpp"

#include "base/isa.hpp"
#include "simd/few_vectors.hpp"
#include "smooth/leave_one_out.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

namespace alphapath::bindings {

namespace {

void require_shape(const Matrix& matrix, std::size_t n_rows, std::size_t n_columns,
                   const char* name) {
  if (matrix.shape(0) != n_rows || matrix.shape(1) != n_columns)
    throw std::invalid_argument(std::string(name) + " has shape (" +
                                std::to_string(matrix.shape(0)) + ", " +
                                std::to_string(matrix.shape(1)) + "); it must be (" +
                                std::to_string(n_rows) + ", " + std::to_string(n_columns) + ").");
}

std::span<const double> row_of(const Matrix& matrix, std::size_t i) {
  return {matrix.data() + i * matrix.shape(1), matrix.shape(1)};
}

std::span<const double> all_of(const Matrix& matrix) {
  return {matrix.data(), matrix.size()};
}

/// NearInstances and the arrays it points into.
struct HeldNear {
  Matrix facts, answers;
  NearInstances near;

  HeldNear(Matrix rows, Matrix among, double width, bool is_two_sided, bool is_everybody)
      : facts(std::move(rows)), answers(std::move(among)) {
    const std::size_t p = facts.shape(1);
    require_shape(facts, 6, p, "facts");
    require_shape(answers, p, p, "answers");
    near = {row_of(facts, 0), row_of(facts, 1), row_of(facts, 2), row_of(facts, 3),
            row_of(facts, 4), all_of(answers),  row_of(facts, 5), width,
            is_two_sided,     is_everybody};
  }
};

RemovalResult remove(const HeldNear& near, const Indices& places, const Matrix& facts,
                     const Matrix& answers, const std::optional<Matrix>& feature_facts,
                     const std::optional<Matrix>& feature_answers) {
  const std::size_t m = places.shape(0), p = near.facts.shape(1);
  require_shape(facts, 4, m, "facts");
  require_shape(answers, m, p, "answers");
  for (std::size_t i = 0; i < m; ++i)
    if (places.data()[i] < -1 || places.data()[i] >= static_cast<std::int64_t>(p))
      throw std::invalid_argument("A place is " + std::to_string(places.data()[i]) +
                                  "; it must be -1 or below " + std::to_string(p) + ".");
  Removals removals{as_span(places),
                    row_of(facts, 0),
                    row_of(facts, 1),
                    row_of(facts, 2),
                    row_of(facts, 3),
                    all_of(answers),
                    {},
                    {},
                    {},
                    {}};
  if (feature_facts && feature_answers) {
    require_shape(*feature_facts, 3, m, "feature_facts");
    require_shape(*feature_answers, m, p, "feature_answers");
    removals.coefs = row_of(*feature_facts, 0);
    removals.feature_change = row_of(*feature_facts, 1);
    removals.feature_own = row_of(*feature_facts, 2);
    removals.feature_answers = all_of(*feature_answers);
  }
  SignalWatch signals;
  Watch watch(0, signals.question());
  RemovalResult result = [&] {
    const ReleasedGil released;
    return remove_each(near.near, removals, watch);
  }();
  signals.raise_caught(true);
  return result;
}

void bind_removal(nb::module_& m) {
  nb::class_<HeldNear>(m, "NearInstances",
                       "Instances by how far theta must move before their state changes; the rows "
                       "of `facts` are reach, value, target, state, weight and change.")
      .def(nb::init<Matrix, Matrix, double, bool, bool>(), nb::arg("facts"), nb::arg("answers"),
           nb::arg("width"), nb::arg("is_two_sided"), nb::arg("is_everybody"));
  nb::class_<RemovalResult>(m, "RemovalResult", "One value for each instance left out.")
      .def_prop_ro(
          "values", [](const RemovalResult& r) { return to_numpy(std::span(r.values)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "reach", [](const RemovalResult& r) { return to_numpy(std::span(r.reach)); },
          nb::rv_policy::move)
      .def_ro("n_solves", &RemovalResult::n_solves)
      .def_ro("n_changes", &RemovalResult::n_changes)
      .def_prop_ro("statuses", [](const RemovalResult& r) {
        std::vector<int> numbers;
        for (const RemovalStatus status : r.statuses)
          numbers.push_back(static_cast<int>(status));
        return numbers;
      });
  m.def("remove_each", &remove, nb::arg("near"), nb::arg("places"), nb::arg("facts"),
        nb::arg("answers"), nb::arg("feature_facts").none(), nb::arg("feature_answers").none(),
        "Decision values of instances by the smooth SVMs without them; the rows of `facts` are "
        "value, goal, weight and change, those of `feature_facts` coefficient, change and own.");
}

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Positions = std::optional<Indices>;

/// Where the rows asked for begin; all of them without `which`.
std::vector<const double*> find_rows(const Rows& X, const Positions& which) {
  if (X.shape(1) > 1 && X.stride(1) != 1)
    throw std::invalid_argument("The values of a row of X must be next to each other.");
  std::vector<const double*> rows;
  const auto add = [&](std::size_t i) {
    rows.push_back(X.data() + static_cast<std::int64_t>(i) * X.stride(0));
  };
  if (which) {
    for (const std::size_t i : as_positions(*which, X.shape(0)))
      add(i);
  } else {
    for (std::size_t i = 0; i < X.shape(0); ++i)
      add(i);
  }
  return rows;
}

void require_columns(const Matrix& matrix, std::size_t n, const char* name) {
  if (matrix.shape(1) != n)
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(matrix.shape(1)) +
                                " columns; there must be " + std::to_string(n) + ".");
}

nb::ndarray<nb::numpy, double> multiply_few(const Rows& X, const Positions& which,
                                            const Matrix& vectors) {
  require_columns(vectors, X.shape(1), "vectors");
  const std::vector<const double*> rows = find_rows(X, which);
  const std::size_t k = vectors.shape(0);
  auto out = std::make_unique_for_overwrite<double[]>(k * rows.size());
  {
    const ReleasedGil released;
    ALPHAPATH_DISPATCH(multiply_few)
    ({rows.data(), rows.size(), X.shape(1)}, vectors.data(), k, out.get());
  }
  return to_numpy(std::move(out), {k, rows.size()});
}

nb::ndarray<nb::numpy, double> combine_few(const Rows& X, const Positions& which,
                                           const Matrix& coefs) {
  const std::vector<const double*> rows = find_rows(X, which);
  require_columns(coefs, rows.size(), "coefs");
  const std::size_t k = coefs.shape(0);
  auto out = std::make_unique<double[]>(k * X.shape(1));
  {
    const ReleasedGil released;
    ALPHAPATH_DISPATCH(combine_few)
    ({rows.data(), rows.size(), X.shape(1)}, coefs.data(), k, out.get());
  }
  return to_numpy(std::move(out), {k, X.shape(1)});
}

void bind_few_vectors(nb::module_& m) {
  using namespace nb::literals;
  m.def("multiply_few", &multiply_few, "X"_a, "which"_a.none(), "vectors"_a,
        "vectors @ X[which].T without a copy of the rows.");
  m.def("combine_few", &combine_few, "X"_a, "which"_a.none(), "coefs"_a,
        "coefs @ X[which] without a copy of the rows.");
}

} // namespace

void bind_smooth(nb::module_& m) {
  bind_removal(m);
  bind_few_vectors(m);
}

} // namespace alphapath::bindings
