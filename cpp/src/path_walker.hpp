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

#include "alphapath/box_problem.hpp"
#include "alphapath/interrupt.hpp"
#include "alphapath/kernel_rows.hpp"
#include "alphapath/path.hpp"
#include "alphapath/quality.hpp"
#include "path_factor.hpp"
#include "path_far.hpp"
#include "simd/path_loops.hpp"

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

class NearKernel;

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
  void record(bool is_on, bool keeps_pieces = true);
  /// Walks that only lead from a start to its solution, at one place of the path: no pieces.
  void pause(bool is_on) { is_paused_ = is_on; }
  /// Sums the error of these rows, whatever their weights, along all that is recorded from here.
  void score(std::span<const std::size_t> rows, std::span<const double> shares, Metric metric);

  // -- reading

  double tau() const { return tau_; }
  double bias() const { return bias_; } // of the stored kernel: offsets left out
  std::span<const double> residuals() const { return e_; }
  std::span<const double> betas() {
    finish_betas();
    return beta_;
  }
  const std::vector<Place>& places() const { return place_; }
  std::size_t n_margin() const { return members_.size(); }
  double rounding_floor() const;
  /// What residuals may have lost, since they were computed, to betas that moved on.
  double past_rounding() const;
  double target_scale() const { return target_scale_; }
  /// By how much sum(beta) is off 0, relative to sum(|beta|).
  double imbalance();
  /// Of the present solution, by the residuals as they are.
  Quality measure();
  const PathCounts& counts() const { return counts_; }
  Curve take_curve() { return std::exchange(scored_, std::nullopt)->sums.curve(); }
  PathPieces take_pieces() { return std::exchange(pieces_, {}); }

private:
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
  /// Rows with a score, and room for their values.
  struct Scored {
    std::vector<std::size_t> rows;
    std::vector<std::size_t> position; // of an instance among them
    std::vector<double> residual, rate;
    CurveSums sums;
    AlignedVector<double> side; // of errors: that of each row, 0 where it has no score
  };
  /// What comes after a turn.
  enum class Turn { goes_on, ends, needs_renewal };
  /// When a walk stops on the way.
  struct Limits {
    PathStatus& status;
    std::int64_t max_events;
    Watch& watch;
  };
  // Steps of no length in a row that mean a tie rather than many events at one place.
  static constexpr std::int64_t max_idle = 200;
  // Of a member, relative to its diagonal, where a factor begins.
  static constexpr double least_start_pivot = 1e-12;
  // Turns of a walk on all instances before it looks at the near ones alone.
  static constexpr std::int64_t turns_before_near = 2;

  // path_pieces.cpp
  void write_piece(double step);
  void write_part(double at, double end, double shift, double shift_rate);
  void write_scores(double at, double end, double shift, double shift_rate);
  bool are_members_bounded() const;

  // path_walker.cpp
  Turn take_turn(double to, PathStatus& status);
  void find_direction(double limit);
  void find_crossing(double limit);
  Event next_event(double limit) const;
  void advance(double step);
  void settle_residuals();
  void write_change(std::size_t i);
  bool must_end(PathStatus& status, std::int64_t max_events, Watch& watch) const;

  // path_near.cpp
  /// Memory kept from one part to the next; a copy of a walker begins without.
  struct Scratch {
    Buffer<double> values;
    AlignedVector<double> panel;
    std::vector<double> open_rows;
    PartMoves moves;
    FollowedResiduals followed;

    Scratch() = default;
    Scratch(const Scratch&) {}
  };
  Turn walk_near(double to, const Limits& limits);
  double choose_near();
  void list_near(std::vector<std::uint32_t>& followed, std::vector<std::uint32_t>& hidden) const;
  void wait_after(const PathWalker& part, std::int64_t n_events);
  PathStatus restore_factor(const PathWalker& part);
  bool move_far(const PathWalker& part);
  bool find_violators();
  void take_over(PathWalker& part);

  // path_part.cpp
  PathWalker(const PathWalker& all, NearKernel& kernel);
  std::uint32_t instance(std::size_t i) const;
  std::size_t follow(std::size_t i);
  void record_in(PathPieces& pieces, bool keeps_pieces);
  bool needs_others(double step) const;
  Turn walk_part(double to, double horizon, const Limits& limits);

  // path_far.cpp
  bool follow_far(const PathWalker& part, const PieceCounts& begin);
  void list_movers(const PieceCounts& begin, PartMoves& moves) const;
  void list_moves(const PathWalker& part, const PieceCounts& begin, PartMoves& moves) const;
  void multiply_moves(const PartMoves& moves, std::span<const std::size_t> points,
                      double* out) const;
  FarRows describe_far(const PartMoves& moves) const;
  void set_far_interval(std::size_t i, FarRows& far) const;
  bool look_at_far(std::size_t i, std::size_t a, std::span<const double> e, double floor,
                   FarRows& far, Passages& passages);
  std::vector<const double*> copy_rows(const PartMoves& moves,
                                       std::span<const std::uint32_t> instances, FarRows& far);
  bool look_between(const PartMoves& moves, std::size_t a, std::size_t b, const double* e_a,
                    const double* e_b, FarRows& far, Passages& passages);
  void score_chord(double start, double end, const double* first, const double* last);

  // path_moves.cpp
  PathStatus enter(std::size_t i, bool at_hi);
  PathStatus insert(std::size_t i, bool goes_up, double change);
  bool is_null_balanced(double own) const;
  bool exchange(std::size_t i, const double* row, bool goes_up);
  void recentre_bias();
  void settle_at_bound(std::size_t i, bool at_upper);
  double rate_at_bound(std::size_t i, bool at_upper) const;
  void take_out(std::size_t position);
  std::span<const double> column_of(std::size_t i, const double* row,
                                    std::span<const std::uint32_t> members);
  void set_members(std::vector<std::uint32_t> members);
  void leave(std::size_t position, bool at_upper);
  bool jump_bias(PathStatus& status);
  void ramp();
  void arrive();

  // path_precision.cpp
  void correct_members();
  double solve_for(double total);
  bool needs_refinement(double step) const;
  void refine_direction(double limit);

  // path_start.cpp
  void set_place(std::size_t i, Place place);
  void choose_origin();
  void measure_scales();

  // path_rates.cpp
  double set_rate(std::size_t i, double rate);
  double carried_shift(std::size_t i, double change) const;
  void set_rates(std::span<const std::size_t> instances, std::span<const double> rates);
  double count_rate(std::size_t i, double rate);
  void renew_rates();
  bool stand_still();
  void keep_rates();
  void multiply_rates();
  bool scale_rates();

  // path_residuals.cpp
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
  double block_value(const double* row, std::size_t own, std::size_t other) const {
    return row[other] - origin_[own] - origin_[other] + sigma_;
  }
  const double* row_of(std::size_t position) const {
    return static_cast<const double*>(rows_[position].data);
  }
  simd::Intervals intervals() { return {e_.data(), lo_.data(), hi_.data()}; }
  double sum_of_rates() const;
  bool is_still() const;
  double random();

  const KernelRows& kernel_;
  PathModel model_;
  std::size_t n_moving_ = 0;      // rates that are not 0
  std::size_t n_ = 0, width_ = 0; // width_: n_ rounded up, the length of the vectors
  std::size_t followed_ = 0;      // the first so many have their residuals kept up to date
  // One value an instance.
  AlignedVector<double> target_, lower_scale_, upper_scale_, c0_, dc_;
  AlignedVector<double> beta_; // of margin members; of the others as of settle_betas
  AlignedVector<double> drive_end_, e_, de_, lo_, hi_, h_, rate_, return_;
  AlignedVector<double> origin_;
  AlignedVector<double> last_rate_, last_h_; // of the last walk that weights moved; may be empty
  std::vector<Place> place_;
  std::vector<std::int8_t> side_; // the half of the box a margin or driven instance is in
  // One value a margin member.
  std::vector<std::uint32_t> members_;
  std::vector<KernelRow> rows_;
  std::vector<double> dbeta_;
  std::vector<const double*> row_pointers_;
  std::vector<double> column_;

  std::vector<std::size_t> driven_;
  double far_rates_ = 0;              // of a part: the sum of rates of those not in it
  NearKernel* near_kernel_ = nullptr; // of a part
  std::vector<std::int8_t> is_near_;
  AlignedVector<double> far_e_, times_;
  Scratch scratch_;
  PathFactor factor_;
  double step_left_ = 0; // that e has not gone along de yet
  double moved_ = 0;     // |betas| that went through e since it was computed, times scale_
  double tau_ = 0, walk_end_ = 0, bias_ = 0, dbias_ = 0;
  double drive_begin_ = 0;   // tau where driving began
  double sum_return_ = 0;    // rate at which a defect of sum(beta) is returned
  double largest_rates_ = 0; // that rates_size_ was since h was computed
  double sigma_ = 0, scale_ = 0, rates_size_ = 0, direction_size_ = 0, noise_ = 0, beta_noise_ = 0,
         residual_noise_ = 0;
  double target_scale_ = 1;
  simd::Crossing crossing_{}; // of the direction
  bool has_return_ = false, needs_correction_ = false, has_moving_bounds_ = false;
  bool is_definite_ = true; // else the margin set has no factor, and no walk begins
  // Whether the factor carries the right-hand side of the present rates, and since how many turns.
  bool is_carried_ = false;
  int n_carried_ = 0;
  double carried_total_ = 0;     // that its solution sums to
  double carried_size_ = 0;      // of the rates when it was computed
  bool is_lost_ = false;         // a part that must be dropped
  bool needs_all_ = false;       // a part whose next turn is for all instances
  FollowedResiduals followed_e_; // of a part
  std::int64_t turns_to_near_ = 0, turns_waited_ = 0;
  double time_share_ = 0.7; // of what others would leave after, on a part
  bool has_rates_ = false;  // those of residuals are about right, after a part
  std::int64_t n_idle_ = 0, updates_at_refresh_ = 0;
  std::uint64_t random_ = 0x9E3779B97F4A7C15u;
  PathCounts counts_;
  bool is_recording_ = false, keeps_pieces_ = true, is_paused_ = false;
  std::optional<Scored> scored_;
  bool keeps_errors_ = false; // scores are errors, which change only where a sign does
  PathPieces pieces_;
};

} // namespace alphapath
