// Margin rows and tasks with the Python objects they point into.
#pragma once

#include "arrays.hpp"
#include "margins.hpp"

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

inline std::span<const double> one_per_row(const Vector& v, const HeldRows& rows,
                                           const char* name) {
  if (v.size() != rows.rows->size())
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(v.size()) +
                                " values; there are " + std::to_string(rows.rows->size()) +
                                " rows.");
  return as_span(v);
}

/// A MarginTask with what it points into.
struct HeldTask {
  nb::object rows;
  Vector labels, weights;
  MarginTask task;

  HeldTask(nb::object held, Vector y, Vector s, const MarginLoss& loss)
      : rows(std::move(held)), labels(std::move(y)), weights(std::move(s)),
        task{*nb::cast<const HeldRows&>(rows).rows,
             one_per_row(labels, nb::cast<const HeldRows&>(rows), "labels"),
             one_per_row(weights, nb::cast<const HeldRows&>(rows), "weights"), loss} {}
};

} // namespace alphapath::bindings
