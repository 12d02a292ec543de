#include "bindings.hpp"

#include "arrays.hpp"
#include "path_curve.hpp"

#include <nanobind/stl/pair.h>

#include <stdexcept>
#include <utility>

namespace alphapath::bindings {

namespace {

using nb::literals::operator""_a;

std::pair<nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, double>>
errors_of(const Vector& starts, const Vector& ends, const Matrix& residual, const Matrix& rate,
          const Vector& targets, const Vector& shares) {
  const std::size_t n_pieces = starts.size(), n = targets.size();
  if (ends.size() != n_pieces || shares.size() != n || residual.shape(0) != n_pieces ||
      residual.shape(1) != n || rate.shape(0) != n_pieces || rate.shape(1) != n)
    throw std::invalid_argument(
        "residual and rate must have one row a piece and one column a target.");
  Steps steps;
  {
    nb::gil_scoped_release release;
    steps = sum_errors({as_span(starts),
                        as_span(ends),
                        {residual.data(), residual.size()},
                        {rate.data(), rate.size()},
                        as_span(targets)},
                       as_span(shares));
  }
  return {to_numpy(steps.where), to_numpy(steps.value)};
}

} // namespace

void bind_path_curve(nb::module_& m) {
  m.def("sum_errors", &errors_of, "starts"_a, "ends"_a, "residual"_a, "rate"_a, "targets"_a,
        "shares"_a, "The 0-1 error along a path: (where it may change, its value from there).");
}

} // namespace alphapath::bindings
