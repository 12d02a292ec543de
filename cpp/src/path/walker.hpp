// Follows the exact solution of the box problem while weights, targets or single betas move.
//
//   minimise 1/2 beta'K beta - r(tau)'beta + epsilon |beta|_1
//   lower_scale c(tau) <= beta <= upper_scale c(tau),  sum(beta) = 0 (with a bias)
//   c(tau) = c0 + tau dc;   driven: beta_i = d0_i + tau dd_i, whatever its residual
//
// The residual e = K beta + b - r is, for optimal beta:
//   beta = 0:               -epsilon <= e <= epsilon  (one side only where the box has one)
//   0 < beta < upper:        e = -epsilon   (the margin);   beta = upper:  e <= -epsilon
//   lower < beta < 0:        e = +epsilon                   beta = lower:  e >= +epsilon
// so each place of an instance is an interval [lo, hi] of e, and the next event is the first e to
// leave its interval or the first margin beta to meet its (moving) bound. Between events
//   [K_MM 1; 1' 0] [dbeta_M; db] = -[(K rates)_M; sum(rates)],   rates those of bounded betas.
// (Paper: M. Karasuyama, chapters 3 and 4, equations 3.9-3.14 and 4.18-4.23.)
//
// What keeps it from breaking: only an instance whose residual really leaves its interval enters,
// one at a time; one that depends on the margin set is exchanged along the null vector; drift is
// handed to the targets and returned over what is left of the walk; ties that cycle are broken the
// same way.
#pragma once

#include "base/interrupt.hpp"
#include "kernel/kernel_rows.hpp"
#include "path/local_walk.hpp"
#include "path/margin_set.hpp"
#include "path/rates.hpp"
#include "path/record.hpp"
#include "path/residuals.hpp"
#include "problem/quality.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace alphapath {

/// Rates below this share of what they are a sum of are rounding.
inline constexpr double relative_noise = 1e-14;

struct PathModel {
  double epsilon = 0;
  bool has_equality = true;
  /// Whether stored kernel values are inner products about one fixed origin already.
  bool is_centred = false;
};

class PathWalker {
public:
  PathWalker(const KernelRows& kernel, const PathModel& model);

  // -- the instances and where they are; call between walks

  /// Describes instances; they become absent, with beta = 0. Their residuals are computed.
  void define(std::span<const std::size_t> instances, std::span<const double> targets,
              std::span<const double> lower_scale, std::span<const double> upper_scale);
  /// Begins at `beta` with weights c: feasible, near the optimum or not. Walks from here begin on
  /// the optimum of targets moved so that beta is optimal, and return to the true ones.
  PathStatus start(std::span<const double> beta, std::span<const double> weights);
  /// The kernel has more instances than before (absent ones).
  void grow();

  // -- walking

  /// Weights c0 + tau dc from tau = from, where they are the present ones.
  void aim(std::span<const double> c0, std::span<const double> dc, double from);
  /// Until the next arrival, adds (absent so far) enter with these weights and removes go out.
  void drive(std::span<const std::size_t> adds, std::span<const double> weights,
             std::span<const std::size_t> removes);
  /// Whether betas of both signs are possible before and after such a drive: else all are 0.
  bool can_drive(std::span<const std::size_t> adds, std::span<const double> weights,
                 std::span<const std::size_t> removes) const;
  PathStatus walk(double to, std::int64_t max_events, Watch& watch);
  /// To the last of the stops (ascending), or to an earlier one, once there were `events_alone`
  /// events: residuals should be recomputed there. Drift that was found on the way is returned by
  /// the next stop; otherwise none of them ends a piece.
  PathStatus walk_past(std::span<const double> stops, std::int64_t events_alone,
                       std::int64_t max_events, Watch& watch);
  /// Recomputes all residuals. Returns the largest distance outside an interval.
  double refresh();
  /// From here on the walk is optimal at every breakpoint. Its pieces are kept, or dropped as soon
  /// as scores have been summed along them.
  void record(bool is_on, bool keeps_pieces = true) { recorder_.begin(is_on, keeps_pieces); }
  /// Walks that only lead from a start to its solution, at one place of the path: no pieces.
  void pause(bool is_on) { is_paused_ = is_on; }
  /// Sums the error of these rows, whatever their weights, along all that is recorded from here.
  void score(std::span<const std::size_t> rows, std::span<const double> shares, Metric metric);

  // -- reading

  double tau() const { return tau_; }
  double bias() const { return bias_; } // of the stored kernel: offsets left out
  std::span<const double> residuals() const { return residuals_.e; }
  std::span<const double> betas() {
    finish_betas();
    return beta_;
  }
  const std::vector<Place>& places() const { return place_; }
  std::size_t n_margin() const { return margin_.members.size(); }
  double rounding_floor() const;
  /// What residuals may have lost, since they were computed, to betas that moved on.
  double past_rounding() const;
  double target_scale() const { return target_scale_; }
  /// By how much sum(beta) is off 0, relative to sum(|beta|).
  double imbalance();
  /// Of the present solution, by the residuals as they are.
  Quality measure();
  const PathCounts& counts() const { return counts_; }
  Curve take_curve() { return recorder_.take_curve(); }
  PathPieces take_pieces() { return recorder_.take_pieces(); }

private:
  friend class LocalWalk;
  friend class Followers;

  struct Event {
    enum Kind { none, enters, leaves } kind = none;
    double step = 0;
    std::size_t instance = 0; // that enters
    std::size_t position = 0; // in the margin set, of the one that leaves
    bool is_up = false;       // enters at hi, or leaves at its upper bound
  };
  struct Bounds {
    double lower, upper, lower_rate, upper_rate;
  };
  // Steps of no length in a row that mean a tie rather than many events at one place.
  static constexpr std::int64_t max_idle = 200;
  // Of a member, relative to its diagonal, where a factor begins.
  static constexpr double least_start_pivot = 1e-12;

  // bias_pieces.cpp
  void write_piece(double step);
  void write_part(double at, double end, double shift, double shift_rate);
  bool are_members_bounded() const;

  // walker.cpp
  void set_place(std::size_t i, Place place);
  void choose_origin();
  void measure_scales();
  Turn take_turn(double to, PathStatus& status);
  Event next_event(double limit) const;
  void advance(double step);
  void write_change(std::size_t i);
  bool must_end(PathStatus& status, std::int64_t max_events, Watch& watch) const;

  // A part: the walker on the near instances alone.
  PathWalker(const PathWalker& all, NearKernel& kernel);
  std::uint32_t instance(std::size_t i) const;
  std::size_t follow(std::size_t i);
  void record_in(Recorder& all);
  bool needs_others(double step) const;
  Turn walk_part(double to, double horizon, const WalkLimits& limits);

  // moves.cpp
  PathStatus enter(std::size_t i, bool at_hi);
  PathStatus insert(std::size_t i, bool goes_up, double change);
  bool is_null_balanced(double own) const;
  bool exchange(std::size_t i, const double* row, bool goes_up);
  void recentre_bias();
  void settle_at_bound(std::size_t i, bool at_upper);
  double rate_at_bound(std::size_t i, bool at_upper) const;
  void take_out(std::size_t position);
  void leave(std::size_t position, bool at_upper);
  bool jump_bias(PathStatus& status);
  void ramp();
  void arrive();

  // direction.cpp
  double set_rate(std::size_t i, double rate);
  void set_rates(std::span<const std::size_t> instances, std::span<const double> rates);
  void renew_rates();
  void find_direction(double limit);
  void find_crossing(double limit);
  void correct_members();
  bool needs_refinement(double step) const;
  void refine_direction(double limit);

  // residuals.cpp
  void order_members();
  PathStatus build_factor();
  void multiply_betas(std::span<double> out) const;
  void compute_residuals();
  void compute_products();
  void renew(PathStatus& status);
  void hand_drift_to_targets();
  double driven_beta(std::size_t i) const;
  double bounded_beta(std::size_t i, Place place, double tau) const;
  void settle_beta(std::size_t i);
  void settle_betas();
  double finish_betas();
  double root_of(std::size_t i) const;
  Boxed boxed(std::size_t i) const;
  BoxRounding rounding_of_betas() const;

  bool is_one_piece(std::size_t i) const {
    return (model_.epsilon == 0) & (lower_scale_[i] < 0) & (upper_scale_[i] > 0);
  }
  double weight(std::size_t i) const { return c0_[i] + tau_ * dc_[i]; }
  Bounds bounds_of(std::size_t i, double beta_side) const;
  double margin_of(std::size_t i) const { return side_[i] > 0 ? -model_.epsilon : model_.epsilon; }
  double sum_of_rates() const;
  bool is_still() const;
  double random();

  const KernelRows& kernel_;
  PathModel model_;
  std::size_t n_ = 0, width_ = 0; // width_: n_ rounded up, the length of the vectors
  // One value an instance.
  AlignedVector<double> target_, lower_scale_, upper_scale_, c0_, dc_;
  AlignedVector<double> beta_; // of margin members; of the others as of settle_betas
  AlignedVector<double> drive_end_;
  std::vector<Place> place_;
  std::vector<std::int8_t> side_; // the half of the box a margin or driven instance is in

  std::vector<std::size_t> driven_;
  NearPart near_; // where this is a part
  LocalWalk local_walk_;
  MarginSet margin_;
  Rates rates_;
  Residuals residuals_;
  Direction direction_;
  double moved_ = 0; // |betas| that went through e since it was computed, times scale_
  double tau_ = 0, walk_end_ = 0, bias_ = 0;
  double drive_begin_ = 0; // tau where driving began
  double sum_return_ = 0;  // rate at which a defect of sum(beta) is returned
  double scale_ = 0;       // of kernel values about the origin
  double target_scale_ = 1;
  bool has_return_ = false, needs_correction_ = false, has_moving_bounds_ = false;
  bool is_definite_ = true; // else the margin set has no factor, and no walk begins
  bool is_paused_ = false;
  std::int64_t n_idle_ = 0, updates_at_refresh_ = 0;
  std::uint64_t random_ = 0x9E3779B97F4A7C15u;
  PathCounts counts_;
  Recorder recorder_;
};

} // namespace alphapath
