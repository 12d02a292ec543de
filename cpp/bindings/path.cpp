#include "path.hpp"

#include "interrupt.hpp"
#include "module.hpp"
#include "samples.hpp"

#include "kernel/growing_matrix.hpp"
#include "kernel/kernel_matrix.hpp"
#include "path/walker.hpp"
#include "problem/quality.hpp"

#include <stdexcept>
#include <string>
#include <tuple>

namespace alphapath::bindings {

namespace {

using nb::literals::operator""_a;

std::span<const double> sized(const Vector& v, std::size_t n, const char* name) {
  if (v.shape(0) != n)
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(v.shape(0)) +
                                " values; there must be " + std::to_string(n) + ".");
  return {v.data(), n};
}

template <class T> nb::ndarray<nb::numpy, T> copy_of(const T* values, std::size_t n) {
  T* copy = new T[n > 0 ? n : 1];
  std::copy_n(values, n, copy);
  nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T>(copy, {n}, owner);
}

template <class T> nb::ndarray<nb::numpy, T> hand_over(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(owned->data(), {owned->size()}, owner);
}

/// A walker and the kernel it reads.
struct HeldWalker {
  nb::object kernel;
  PathWalker walker;

  HeldWalker(nb::object matrix, double epsilon, bool has_equality, bool is_centred)
      : kernel(std::move(matrix)), walker(checked(kernel), {epsilon, has_equality, is_centred}) {}

  static const KernelRows& checked(const nb::object& matrix) {
    const KernelRows& rows = nb::cast<const KernelRows&>(matrix);
    if (rows.precision() != Precision::float64)
      throw std::invalid_argument("A path needs kernel values in float64; these are float32.");
    return rows;
  }
  std::size_t n() const { return nb::cast<const KernelRows&>(kernel).size(); }
};

template <class Work> int watched(double time_limit, const Work& work) {
  SignalWatch signals;
  const PathStatus status = [&] {
    const ReleasedGil released;
    Watch watch(time_limit, signals.question());
    return work(watch);
  }();
  signals.raise_caught(true);
  return static_cast<int>(status);
}

int walk(HeldWalker& self, double to, std::int64_t max_events, double time_limit) {
  return watched(time_limit, [&](Watch& watch) { return self.walker.walk(to, max_events, watch); });
}

int walk_past(HeldWalker& self, const Vector& stops, std::int64_t events_alone,
              std::int64_t max_events) {
  if (stops.size() == 0)
    throw std::invalid_argument("stops is empty; a walk needs somewhere to end.");
  return watched(0.0, [&](Watch& watch) {
    return self.walker.walk_past(as_span(stops), events_alone, max_events, watch);
  });
}

void define(HeldWalker& self, const Indices& instances, const Vector& targets,
            const Vector& lower_scale, const Vector& upper_scale) {
  const std::vector<std::size_t> which = as_positions(instances, self.n());
  self.walker.define(which, sized(targets, which.size(), "targets"),
                     sized(lower_scale, which.size(), "lower_scale"),
                     sized(upper_scale, which.size(), "upper_scale"));
}

nb::typed<nb::dict, nb::str, nb::any> pieces_of(HeldWalker& self) {
  PathPieces p = self.walker.take_pieces();
  nb::typed<nb::dict, nb::str, nb::any> d;
  d["tau"] = hand_over(std::move(p.tau));
  d["bias"] = hand_over(std::move(p.bias));
  d["bias_rate"] = hand_over(std::move(p.bias_rate));
  d["first"] = hand_over(std::move(p.first));
  d["members"] = hand_over(std::move(p.members));
  d["beta"] = hand_over(std::move(p.beta));
  d["beta_rate"] = hand_over(std::move(p.beta_rate));
  d["change_piece"] = hand_over(std::move(p.change_piece));
  d["change_instance"] = hand_over(std::move(p.change_instance));
  d["change_place"] = hand_over(std::move(p.change_place));
  return d;
}

void fill(GrowingMatrix& self, const Indices& slots, const Vector& offsets, const Indices& others,
          const Matrix& values) {
  const auto rows = as_positions(slots, self.size()), columns = as_positions(others, self.size());
  sized(offsets, rows.size(), "offsets");
  if (values.shape(0) != rows.size() || values.shape(1) != columns.size())
    throw std::invalid_argument("values must have one row a slot and one column an other slot.");
  self.fill(rows, offsets.data(), columns, values.data());
}

using MutableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void fill_rbf(GrowingMatrix& self, double gamma, const Indices& slots, const Vector& at_origin,
              const Indices& others, const Vector& others_at_origin, const MutableMatrix& squares) {
  const auto rows = as_positions(slots, self.size()), columns = as_positions(others, self.size());
  sized(at_origin, rows.size(), "at_origin");
  sized(others_at_origin, columns.size(), "others_at_origin");
  if (squares.shape(0) != rows.size() || squares.shape(1) != columns.size())
    throw std::invalid_argument("squares must have one row a slot and one column an other slot.");
  self.fill_rbf(gamma, rows, at_origin.data(), columns, others_at_origin.data(),
                {squares.data(), rows.size() * columns.size()});
}

nb::ndarray<nb::numpy, double> block_of(const GrowingMatrix& self, const Indices& rows,
                                        const Indices& columns) {
  const auto r = as_positions(rows, self.size()), c = as_positions(columns, self.size());
  auto values = std::make_unique_for_overwrite<double[]>(r.size() * c.size());
  write_true_block(self, r, c, values.get());
  return to_numpy(std::move(values), {r.size(), c.size()});
}

void bind_walker(nb::module_& m) {
  nb::class_<PathCounts>(m, "PathCounts", "Work done along a path.")
      .def_ro("n_events", &PathCounts::n_events)
      .def_ro("n_steps", &PathCounts::n_steps)
      .def_ro("n_exchanges", &PathCounts::n_exchanges)
      .def_ro("n_jumps", &PathCounts::n_jumps)
      .def_ro("n_ramps", &PathCounts::n_ramps)
      .def_ro("n_refreshes", &PathCounts::n_refreshes)
      .def_ro("n_updates", &PathCounts::n_updates)
      .def_ro("n_parts", &PathCounts::n_parts)
      .def_ro("n_dropped", &PathCounts::n_dropped);
  nb::class_<HeldWalker>(m, "PathWalker", "Follows the exact solution while the problem moves.")
      .def(nb::init<nb::object, double, bool, bool>(), "gram"_a, "epsilon"_a = 0.0,
           "has_equality"_a = true, "is_centred"_a = false)
      .def("define", &define, "instances"_a, "targets"_a, "lower_scale"_a, "upper_scale"_a,
           "Describe instances; they become absent.")
      .def(
          "start",
          [](HeldWalker& self, const Vector& beta, const Vector& weights) {
            return static_cast<int>(self.walker.start(sized(beta, self.n(), "beta"),
                                                      sized(weights, self.n(), "weights")));
          },
          "beta"_a, "weights"_a, "Begin at a feasible beta.")
      .def(
          "copy", [](const HeldWalker& self) { return HeldWalker(self); },
          "Another walker at the same place, on the same kernel.")
      .def(
          "grow", [](HeldWalker& self) { self.walker.grow(); }, "The kernel has more slots.")
      .def(
          "aim",
          [](HeldWalker& self, const Vector& c0, const Vector& dc, double from) {
            self.walker.aim(sized(c0, self.n(), "c0"), sized(dc, self.n(), "dc"), from);
          },
          "c0"_a, "dc"_a, "start"_a, "Weights c0 + tau dc from tau = start.")
      .def(
          "drive",
          [](HeldWalker& self, const Indices& adds, const Vector& weights, const Indices& removes) {
            const auto in = as_positions(adds, self.n()), out = as_positions(removes, self.n());
            self.walker.drive(in, sized(weights, in.size(), "weights"), out);
          },
          "adds"_a, "weights"_a, "removes"_a, "Instances that come and go until tau = 1.")
      .def(
          "can_drive",
          [](HeldWalker& self, const Indices& adds, const Vector& weights, const Indices& removes) {
            const auto in = as_positions(adds, self.n()), out = as_positions(removes, self.n());
            return self.walker.can_drive(in, sized(weights, in.size(), "weights"), out);
          },
          "adds"_a, "weights"_a, "removes"_a,
          "Whether betas of both signs are possible before and after.")
      .def(
          "quality",
          [](HeldWalker& self) {
            const Quality q = self.walker.measure();
            return std::tuple(q.bias, q.objective, q.gap, q.violation, q.rounding);
          },
          "(bias, objective, duality gap, KKT violation, rounding of slopes) of the present point.")
      .def("walk", &walk, "to"_a, "max_events"_a, "time_limit"_a = 0.0,
           "Follow the path; the status is a PathStatus.")
      .def("walk_past", &walk_past, "stops"_a, "events_alone"_a, "max_events"_a,
           "Follow the path to the last stop, or to the first after so many events.")
      .def(
          "refresh",
          [](HeldWalker& self) {
            const ReleasedGil released;
            return self.walker.refresh();
          },
          "Recompute the residuals; returns the KKT violation.")
      .def(
          "record",
          [](HeldWalker& self, bool is_on, bool keeps_pieces) {
            self.walker.record(is_on, keeps_pieces);
          },
          "is_on"_a, "keeps_pieces"_a = true,
          "Walk exactly from now on, and keep the pieces or scores alone.")
      .def(
          "pause", [](HeldWalker& self, bool is_on) { self.walker.pause(is_on); }, "is_on"_a,
          "Walk to the solution at one place of the path, of which no piece is kept.")
      .def(
          "score",
          [](HeldWalker& self, const Indices& rows, const Vector& shares, bool is_error) {
            const auto which = as_positions(rows, self.n());
            self.walker.score(which, sized(shares, which.size(), "shares"), metric_of(is_error));
          },
          "rows"_a, "shares"_a, "is_error"_a, "Sum the error of these rows along what is recorded.")
      .def(
          "take_curve", [](HeldWalker& self) { return as_arrays(self.walker.take_curve()); },
          "The score so far, as sum_scores gives it.")
      .def("take_pieces", &pieces_of, "The pieces kept so far.")
      .def_prop_ro("tau", [](const HeldWalker& self) { return self.walker.tau(); })
      .def_prop_ro("bias", [](const HeldWalker& self) { return self.walker.bias(); })
      .def_prop_ro("n_margin", [](const HeldWalker& self) { return self.walker.n_margin(); })
      .def_prop_ro("past_rounding",
                   [](const HeldWalker& self) { return self.walker.past_rounding(); })
      .def_prop_ro("rounding_floor",
                   [](const HeldWalker& self) { return self.walker.rounding_floor(); })
      .def_prop_ro("imbalance", [](HeldWalker& self) { return self.walker.imbalance(); })
      .def_prop_ro("target_scale",
                   [](const HeldWalker& self) { return self.walker.target_scale(); })
      .def_prop_ro("counts", [](const HeldWalker& self) { return self.walker.counts(); })
      .def("beta", [](HeldWalker& self) { return copy_of(self.walker.betas().data(), self.n()); })
      .def("residuals",
           [](HeldWalker& self) { return copy_of(self.walker.residuals().data(), self.n()); })
      .def("places", [](HeldWalker& self) {
        std::vector<std::int8_t> places;
        for (std::size_t i = 0; i < self.n(); ++i)
          places.push_back(static_cast<std::int8_t>(self.walker.places()[i]));
        return hand_over(std::move(places));
      });
}

void bind_paths(nb::module_& m) {
  nb::class_<GrowingMatrix, KernelRows>(m, "GrowingGram", "A kernel matrix that grows.")
      .def(nb::init<std::size_t>(), "n_slots"_a)
      .def_prop_ro("n", &GrowingMatrix::size)
      .def_prop_ro("nbytes", &GrowingMatrix::nbytes)
      .def(
          "begin",
          [](GrowingMatrix& self, std::size_t n_slots, const BoundSamples& samples,
             const KernelFunction& f) {
            if (n_slots < samples.values.size())
              throw std::invalid_argument("There must be a slot for every row.");
            run_released(1,
                         [&](const Team& team) { self.begin(n_slots, samples.values, f, team); });
          },
          "n_slots"_a, "samples"_a, "function"_a, "The first rows, in the first slots.")
      .def("reserve", &GrowingMatrix::reserve, "n_slots"_a)
      .def_prop_ro("n_rows_computed", &GrowingMatrix::n_rows_computed)
      .def(
          "offset", [](const GrowingMatrix& g) { return to_numpy(g.offset()); },
          "K_ij = stored_ij + offset_i + offset_j.")
      .def("block", &block_of, "rows"_a, "columns"_a, "K[rows][:, columns], offsets included.")
      .def("fill", &fill, "slots"_a, "offsets"_a, "others"_a, "values"_a,
           "Stored K(slots, others), one row a slot, and its mirror image.")
      .def("fill_rbf", &fill_rbf, "gamma"_a, "slots"_a, "at_origin"_a, "others"_a,
           "others_at_origin"_a, "squares"_a,
           "The same from squared distances, which are overwritten.");
  bind_walker(m);
}

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

void bind_path_curve(nb::module_& m) {
  m.def("sum_scores", &scores_of, "starts"_a, "ends"_a, "residual"_a, "rate"_a, "targets"_a,
        "shares"_a, "is_error"_a,
        "0-1 or squared error along a path: where it changes, and from there its value, and of "
        "squares the slope and the curvature.");
}

} // namespace

void bind_path(nb::module_& m) {
  bind_paths(m);
  bind_path_curve(m);
}

} // namespace alphapath::bindings
