#include "bindings.hpp"

#include "arrays.hpp"
#include "base/isa.hpp"
#include "simd/few_vectors.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

namespace alphapath::bindings {

namespace {

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

} // namespace

void bind_few_vectors(nb::module_& m) {
  using namespace nb::literals;
  m.def("multiply_few", &multiply_few, "X"_a, "which"_a.none(), "vectors"_a,
        "vectors @ X[which].T without a copy of the rows.");
  m.def("combine_few", &combine_few, "X"_a, "which"_a.none(), "coefs"_a,
        "coefs @ X[which] without a copy of the rows.");
}

} // namespace alphapath::bindings
