#include "bindings.hpp"

#include "arrays.hpp"
#include "margin_task.hpp"
#include "primal/newton/fold_paths.hpp"
#include "primal/newton/newton.hpp"
#include "primal/sums/dual_sums.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

namespace alphapath::bindings {

namespace {

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

} // namespace

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
      .def_ro("status", &NewtonResult::status);
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

} // namespace alphapath::bindings
