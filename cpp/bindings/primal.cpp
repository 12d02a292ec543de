#include "arrays.hpp"
#include "interrupt.hpp"
#include "margin_task.hpp"
#include "module.hpp"

#include "primal/dual_descent.hpp"
#include "primal/newton/fold_paths.hpp"
#include "primal/newton/newton.hpp"
#include "primal/pegasos.hpp"
#include "primal/sums/dual_sums.hpp"
#include "primal/sums/gradient.hpp"
#include "primal/sums/loss_sums.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>

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
  return run_watched(options, time_limit, [&](const DescentOptions& watched) {
    return descend(*self.sums, {at, at + theta.size()}, watched);
  });
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
      .def_prop_ro("status", [](const PegasosResult& r) { return static_cast<int>(r.status); });
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
      .def_prop_ro("status", [](const DescentResult& r) { return static_cast<int>(r.status); });
  m.def("descend", &descend_watched, nb::arg("sums"), nb::arg("theta"), nb::arg("options"),
        nb::arg("time_limit") = 0.0,
        "Gradient descent with a step halved when the objective rose.");
}

struct HeldPath {
  nb::object task;
  std::unique_ptr<NewtonPath> path;
};

NewtonResult solve_path(HeldPath& self, double C, double time_limit) {
  SignalWatch signals;
  Watch watch(time_limit, signals.question());
  NewtonResult result = [&] {
    const ReleasedGil released;
    return self.path->solve(C, watch);
  }();
  signals.raise_caught(true);
  return result;
}

/// Paths of several folds, with what they point into.
struct HeldJoint {
  std::vector<nb::object> tasks;
  std::unique_ptr<FoldPaths> paths;
};

void make_joint(HeldJoint* self, std::vector<nb::object> tasks, const NewtonPathOptions& options,
                const std::vector<Matrix>& grams) {
  if (tasks.empty() || tasks.size() > simd::n_together)
    throw std::invalid_argument("There are " + std::to_string(tasks.size()) +
                                " folds; 1 to 8 go together.");
  if (!options.keeps_gram && options.has_bias && options.bias_penalty != 1.0)
    throw std::invalid_argument("Without their Gram matrices folds go together only where the bias "
                                "is penalised, or there is none.");
  std::vector<MarginTask> what;
  std::vector<const double*> matrices;
  for (const nb::object& task : tasks)
    what.push_back(nb::cast<const HeldTask&>(task).task);
  const std::size_t d = what.front().rows.n_columns() + options.has_bias;
  for (const Matrix& gram : grams) {
    if (gram.shape(0) != d || gram.shape(1) != d)
      throw std::invalid_argument("Each gram must be a square of " + std::to_string(d) + ".");
    matrices.push_back(gram.data());
  }
  if (!grams.empty() && grams.size() != tasks.size())
    throw std::invalid_argument("There must be one gram for each fold, or none.");
  new (self) HeldJoint{std::move(tasks), nullptr};
  const ReleasedGil released;
  self->paths = make_fold_paths(what, options, matrices);
}

std::vector<NewtonResult> solve_joint(HeldJoint& self, double C, double time_limit) {
  SignalWatch signals;
  Watch watch(time_limit, signals.question());
  auto results = [&] {
    const ReleasedGil released;
    return self.paths->solve(C, watch);
  }();
  signals.raise_caught(true);
  return results;
}

void bind_joint(nb::module_& m) {
  nb::class_<HeldJoint>(m, "JointPaths", "Newton paths of up to eight folds side by side.")
      .def("__init__", &make_joint, nb::arg("tasks"), nb::arg("options"), nb::arg("grams"))
      .def("solve", &solve_joint, nb::arg("C"), nb::arg("time_limit") = 0.0)
      .def_prop_ro(
          "held_out_values",
          [](const HeldJoint& self) { return to_numpy(self.paths->held_out_values()); },
          nb::rv_policy::move, "w'x + b of each row under the fold that holds it out.")
      .def(
          "theta",
          [](const HeldJoint& self, std::size_t fold) {
            if (fold >= self.paths->size())
              throw std::invalid_argument("There is no fold " + std::to_string(fold) + ".");
            return to_numpy(std::span<const double>(self.paths->theta(fold)));
          },
          nb::arg("fold"));
}

using Array = nb::ndarray<nb::numpy, double>;

void bind_dual_sums(nb::module_& m) {
  nb::class_<DualSums>(m, "DualSums", "What the duality gap of margin losses needs, by class.")
      .def_ro("losses", &DualSums::losses)
      .def_prop_ro(
          "alpha", [](const DualSums& s) { return to_numpy(std::span(s.alpha)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "squares", [](const DualSums& s) { return to_numpy(std::span(s.squares)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "moments",
          [](const DualSums& s) {
            const std::size_t size = s.moments[0].size();
            auto moments = std::make_unique_for_overwrite<double[]>(2 * size);
            for (std::size_t c = 0; c < 2; ++c)
              std::copy(s.moments[c].begin(), s.moments[c].end(), moments.get() + c * size);
            return to_numpy(std::move(moments), {2, size});
          },
          nb::rv_policy::move);
  m.def(
      "sum_dual",
      [](const HeldTask& self, const MarginLoss& smooth, const Vector& theta, bool wants_values) {
        const std::size_t size = self.task.rows.n_columns() + 1;
        if (theta.size() != size)
          throw std::invalid_argument("theta has " + std::to_string(theta.size()) +
                                      " values; it must have " + std::to_string(size) + ".");
        const std::size_t n = wants_values ? self.task.rows.size() : 0;
        auto values = std::make_unique_for_overwrite<double[]>(n);
        DualSums sums = [&] {
          const ReleasedGil released;
          return sum_dual(self.task, smooth, theta.data(), wants_values ? values.get() : nullptr);
        }();
        return std::pair(std::move(sums), to_numpy(std::move(values), {n}));
      },
      nb::arg("task"), nb::arg("smooth"), nb::arg("theta"), nb::arg("wants_values") = false,
      "At theta = (w, b): the losses of the task and, of the dual point that the slopes of the "
      "smooth loss give, for each class (-1, +1) the sums of alpha, of alpha^2 / s and of "
      "alpha y (x, 1); and the decision values where they are wanted.");
}

void bind_newton(nb::module_& m) {
  nb::class_<NewtonPathOptions>(m, "NewtonOptions", "Bias, tolerance and limits of a Newton path.")
      .def(nb::init<>())
      .def_rw("has_bias", &NewtonPathOptions::has_bias)
      .def_rw("bias_penalty", &NewtonPathOptions::bias_penalty)
      .def_rw("keeps_gram", &NewtonPathOptions::keeps_gram)
      .def_rw("are_signs_enough", &NewtonPathOptions::are_signs_enough)
      .def_rw("tol", &NewtonPathOptions::tol)
      .def_rw("gradient_tol", &NewtonPathOptions::gradient_tol)
      .def_rw("bias_tol", &NewtonPathOptions::bias_tol)
      .def_rw("max_iter", &NewtonPathOptions::max_iter);
  nb::class_<NewtonResult>(m, "NewtonResult", "How one solve of a Newton path went.")
      .def_ro("objective", &NewtonResult::objective)
      .def_ro("gap", &NewtonResult::gap)
      .def_ro("n_iter", &NewtonResult::n_iter)
      .def_ro("n_products", &NewtonResult::n_products)
      .def_ro("n_factors", &NewtonResult::n_factors)
      .def_prop_ro("status", [](const NewtonResult& r) { return static_cast<int>(r.status); });
  nb::class_<HeldPath>(m, "NewtonPath", "Newton's method along a sequence of C.")
      .def(
          "__init__",
          [](HeldPath* self, nb::object task, const NewtonPathOptions& options,
             const std::optional<Matrix>& gram) {
            const MarginTask& what = nb::cast<const HeldTask&>(task).task;
            const std::size_t d = what.rows.n_columns() + options.has_bias;
            if (gram && (gram->shape(0) != d || gram->shape(1) != d))
              throw std::invalid_argument("gram must be a square of " + std::to_string(d) + ".");
            new (self) HeldPath{task, nullptr};
            const ReleasedGil released;
            self->path = std::make_unique<NewtonPath>(what, options, gram ? gram->data() : nullptr);
          },
          nb::arg("task"), nb::arg("options"), nb::arg("gram").none() = nb::none())
      .def("solve", &solve_path, nb::arg("C"), nb::arg("time_limit") = 0.0)
      .def(
          "set_loss",
          [](HeldPath& self, const MarginLoss& loss) {
            const ReleasedGil released;
            self.path->state().set_loss(loss);
          },
          nb::arg("loss"))
      .def(
          "move_to",
          [](HeldPath& self, const Vector& theta) {
            if (theta.size() != self.path->state().size())
              throw std::invalid_argument("theta has " + std::to_string(theta.size()) +
                                          " values; it must have " +
                                          std::to_string(self.path->state().size()) + ".");
            const ReleasedGil released;
            self.path->state().move_to({theta.data(), theta.data() + theta.size()});
          },
          nb::arg("theta"))
      .def_prop_ro(
          "theta",
          [](const HeldPath& self) { return to_numpy(std::span(self.path->state().theta())); },
          nb::rv_policy::move)
      .def_prop_ro("n_examined",
                   [](const HeldPath& p) { return p.path->state().counts().n_examined; })
      .def_prop_ro("n_pruned", [](const HeldPath& p) { return p.path->state().counts().n_pruned; })
      .def_prop_ro("n_crossings",
                   [](const HeldPath& p) { return p.path->state().counts().n_crossings; });
  bind_joint(m);
  bind_dual_sums(m);
}

DualResult descend_dual_watched(const HeldTask& self, const std::optional<Vector>& start,
                                const DualOptions& options, double time_limit) {
  std::span<const double> alpha;
  if (start)
    alpha = one_per_row(*start, nb::cast<const HeldRows&>(self.rows), "start");
  return run_watched(options, time_limit, [&](const DualOptions& watched) {
    return descend_dual(self.task, alpha, watched);
  });
}

void bind_dual_descent(nb::module_& m) {
  nb::class_<DualOptions>(m, "DualOptions", "Tolerance, limits and order of a dual descent.")
      .def(nb::init<>())
      .def_rw("tol", &DualOptions::tol)
      .def_rw("has_bias", &DualOptions::has_bias)
      .def_rw("max_iter", &DualOptions::max_iter)
      .def_rw("max_examined", &DualOptions::max_examined)
      .def_rw("uses_bounds", &DualOptions::uses_bounds)
      .def_rw("seed", &DualOptions::seed);
  nb::class_<DualResult>(m, "DualResult", "Where a dual descent ended.")
      .def_prop_ro(
          "alpha", [](const DualResult& r) { return to_numpy(std::span(r.alpha)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "theta", [](const DualResult& r) { return to_numpy(std::span(r.theta)); },
          nb::rv_policy::move)
      .def_ro("objective", &DualResult::objective)
      .def_ro("gap", &DualResult::gap)
      .def_ro("violation", &DualResult::violation)
      .def_ro("n_iter", &DualResult::n_iter)
      .def_ro("n_inner", &DualResult::n_inner)
      .def_ro("n_examined", &DualResult::n_examined)
      .def_ro("n_pruned", &DualResult::n_pruned)
      .def_ro("n_references", &DualResult::n_references)
      .def_prop_ro("status", [](const DualResult& r) { return static_cast<int>(r.status); });
  m.def("descend_dual", &descend_dual_watched, nb::arg("task"), nb::arg("start").none(),
        nb::arg("options"), nb::arg("time_limit") = 0.0,
        "Coordinate descent on the dual of the hinge loss.");
}

} // namespace

void bind_primal(nb::module_& m) {
  bind_margins(m);
  bind_newton(m);
  bind_dual_descent(m);
}

} // namespace alphapath::bindings
