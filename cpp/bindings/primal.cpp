#include "bindings.hpp"

#include "arrays.hpp"
#include "margin_task.hpp"
#include "primal/pegasos.hpp"
#include "primal/sums/gradient.hpp"
#include "primal/sums/loss_sums.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>

namespace alphapath::bindings {

namespace {

template <class T>
using DenseArray = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using FlatArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = FlatArray<std::int32_t>;

template <class T> HeldRows hold_dense(const DenseArray<T>& X) {
  HeldRows held;
  held.owners.push_back(nb::cast(X));
  const ReleasedGil released;
  held.rows = make_dense_rows<T>({X.data(), X.shape(1)}, X.shape(0));
  return held;
}

template <class T, class Start>
HeldRows hold_csr(const FlatArray<T>& values, const Columns& columns,
                  const FlatArray<Start>& starts, std::size_t n_columns) {
  if (starts.size() == 0 || values.size() != columns.size() || starts.data()[0] != 0 ||
      static_cast<std::size_t>(starts.data()[starts.size() - 1]) != values.size())
    throw std::invalid_argument("The arrays do not form a CSR matrix: starts must run from 0 to "
                                "the number of values, with one column per value.");
  for (std::size_t i = 1; i < starts.size(); ++i)
    if (starts.data()[i] < starts.data()[i - 1])
      throw std::invalid_argument("The arrays do not form a CSR matrix: starts decrease.");
  for (std::size_t k = 0; k < columns.size(); ++k)
    if (columns.data()[k] < 0 || static_cast<std::size_t>(columns.data()[k]) >= n_columns)
      throw std::invalid_argument("A column of the CSR matrix is " +
                                  std::to_string(columns.data()[k]) + "; there are " +
                                  std::to_string(n_columns) + ".");
  HeldRows held;
  held.owners = {nb::cast(values), nb::cast(columns), nb::cast(starts)};
  const ReleasedGil released;
  held.rows = make_csr_rows<T>({values.data(), columns.data(), starts.data()}, starts.size() - 1,
                               n_columns);
  return held;
}

const double* checked_theta(const Vector& theta, std::size_t n_columns) {
  if (theta.size() != n_columns + 1)
    throw std::invalid_argument("theta has " + std::to_string(theta.size()) +
                                " values; it must have " + std::to_string(n_columns + 1) +
                                ": the weights and last the bias.");
  return theta.data();
}

MarginMethod method_named(const std::string& name) {
  if (name == "full")
    return MarginMethod::full;
  if (name == "lazy")
    return MarginMethod::lazy;
  if (name == "clusters")
    return MarginMethod::clusters;
  if (name == "sorted")
    return MarginMethod::sorted;
  throw std::invalid_argument("The method is " + name +
                              "; it must be full, lazy, clusters or sorted.");
}

struct HeldSums {
  nb::object task;
  std::unique_ptr<MarginSums> sums;
};

std::pair<double, nb::ndarray<nb::numpy, double>> evaluate(HeldSums& self, const Vector& theta) {
  const std::size_t d = self.sums->task().rows.n_columns();
  const double* at = checked_theta(theta, d);
  auto gradient = std::make_unique<double[]>(d + 1);
  double value = 0.0;
  {
    const ReleasedGil released;
    value = self.sums->evaluate(at, at[d], gradient.get());
  }
  return {value, to_numpy(std::move(gradient), {d + 1})};
}

DescentResult descend_watched(HeldSums& self, const Vector& theta, const DescentOptions& options,
                              double time_limit) {
  const double* at = checked_theta(theta, self.sums->task().rows.n_columns());
  SignalWatch signals;
  Watch watch(time_limit, signals.question());
  DescentResult result = [&] {
    const ReleasedGil released;
    return descend(*self.sums, {at, at + theta.size()}, options, watch);
  }();
  signals.raise_caught(true);
  return result;
}

/// Gram matrix of the listed rows, a column of ones appended where there is a bias: lower triangle.
nb::ndarray<nb::numpy, double> gram_of(const HeldRows& self, const Vector& weights, bool has_bias) {
  const MarginRows& rows = *self.rows;
  one_per_row(weights, self, "weights");
  const std::size_t d = rows.n_columns() + has_bias;
  auto G = std::make_unique<double[]>(d * d);
  {
    const ReleasedGil released;
    const RowList all = all_rows(0, rows.size());
    rows.add_outer(all, weights.data(), {G.get(), d});
    if (has_bias) {
      double* last = G.get() + (d - 1) * d;
      rows.add_rows(all, weights.data(), last);
      for (std::size_t i = 0; i < rows.size(); ++i)
        last[d - 1] += weights.data()[i];
    }
  }
  return to_numpy(std::move(G), {d, d});
}

PegasosResult pegasos_watched(const HeldTask& self, const PegasosOptions& options,
                              double time_limit) {
  SignalWatch signals;
  Watch watch(time_limit, signals.question());
  PegasosResult result = [&] {
    const ReleasedGil released;
    return run_pegasos(self.task, options, watch);
  }();
  signals.raise_caught(true);
  return result;
}

void bind_pegasos(nb::module_& m) {
  nb::class_<PegasosOptions>(m, "PegasosOptions", "Regularisation, sampling and length of a run.")
      .def(nb::init<>())
      .def_rw("lam", &PegasosOptions::lam)
      .def_rw("has_bias", &PegasosOptions::has_bias)
      .def_rw("n_sampled", &PegasosOptions::n_sampled)
      .def_rw("n_steps", &PegasosOptions::n_steps)
      .def_rw("uses_bounds", &PegasosOptions::uses_bounds)
      .def_rw("seed", &PegasosOptions::seed);
  nb::class_<PegasosResult>(m, "PegasosResult", "Where a run of Pegasos ended.")
      .def_prop_ro(
          "theta", [](const PegasosResult& r) { return to_numpy(std::span(r.theta)); },
          nb::rv_policy::move)
      .def_ro("n_steps", &PegasosResult::n_steps)
      .def_ro("n_examined", &PegasosResult::n_examined)
      .def_ro("n_pruned", &PegasosResult::n_pruned)
      .def_ro("status", &PegasosResult::status);
  m.def("run_pegasos", &pegasos_watched, nb::arg("task"), nb::arg("options"),
        nb::arg("time_limit") = 0.0, "Stochastic subgradient descent on the hinge loss.");
}

nb::ndarray<nb::numpy, double> dots_of(const HeldRows& self, const Vector& w,
                                       const std::optional<Columns>& list) {
  if (w.size() != self.rows->n_columns())
    throw std::invalid_argument("w has " + std::to_string(w.size()) + " values; there are " +
                                std::to_string(self.rows->n_columns()) + " columns.");
  const std::size_t n = self.rows->size();
  if (list)
    for (std::size_t k = 0; k < list->size(); ++k)
      if (list->data()[k] < 0 || static_cast<std::size_t>(list->data()[k]) >= n)
        throw std::invalid_argument("Row " + std::to_string(list->data()[k]) +
                                    " is wanted; there are " + std::to_string(n) + ".");
  const RowList rows = list ? RowList{list->data(), 0, list->size()} : all_rows(0, n);
  auto out = std::make_unique_for_overwrite<double[]>(rows.count);
  {
    const ReleasedGil released;
    self.rows->dots(rows, w.data(), out.get());
  }
  return to_numpy(std::move(out), {rows.count});
}

nb::ndarray<nb::numpy, double> norms_of(const HeldRows& self) {
  const std::size_t n = self.rows->size();
  auto norms = std::make_unique_for_overwrite<double[]>(n);
  for (std::size_t i = 0; i < n; ++i)
    norms[i] = self.rows->norm(i);
  return to_numpy(std::move(norms), {n});
}

template <class T, class Start> void bind_csr(nb::class_<HeldRows>& rows) {
  rows.def_static("csr", &hold_csr<T, Start>, nb::arg("values").noconvert(), nb::arg("columns"),
                  nb::arg("starts").noconvert(), nb::arg("n_columns"));
}

void bind_rows(nb::module_& m) {
  nb::class_<HeldRows> rows(m, "MarginRows", "The rows of X, dense or CSR, read in place.");
  rows.def_static("dense", &hold_dense<float>, nb::arg("X").noconvert())
      .def_static("dense", &hold_dense<double>, nb::arg("X").noconvert())
      .def_prop_ro("norms", &norms_of, nb::rv_policy::move)
      .def("dots", &dots_of, nb::arg("w"), nb::arg("list").none() = nb::none(),
           "x_i'w of all rows, or of those listed.")
      .def("gram", &gram_of, nb::arg("weights"), nb::arg("has_bias") = false,
           "Lower triangle of sum_i weights_i x_i x_i', a feature of ones appended for a bias.");
  bind_csr<float, std::int32_t>(rows);
  bind_csr<float, std::int64_t>(rows);
  bind_csr<double, std::int32_t>(rows);
  bind_csr<double, std::int64_t>(rows);
  nb::class_<MarginLoss>(m, "MarginLoss", "Flat from high on, parabola, line up to low.")
      .def_static("hinge", &MarginLoss::hinge)
      .def_static("huber", &MarginLoss::huber, nb::arg("h"))
      .def_static("squared_hinge", &MarginLoss::squared_hinge);
  nb::class_<HeldTask>(m, "MarginTask", "Rows, labels, weights and loss.")
      .def(nb::init<nb::object, Signs, Strided, const MarginLoss&>(), nb::arg("rows"),
           nb::arg("labels"), nb::arg("weights"), nb::arg("loss"));
}

} // namespace

void bind_margins(nb::module_& m) {
  bind_rows(m);
  bind_pegasos(m);
  nb::class_<HeldSums>(m, "MarginSums", "Exact losses and gradients along a moving theta.")
      .def(
          "__init__",
          [](HeldSums* self, nb::object task, const std::string& method, std::size_t n_threads) {
            const MarginTask& what = nb::cast<const HeldTask&>(task).task;
            new (self) HeldSums{task, make_margin_sums(what, method_named(method), n_threads)};
          },
          nb::arg("task"), nb::arg("method") = "lazy", nb::arg("n_threads") = 1)
      .def("evaluate", &evaluate, nb::arg("theta"), "The value and the gradient at theta = (w, b).")
      .def_prop_ro("n_evaluations",
                   [](const HeldSums& s) { return s.sums->counts().n_evaluations; })
      .def_prop_ro("n_examined", [](const HeldSums& s) { return s.sums->counts().n_examined; })
      .def_prop_ro("n_pruned", [](const HeldSums& s) { return s.sums->counts().n_pruned; })
      .def_prop_ro("n_sorts", [](const HeldSums& s) { return s.sums->counts().n_sorts; });
  nb::class_<DescentOptions>(m, "DescentOptions", "Regularisation, step and limits of a descent.")
      .def(nb::init<>())
      .def_rw("lam", &DescentOptions::lam)
      .def_rw("bias_lam", &DescentOptions::bias_lam)
      .def_rw("has_bias", &DescentOptions::has_bias)
      .def_rw("step", &DescentOptions::step)
      .def_rw("tol", &DescentOptions::tol)
      .def_rw("gap_tol", &DescentOptions::gap_tol)
      .def_rw("halves_step", &DescentOptions::halves_step)
      .def_rw("max_iter", &DescentOptions::max_iter);
  nb::class_<DescentResult>(m, "DescentResult", "Where a descent ended.")
      .def_prop_ro(
          "theta", [](const DescentResult& r) { return to_numpy(std::span(r.theta)); },
          nb::rv_policy::move)
      .def_ro("objective", &DescentResult::objective)
      .def_ro("step", &DescentResult::step)
      .def_ro("n_iter", &DescentResult::n_iter)
      .def_ro("status", &DescentResult::status);
  m.def("descend", &descend_watched, nb::arg("sums"), nb::arg("theta"), nb::arg("options"),
        nb::arg("time_limit") = 0.0,
        "Gradient descent with a step halved when the objective rose.");
}

} // namespace alphapath::bindings
