// Curves as NumPy arrays.
#pragma once

#include "arrays.hpp"

#include "path/curve.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

namespace alphapath::bindings {

using Values = nb::ndarray<nb::numpy, double>;
/// where, value, slope, curvature
using CurveArrays = std::tuple<Values, Values, Values, Values>;

inline CurveArrays as_arrays(const Curve& curve) {
  return {to_numpy(curve.where), to_numpy(curve.value), to_numpy(curve.slope),
          to_numpy(curve.curvature)};
}

inline Metric metric_of(bool is_error) {
  return is_error ? Metric::error : Metric::squared;
}

} // namespace alphapath::bindings
