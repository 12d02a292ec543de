#include "arrays.hpp"
#include "interrupt.hpp"
#include "module.hpp"

#include "quadratic/events.hpp"
#include "quadratic/newton.hpp"
#include "quadratic/problem.hpp"
#include "quadratic/walk.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace alphapath::bindings {

namespace {

std::span<const double> checked_guess(const std::optional<Vector>& guess, std::size_t n) {
  if (!guess)
    return {};
  if (guess->size() != n)
    throw std::invalid_argument("guess has " + std::to_string(guess->size()) +
                                " values; the problem has " + std::to_string(n) + " instances.");
  return as_span(*guess);
}

QuadraticSolution solve(const QuadraticProblem& problem, double lam,
                        const std::optional<Vector>& guess, double tol, int max_iter) {
  const std::span<const double> first = checked_guess(guess, problem.size());
  SignalWatch signals;
  const NewtonOptions options{tol, max_iter, signals.question()};
  QuadraticSolution solution = [&] {
    const ReleasedGil released;
    return solve_quadratic(problem, lam, first, options);
  }();
  signals.raise_caught(true);
  return solution;
}

QuadraticPath follow(const QuadraticProblem& problem, const std::optional<Vector>& guess,
                     const QuadraticPathOptions& options) {
  const std::span<const double> first = checked_guess(guess, problem.size());
  QuadraticPathOptions watched = options;
  SignalWatch signals;
  watched.wants_stop = signals.question();
  QuadraticPath path = [&] {
    const ReleasedGil released;
    return follow_quadratic_path(problem, first, watched);
  }();
  signals.raise_caught(true);
  return path;
}

template <class T> nb::ndarray<nb::numpy, T> copy_of(const T* values, std::size_t size) {
  auto* copy = new T[size];
  std::copy_n(values, size, copy);
  nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T>(copy, {size}, owner);
}

template <class T, class Items, class Get>
nb::ndarray<nb::numpy, T> gather(const Items& items, const Get& get) {
  std::vector<T> values;
  values.reserve(items.size());
  for (const auto& item : items)
    values.push_back(static_cast<T>(get(item)));
  return copy_of<T>(values.data(), values.size());
}

const QuadraticSegment& segment_at(const QuadraticPath& path, std::size_t k) {
  if (k >= path.segments.size())
    throw std::out_of_range("There is no segment " + std::to_string(k) + ".");
  return path.segments[k];
}

/// (members, a, drift, poles, residues), views that keep the path alive.
using Doubles = nb::ndarray<nb::numpy, const double>;
using Piece = nb::typed<nb::tuple, nb::ndarray<nb::numpy, const std::int32_t>, Doubles, Doubles,
                        Doubles, Doubles>;
Piece segment(nb::object self, std::size_t k) {
  const QuadraticSegment& s = segment_at(nb::cast<const QuadraticPath&>(self), k);
  const std::size_t m = s.members.size();
  return Piece(nb::make_tuple(
      nb::ndarray<nb::numpy, const std::int32_t>(s.members.data(), {m}, self),
      nb::ndarray<nb::numpy, const double>(s.a.data(), {m}, self),
      nb::ndarray<nb::numpy, const double>(s.drift.data(), {m}, self),
      nb::ndarray<nb::numpy, const double>(s.poles.data(), {s.poles.size()}, self),
      nb::ndarray<nb::numpy, const double>(s.residues.data(), {s.poles.size(), m}, self)));
}

using Crossings =
    nb::typed<nb::tuple, nb::ndarray<nb::numpy, std::int32_t>, nb::ndarray<nb::numpy, double>>;
Crossings crossings(const Vector& s, const Vector& e, const Matrix& W, const Vector& poles,
                    double end) {
  if (e.size() != s.size() || W.shape(1) != s.size() || W.shape(0) != poles.size())
    throw std::invalid_argument("W must have one row a pole and one column a value of s and e.");
  std::vector<Crossing> found;
  {
    const ReleasedGil released;
    found = find_crossings({as_span(s), as_span(e), {W.data(), W.size()}, as_span(poles)}, end);
  }
  return Crossings(
      nb::make_tuple(gather<std::int32_t>(found, [](const Crossing& c) { return c.row; }),
                     gather<double>(found, [](const Crossing& c) { return c.x; })));
}

/// A read-only property: one value of type T for each item of a member.
template <class T, auto member, auto field> void def_column(auto& c, const char* name) {
  c.def_prop_ro(
      name,
      [](const QuadraticPath& path) {
        return gather<T>(path.*member, [](const auto& item) { return item.*field; });
      },
      nb::rv_policy::move);
}

void bind_lambda_path(nb::module_& m) {
  using Path = QuadraticPath;
  nb::class_<Path> c(m, "QuadraticPath", "Events and pieces of a path over lambda.");
  def_column<double, &Path::events, &QuadraticEvent::lambda>(c, "event_lambdas");
  def_column<std::int32_t, &Path::events, &QuadraticEvent::instance>(c, "event_instances");
  def_column<std::int8_t, &Path::events, &QuadraticEvent::from>(c, "event_from");
  def_column<std::int8_t, &Path::events, &QuadraticEvent::to>(c, "event_to");
  def_column<double, &Path::segments, &QuadraticSegment::first>(c, "segment_first");
  def_column<double, &Path::segments, &QuadraticSegment::last>(c, "segment_last");
  def_column<std::int64_t, &Path::segments, &QuadraticSegment::n_events>(c, "segment_events");
  c.def_prop_ro(
       "segment_sizes",
       [](const Path& path) {
         return gather<std::int64_t>(path.segments, [](const auto& s) { return s.members.size(); });
       },
       nb::rv_policy::move)
      .def_prop_ro(
          "first_sides",
          [](const Path& path) {
            return gather<std::int8_t>(path.first_sides, [](Side side) { return side; });
          },
          nb::rv_policy::move)
      .def_prop_ro(
          "last_a", [](const Path& path) { return to_numpy(std::span(path.last_a)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "gap_firsts",
          [](const Path& path) {
            return gather<double>(path.gaps, [](const auto& gap) { return gap.first; });
          },
          nb::rv_policy::move)
      .def_prop_ro(
          "gap_lasts",
          [](const Path& path) {
            return gather<double>(path.gaps, [](const auto& gap) { return gap.second; });
          },
          nb::rv_policy::move)
      .def("segment", &segment, nb::arg("k"), "(members, a, drift, poles, residues) of one piece.")
      .def_prop_ro("status", [](const Path& path) { return static_cast<int>(path.status); })
      .def_ro("lambda_end", &Path::lambda_end)
      .def_ro("n_equations", &Path::n_equations)
      .def_ro("n_iterations", &Path::n_iterations)
      .def_ro("n_poles", &Path::n_poles)
      .def_ro("n_factorizations", &Path::n_factorizations)
      .def_ro("n_resets", &Path::n_resets)
      .def_ro("largest_residual", &Path::largest_residual);
}

} // namespace

void bind_quadratic(nb::module_& m) {
  nb::class_<QuadraticProblem>(m, "QuadraticProblem",
                               "A quadratic-loss SVM without bias, labels and weights folded in.")
      .def(
          "__init__",
          [](QuadraticProblem* self, const Matrix& kernel, const Vector& scale,
             const Vector& targets, const Vector& upper) {
            new (self) QuadraticProblem({kernel.data(), kernel.size()}, as_span(scale),
                                        as_span(targets), as_span(upper));
          },
          nb::arg("kernel"), nb::arg("scale"), nb::arg("targets"), nb::arg("upper"))
      .def_prop_ro("n", &QuadraticProblem::size);
  nb::class_<QuadraticSolution>(m, "QuadraticSolution", "The solution at one lambda.")
      .def_prop_ro(
          "a", [](const QuadraticSolution& s) { return to_numpy(std::span(s.a)); },
          nb::rv_policy::move)
      .def_prop_ro(
          "q", [](const QuadraticSolution& s) { return to_numpy(std::span(s.q)); },
          nb::rv_policy::move)
      .def_ro("violation", &QuadraticSolution::violation)
      .def_ro("n_iter", &QuadraticSolution::n_iter)
      .def_ro("is_solved", &QuadraticSolution::is_solved)
      .def_ro("is_interrupted", &QuadraticSolution::is_interrupted)
      .def_ro("is_convex", &QuadraticSolution::is_convex);
  nb::class_<QuadraticPathOptions>(m, "QuadraticPathOptions", "From where to where, and how.")
      .def(
          "__init__",
          [](QuadraticPathOptions* self, double lambda_start, double lambda_end, bool uses_eigen,
             bool has_cutoff, bool keeps_segments, std::int64_t max_events, double time_limit) {
            new (self) QuadraticPathOptions{lambda_start,   lambda_end, uses_eigen, has_cutoff,
                                            keeps_segments, max_events, time_limit, {}};
          },
          nb::arg("lambda_start"), nb::arg("lambda_end"), nb::arg("uses_eigen") = false,
          nb::arg("has_cutoff") = true, nb::arg("keeps_segments") = true,
          nb::arg("max_events") = -1, nb::arg("time_limit") = 0.0);
  bind_lambda_path(m);
  m.def("solve_quadratic", &solve, nb::arg("problem"), nb::arg("lam"), nb::arg("guess").none(),
        nb::arg("tol") = 1e-9, nb::arg("max_iter") = 200, "Active-set Newton at one lambda.");
  m.def("follow_quadratic_path", &follow, nb::arg("problem"), nb::arg("guess").none(),
        nb::arg("options"), "The exact path from one lambda to another.");
  m.def("find_crossings", &crossings, nb::arg("s"), nb::arg("e"), nb::arg("W"), nb::arg("poles"),
        nb::arg("end"), "All zeros of s + x (e + sum_k W_k / (poles_k - x)), row by row.");
}

} // namespace alphapath::bindings
