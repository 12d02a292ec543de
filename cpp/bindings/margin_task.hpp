// Margin rows and tasks with the Python objects they point into.
#pragma once

#include "arrays.hpp"

#include "primal/margin_loss.hpp"

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace alphapath::bindings {

/// Rows read in place, and the Python objects they lie in.
struct HeldRows {
  std::vector<nb::object> owners;
  std::unique_ptr<MarginRows> rows;
};

inline void check_count(std::size_t count, const HeldRows& rows, const char* name) {
  if (count != rows.rows->size())
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(count) +
                                " values; there are " + std::to_string(rows.rows->size()) +
                                " rows.");
}

inline std::span<const double> one_per_row(const Vector& v, const HeldRows& rows,
                                           const char* name) {
  check_count(v.size(), rows, name);
  return as_span(v);
}

/// One number a row, or a broadcast one: a stride of 0.
using Strided = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

inline RowWeights weights_of(const Strided& v, const HeldRows& rows) {
  check_count(v.size(), rows, "weights");
  if (v.stride(0) < 0)
    throw std::invalid_argument("weights must not run backwards.");
  return {v.data(), static_cast<std::size_t>(v.stride(0))};
}

/// +-1; other types are converted.
using Signs = nb::ndarray<const std::int8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline RowSigns signs_of(const Signs& v, const HeldRows& rows) {
  check_count(v.size(), rows, "labels");
  return {v.data()};
}

/// A MarginTask with what it points into.
struct HeldTask {
  nb::object rows;
  Signs labels;
  Strided weights;
  MarginTask task;

  HeldTask(nb::object held, Signs y, Strided s, const MarginLoss& loss)
      : rows(std::move(held)), labels(std::move(y)), weights(std::move(s)),
        task{*nb::cast<const HeldRows&>(rows).rows,
             signs_of(labels, nb::cast<const HeldRows&>(rows)),
             weights_of(weights, nb::cast<const HeldRows&>(rows)), loss} {}
};

} // namespace alphapath::bindings
