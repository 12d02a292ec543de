// NumPy arrays in and out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace alphapath::bindings {

namespace nb = nanobind;

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline std::span<const double> as_span(const Vector& v) {
  return {v.data(), v.size()};
}
inline std::span<const std::int64_t> as_span(const Indices& v) {
  return {v.data(), v.size()};
}

/// Hands the memory to NumPy.
inline nb::ndarray<nb::numpy, double> to_numpy(std::unique_ptr<double[]> data,
                                               std::initializer_list<std::size_t> shape) {
  double* values = data.get();
  nb::capsule owner(data.release(), [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return nb::ndarray<nb::numpy, double>(values, shape, owner);
}

inline nb::ndarray<nb::numpy, double> to_numpy(std::span<const double> values) {
  auto copy = std::make_unique_for_overwrite<double[]>(values.size());
  std::copy(values.begin(), values.end(), copy.get());
  return to_numpy(std::move(copy), {values.size()});
}

/// One value for each instance of a kernel.
inline std::span<const double> checked_span(const Vector& v, std::size_t n, const char* name) {
  if (v.shape(0) != n)
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(v.shape(0)) +
                                " values; the kernel has " + std::to_string(n) + " instances.");
  return {v.data(), n};
}

/// Checked positions in 0 .. n - 1.
std::vector<std::size_t> as_positions(const Indices& indices, std::size_t n);

} // namespace alphapath::bindings
