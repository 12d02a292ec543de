#include "bindings.hpp"

#include "curves.hpp"

#include <stdexcept>

namespace alphapath::bindings {

namespace {

using nb::literals::operator""_a;

CurveArrays scores_of(const Vector& starts, const Vector& ends, const Matrix& residual,
                      const Matrix& rate, const Vector& targets, const Vector& shares,
                      bool is_error) {
  const std::size_t n_pieces = starts.size(), n = targets.size();
  if (ends.size() != n_pieces || shares.size() != n || residual.shape(0) != n_pieces ||
      residual.shape(1) != n || rate.shape(0) != n_pieces || rate.shape(1) != n)
    throw std::invalid_argument(
        "residual and rate must have one row a piece and one column a target.");
  CurveSums sums(metric_of(is_error), as_span(targets), as_span(shares));
  {
    const ReleasedGil released;
    for (std::size_t k = 0; k < n_pieces; ++k)
      sums.add(starts.data()[k], ends.data()[k], residual.data() + k * n, rate.data() + k * n);
  }
  return as_arrays(sums.curve());
}

} // namespace

void bind_path_curve(nb::module_& m) {
  m.def("sum_scores", &scores_of, "starts"_a, "ends"_a, "residual"_a, "rate"_a, "targets"_a,
        "shares"_a, "is_error"_a,
        "0-1 or squared error along a path: where it changes, and from there its value, and of "
        "squares the slope and the curvature.");
}

} // namespace alphapath::bindings
