// Follows the exact solution of a ranking model while the weights of its pairs move.
//
//   minimise 1/2 |sum_p beta_p phi_p|^2 - r(tau)'beta,   0 <= beta_p <= c_p(tau) = c0 + tau dc
//
// phi_p = phi_i - phi_j for the pair p = (i, j); no bias. It is the walk of path/walker.hpp on the
// pair-difference kernel, but nothing of it is as long as the pairs: the residual of a pair is
//   e_p = f_i - f_j - r_p,    e = 0 on the margin,  e >= 0 where beta = 0,  e <= 0 where beta = c,
// with f and its rate on instances. Between events [Phi'Phi]_MM dbeta_M = -(de of bounded pairs)_M.
// Pairs that can be next are found in a window: those with |e| <= R when it was made. It holds as
// long as no two scores of a query moved apart by more than R: as |phi_p| |v - v_window| bounds it,
// and then only the instances of the window need scores until the next one; or, where that bound is
// too loose or scores come for nothing, as is seen on all instances.
// (Paper: M. Karasuyama, section 4.5.2, with the path of section 4.3.)
//
// What three margin pairs say of a fourth ((i,j), (k,j), (k,l) of (i,l)) makes exact ties common
// here: such a pair has rate 0, which is rounding as seen, and does not enter. Targets r are 1;
// what drift or a tie asks for is added to them and returned by the end of a walk.
#pragma once

#include "base/interrupt.hpp"
#include "factor/margin_set_factor.hpp"
#include "path/record.hpp"
#include "ranking/score_space.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace alphapath {

class PairWalker {
public:
  PairWalker(const ScoreSpace& space, const RankPairs& pairs);

  /// Begins at a feasible beta with weights c, near the optimum or not: the next walk begins with
  /// targets for which beta is optimal, and returns to the true ones.
  PathStatus start(std::span<const double> beta, std::span<const double> weights);
  /// Weights c0 + tau dc from tau = from, where they are the present ones.
  void aim(std::span<const double> c0, std::span<const double> dc, double from);
  PathStatus walk(double to, std::int64_t max_events, Watch& watch);
  /// Recomputes scores from betas. Returns the largest KKT violation of a pair.
  double refresh();
  void record(bool is_on);

  double tau() const { return tau_; }
  const std::vector<double>& betas() {
    settle_betas();
    return beta_;
  }
  const std::vector<Place>& places() const { return place_; }
  std::size_t n_margin() const { return members_.size(); }
  double rounding_floor() const;
  const PathCounts& counts() const { return counts_; }
  PathPieces take_pieces() { return std::exchange(pieces_, {}); }

private:
  struct Event {
    enum Kind { none, enters, leaves } kind = none;
    double step = 0;
    std::size_t at = 0; // the pair that enters, or the position of the one that leaves
    bool is_up = false; // leaves at its upper bound
  };

  // Directions, and turns along them.
  void find_direction();
  double window_room() const;
  Event next_event(double limit) const;
  void advance(double step);
  void write_piece();
  bool must_end(PathStatus& status, std::int64_t max_events, Watch& watch) const;
  void make_window();
  void complete_scores();
  template <class Value> double spread_of(Value value) const;

  // Moves at one place: in and out of the margin set, and what drift and ties ask for.
  PathStatus enter(std::size_t p);
  PathStatus insert(std::size_t p, bool goes_up);
  bool exchange(std::size_t p, bool goes_up);
  void leave(std::size_t position, bool at_upper);
  void set_place(std::size_t p, Place place);
  PathStatus build_factor();
  void compute_scores();
  void compute_rates();
  void renew(PathStatus& status);
  void hand_drift_to_targets();
  void ramp();
  void arrive();
  void settle_betas();
  double random();

  std::size_t better(std::size_t p) const { return static_cast<std::size_t>(pairs_.better[p]); }
  std::size_t worse(std::size_t p) const { return static_cast<std::size_t>(pairs_.worse[p]); }
  double weight(std::size_t p) const { return c0_[p] + tau_ * dc_[p]; }
  double residual(std::size_t p) const {
    return f_[better(p)] - f_[worse(p)] - 1 - return_[p] * (walk_end_ - tau_);
  }
  double residual_rate(std::size_t p) const { return df_[better(p)] - df_[worse(p)] + return_[p]; }
  void add_pair(std::size_t p, double coef, std::vector<double>& v) const;
  void add_members(std::span<const double> coef, std::vector<double>& v);
  /// <phi_p, v> for every member p.
  void member_values(const std::vector<double>& v, std::vector<double>& out);

  const ScoreSpace& space_;
  const RankPairs& pairs_;
  // One value a pair.
  std::vector<double> c0_, dc_, beta_, return_;
  std::vector<Place> place_;
  // One value an instance.
  std::vector<double> f_, df_; // those of the window only, unless has_all_scores_
  std::vector<double> f_window_;
  // Directions.
  std::vector<double> v_, dv_, rates_, image_, v_window_;
  // One value a member of the margin set.
  std::vector<std::uint32_t> members_;
  std::vector<double> dbeta_, column_;
  std::vector<std::int32_t> rows_, row_slot_;
  std::vector<double> coefs_, values_;

  std::vector<std::uint32_t> window_;
  std::vector<std::int32_t> window_rows_;
  std::vector<double> window_scores_;
  std::vector<double> sizes_;
  double window_share_ = 0.25; // pairs in a window, as a share of the instances
  double radius_ = 0, least_radius_ = 0, tau_window_ = 0, largest_return_ = 0;
  std::int64_t events_at_window_ = 0;
  MarginSetFactor factor_;
  double tau_ = 0, walk_end_ = 0, scale_ = 0, rates_size_ = 0, direction_size_ = 0;
  double noise_ = 0, beta_noise_ = 0, residual_noise_ = 0;
  bool needs_correction_ = false, has_all_scores_ = true;
  bool is_building_ = false; // scores are recomputed after it
  std::int64_t n_idle_ = 0, updates_at_refresh_ = 0;
  std::uint64_t random_ = 0x9E3779B97F4A7C15u;
  PathCounts counts_;
  bool is_recording_ = false;
  bool is_aimed_ = false; // else a walk only leads from a start to its solution: no piece of a path
  PathPieces pieces_;
};

} // namespace alphapath
