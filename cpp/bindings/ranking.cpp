#include "arrays.hpp"
#include "interrupt.hpp"
#include "margin_task.hpp"
#include "module.hpp"

#include "ranking/ndcg_walk.hpp"
#include "ranking/pair_descent.hpp"
#include "ranking/pair_newton.hpp"
#include "ranking/pair_walker.hpp"

#include <stdexcept>
#include <string>

namespace alphapath::bindings {

namespace {

using nb::literals::operator""_a;

template <class T> nb::ndarray<nb::numpy, T> copy_of(const std::vector<T>& values) {
  T* copy = new T[values.empty() ? 1 : values.size()];
  std::copy(values.begin(), values.end(), copy);
  nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T>(copy, {values.size()}, owner);
}

/// Pairs on the rows of a linear model or of a kernel, and the Python object these lie in.
struct HeldPairs {
  nb::object owner;
  std::unique_ptr<ScoreSpace> space;
  RankPairs pairs;

  HeldPairs(nb::object instances, const Indices& better, const Indices& worse,
            const Indices& first_row)
      : owner(std::move(instances)) {
    if (nb::isinstance<HeldRows>(owner)) {
      space = make_linear_space(*nb::cast<const HeldRows&>(owner).rows);
    } else {
      const KernelRows& kernel = nb::cast<const KernelRows&>(owner);
      if (kernel.precision() != Precision::float64)
        throw std::invalid_argument("Ranking needs kernel values in float64; these are float32.");
      space = make_kernel_space(kernel);
    }
    read_queries(first_row);
    read_pairs(better, worse);
  }

  std::span<const double> one_each(const Vector& v, const char* name) const {
    if (v.size() != pairs.size())
      throw std::invalid_argument(std::string(name) + " has " + std::to_string(v.size()) +
                                  " values; there are " + std::to_string(pairs.size()) + " pairs.");
    return as_span(v);
  }

private:
  void read_queries(const Indices& first_row) {
    for (const std::int64_t row : as_span(first_row)) {
      const bool is_sorted = pairs.first_row.empty() ? row == 0 : row >= last_row();
      if (!is_sorted)
        throw std::invalid_argument("The first rows of the queries must ascend from 0.");
      pairs.first_row.push_back(static_cast<std::size_t>(row));
    }
    if (pairs.first_row.size() < 2 || pairs.first_row.back() != space->size())
      throw std::invalid_argument("The queries must end with the " + std::to_string(space->size()) +
                                  " rows.");
  }
  std::int64_t last_row() const { return static_cast<std::int64_t>(pairs.first_row.back()); }

  void read_pairs(const Indices& better, const Indices& worse) {
    if (better.size() != worse.size())
      throw std::invalid_argument("better and worse must have one row each for every pair.");
    std::size_t q = 0;
    pairs.first_pair.push_back(0);
    for (std::size_t p = 0; p < better.size(); ++p) {
      const std::int64_t i = better.data()[p], j = worse.data()[p];
      while (q + 1 < pairs.n_queries() && i >= static_cast<std::int64_t>(pairs.first_row[q + 1])) {
        pairs.first_pair.push_back(p);
        ++q;
      }
      const auto first = static_cast<std::int64_t>(pairs.first_row[q]);
      const auto end = static_cast<std::int64_t>(pairs.first_row[q + 1]);
      if (i < first || i >= end || j < first || j >= end)
        throw std::invalid_argument("Pair " + std::to_string(p) +
                                    " is not of one query, or not in the order of the queries.");
      pairs.better.push_back(static_cast<std::int32_t>(i));
      pairs.worse.push_back(static_cast<std::int32_t>(j));
    }
    pairs.first_pair.resize(pairs.n_queries() + 1, better.size());
  }
};

struct HeldPairWalker {
  nb::object held;
  PairWalker walker;

  explicit HeldPairWalker(nb::object task)
      : held(std::move(task)), walker(*pairs().space, pairs().pairs) {}
  const HeldPairs& pairs() const { return nb::cast<const HeldPairs&>(held); }
};

PairResult descend(const HeldPairs& self, const Vector& upper, const Vector& start,
                   const Limits& limits, double time_limit) {
  const auto c = self.one_each(upper, "upper"), beta = self.one_each(start, "start");
  return run_watched(limits, time_limit, [&](const Limits& watched) {
    return descend_pairs(*self.space, self.pairs, c, beta, watched);
  });
}

PairResult solve_by_newton(const HeldPairs& self, const Vector& upper, const Limits& limits,
                           double time_limit) {
  if (!nb::isinstance<HeldRows>(self.owner))
    throw std::invalid_argument("Newton's method over pairs is for rows of X, not for a kernel.");
  const auto c = self.one_each(upper, "upper");
  return run_watched(limits, time_limit, [&](const Limits& watched) {
    return solve_pairs_by_newton(*self.space, self.pairs, c, watched);
  });
}

int walk(HeldPairWalker& self, double to, std::int64_t max_events, double time_limit) {
  SignalWatch signals;
  const PathStatus status = [&] {
    const ReleasedGil released;
    Watch watch(time_limit, signals.question());
    return self.walker.walk(to, max_events, watch);
  }();
  signals.raise_caught(true);
  return static_cast<int>(status);
}

nb::typed<nb::dict, nb::str, nb::any> pieces_of(HeldPairWalker& self) {
  const PathPieces p = self.walker.take_pieces();
  nb::typed<nb::dict, nb::str, nb::any> d;
  d["tau"] = copy_of(p.tau);
  d["first"] = copy_of(p.first);
  d["members"] = copy_of(p.members);
  d["beta"] = copy_of(p.beta);
  d["beta_rate"] = copy_of(p.beta_rate);
  d["change_piece"] = copy_of(p.change_piece);
  d["change_instance"] = copy_of(p.change_instance);
  d["change_place"] = copy_of(p.change_place);
  return d;
}

using Floats = nb::ndarray<nb::numpy, double>;
using Numbers = nb::ndarray<nb::numpy, std::int64_t>;

nb::typed<nb::tuple, Floats, Numbers, Floats> run_ndcg(NdcgWalk& self, const Vector& times,
                                                       const Matrix& values) {
  if (values.shape(0) != times.size() || values.shape(1) != self.n_rows())
    throw std::invalid_argument("values must have one row a time and one column a row of data.");
  const NdcgChanges changes = [&] {
    const ReleasedGil released;
    return self.run(as_span(times), values.data());
  }();
  return nb::make_tuple(copy_of(changes.times), copy_of(changes.queries), copy_of(changes.values));
}

void bind_ndcg(nb::module_& m) {
  m.attr("TIE_SHARE") = tie_share;
  m.attr("SHORTEST_STRETCH") = shortest_stretch;
  nb::class_<NdcgWalk>(m, "NdcgWalk", "NDCG along scores that are affine between times.")
      .def(
          "__init__",
          [](NdcgWalk* self, const Vector& gains, const Indices& first_row, std::size_t k) {
            std::int64_t last = 0;
            for (const std::int64_t row : as_span(first_row)) {
              if (row < last || row > static_cast<std::int64_t>(gains.size()))
                throw std::invalid_argument("The first rows of the queries must ascend.");
              last = row;
            }
            new (self) NdcgWalk(as_span(gains), as_span(first_row), k);
          },
          "gains"_a, "first_row"_a, "k"_a)
      .def("run", &run_ndcg, "times"_a, "values"_a,
           "(times, queries, values) of every change; another call goes on.");
}

void bind_walker(nb::module_& m) {
  nb::class_<HeldPairWalker>(m, "PairWalker",
                             "Follows the exact ranking model while the weights of pairs move.")
      .def(nb::init<nb::object>(), "pairs"_a)
      .def(
          "start",
          [](HeldPairWalker& self, const Vector& beta, const Vector& weights) {
            const auto b = self.pairs().one_each(beta, "beta");
            const auto c = self.pairs().one_each(weights, "weights");
            const ReleasedGil released;
            return static_cast<int>(self.walker.start(b, c));
          },
          "beta"_a, "weights"_a, "Begin at a feasible beta.")
      .def(
          "aim",
          [](HeldPairWalker& self, const Vector& c0, const Vector& dc, double from) {
            self.walker.aim(self.pairs().one_each(c0, "c0"), self.pairs().one_each(dc, "dc"), from);
          },
          "c0"_a, "dc"_a, "start"_a, "Weights c0 + tau dc from tau = start.")
      .def("walk", &walk, "to"_a, "max_events"_a, "time_limit"_a = 0.0,
           "Follow the path; the status is a PathStatus.")
      .def(
          "refresh",
          [](HeldPairWalker& self) {
            const ReleasedGil released;
            return self.walker.refresh();
          },
          "Recompute the scores; returns the KKT violation.")
      .def(
          "record", [](HeldPairWalker& self, bool is_on) { self.walker.record(is_on); }, "is_on"_a,
          "Keep the pieces from now on.")
      .def("take_pieces", &pieces_of, "The pieces kept so far.")
      .def_prop_ro("tau", [](const HeldPairWalker& self) { return self.walker.tau(); })
      .def_prop_ro("n_margin", [](const HeldPairWalker& self) { return self.walker.n_margin(); })
      .def_prop_ro("rounding_floor",
                   [](const HeldPairWalker& self) { return self.walker.rounding_floor(); })
      .def_prop_ro("counts", [](const HeldPairWalker& self) { return self.walker.counts(); })
      .def("beta", [](HeldPairWalker& self) { return copy_of(self.walker.betas()); })
      .def("places", [](const HeldPairWalker& self) {
        std::vector<std::int8_t> places;
        for (const Place place : self.walker.places())
          places.push_back(static_cast<std::int8_t>(place));
        return copy_of(places);
      });
}

} // namespace

void bind_ranking(nb::module_& m) {
  nb::class_<HeldPairs>(m, "RankPairs", "Pairs of a ranking model on the rows they are made of.")
      .def(nb::init<nb::object, const Indices&, const Indices&, const Indices&>(), "instances"_a,
           "better"_a, "worse"_a, "first_row"_a)
      .def_prop_ro("n", [](const HeldPairs& self) { return self.pairs.size(); });
  nb::class_<Limits>(m, "PairLimits", "When coordinate descent over pairs stops.")
      .def(
          "__init__",
          [](Limits* self, double tol, std::int64_t max_passes) {
            new (self) Limits{.tol = tol, .max_iter = max_passes};
          },
          "tol"_a = 1e-3, "max_passes"_a = -1)
      .def_ro("tol", &Limits::tol)
      .def_ro("max_passes", &Limits::max_iter);
  nb::class_<PairResult>(m, "PairResult", "What coordinate descent over pairs found.")
      .def_prop_ro("status", [](const PairResult& r) { return static_cast<int>(r.status); })
      .def("beta", [](const PairResult& r) { return copy_of(r.beta); })
      .def_ro("n_passes", &PairResult::n_passes)
      .def_ro("n_steps", &PairResult::n_steps);
  m.def("descend_pairs", &descend, "pairs"_a, "upper"_a, "start"_a, "limits"_a,
        "time_limit"_a = 0.0, "Coordinate descent over pairs, a query at a time.");
  m.def("solve_pairs_by_newton", &solve_by_newton, "pairs"_a, "upper"_a, "limits"_a,
        "time_limit"_a = 0.0, "Newton's method on w with a hinge rounded by tol.");
  bind_walker(m);
  bind_ndcg(m);
}

} // namespace alphapath::bindings
