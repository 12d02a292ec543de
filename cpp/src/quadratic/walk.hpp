// The exact path of a quadratic-loss SVM over lambda (paper's chapter 5, in difference form).
//
//   solve at lambda_start
//   repeat  poles of the free set:  a(lambda_0 - x) = a_0 - x sum_k Z_k / (D_k - x)
//           tied instances whose slack would turn negative change sides, lowest index first
//           first zero among all slacks  s_0 + x (e + sign sum_k W_k / (D_k - x))
//           move there; its instance changes sides
//   until lambda_end
//
// With v = (r - a_0)_F the residue of a is Z = v's fractions, of Q_OF a it is Q_OF Z. Ties
// (duplicates, symmetric data) are resolved with lambda fixed, by signs of derivatives only:
// least-index pivoting on a positive definite complementarity problem, which is finite. Every piece
// ends with all slacks recomputed; one that is negative beyond rounding, or a place where pivoting
// does not end, is left behind by a jump: the Newton solver a little further along (n_resets).
#pragma once

#include "base/interrupt.hpp"
#include "quadratic/arrangement.hpp"
#include "quadratic/events.hpp"
#include "quadratic/poles.hpp"
#include "quadratic/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace alphapath {

struct QuadraticPathOptions {
  double lambda_start = 0, lambda_end = 0; // either may be the larger
  bool uses_eigen = false;                 // all eigenvalues at each event, instead of Lanczos
  bool has_cutoff = true;                  // false: solve each equation to the end, to count
  bool keeps_segments = true;              // false: only the events
  std::int64_t max_events = -1;
  double time_limit = 0; // seconds; 0: none
  std::function<bool()> wants_stop;
};

/// One set change, at `lambda`.
struct QuadraticEvent {
  double lambda;
  std::int32_t instance;
  Side from, to;
};

/// A piece of the path: for lambda between `first` and `last`, with x = first - lambda,
///   a(lambda) = a_first - x (drift + sum_k Z_k / (D_k - x))   on the free instances.
/// The drift is zero but for rounding: it takes the fractions to the refined a at `last`.
struct QuadraticSegment {
  double first = 0, last = 0;
  std::size_t n_events;              // set changes before this piece
  std::vector<std::int32_t> members; // the free instances
  std::vector<double> a, drift, poles,
      residues; // residues: one column of members.size() for each pole
};

enum class QuadraticPathStatus {
  finished = 0,
  event_limit = 1,
  interrupted = 2,
  not_convex = 3,
  time_limit = 4
};

struct QuadraticPath {
  std::vector<Side> first_sides; // at lambda_start
  std::vector<double> last_a;    // at the end
  double lambda_end = 0;         // how far it came
  std::vector<QuadraticEvent> events;
  std::vector<QuadraticSegment> segments;
  std::vector<std::pair<double, double>> gaps; // jumps that a piece bridges in a straight line
  QuadraticPathStatus status = QuadraticPathStatus::finished;
  std::int64_t n_equations = 0, n_iterations = 0; // bracketing iterations over all equations
  std::int64_t n_poles = 0;                       // over all pieces
  std::int64_t n_factorizations = 0;
  std::int64_t n_resets = 0;   // degenerate places passed by the Newton solver
  double largest_residual = 0; // of the optimality condition on the free set, at piece ends
};

/// The exact path from lambda_start to lambda_end; `guess` as for solve_quadratic.
QuadraticPath follow_quadratic_path(const QuadraticProblem& problem, std::span<const double> guess,
                                    const QuadraticPathOptions& options);

namespace quadratic {

/// Shorter stretches, relative to lambda, are not worth a piece or a gap of their own.
constexpr double longest_unseen = 1e-8;

/// Which end of its box an instance is tied to.
enum class Tie : std::int8_t { none, zero, bound };

class Walk {
public:
  Walk(const QuadraticProblem& problem, const QuadraticPathOptions& options);

  QuadraticPath run(std::span<const double> guess);

private:
  // The parts of one round, in their order.
  bool begin(std::span<const double> guess);
  bool make_poles();
  bool flip_wrong_tie();
  void list_equations();
  void begin_piece();
  void end_piece(double first, bool is_exact);
  void advance(double x, double dx);
  void reach_event(double t, std::size_t equation);
  bool has_cycled();
  QuadraticPathStatus walk();

  // State.
  bool arrange(std::span<const double> a, bool is_recorded);
  bool factor();
  bool solve_here();
  bool jump();
  void bridge(double from, std::size_t n_events, std::span<const double> before);
  void add_gap(double from);
  double relative_residual() const;
  std::vector<double> a_by_instance() const;
  void flip(std::size_t position, Side to);
  void update_products();
  double worst_residual() const;
  double residual_limit() const;
  void update_residual();
  double terms_of(std::size_t position) const;
  void restore();
  void refine();
  double slack(std::size_t position, Tie end) const;
  double tie_width(std::size_t position) const;
  double error_of(std::size_t position);
  bool find_ties();
  Equation equation_of(std::size_t position, Tie end) const;
  double reach() const;

  const QuadraticPathOptions& options_;
  Arrangement arr_;
  ShiftedInverse inverse_;
  Poles poles_;
  EventSearch search_;
  Watch watch_;
  QuadraticPath path_;

  double lambda_ = 0, direction_ = 1;
  double step_share_ = 0.5;               // of lambda, how far the next event may be
  std::size_t n_flips_here_ = 0;          // set changes since lambda moved clearly
  double piece_error_ = 0;                // of its fractions, at places where they were checked
  double flips_from_ = 0;                 // lambda where these were begun to be counted
  double jump_share_ = 0, last_jump_ = 0; // the last jump's share of lambda, and where it led
  std::pair<double, double> unseen_{};    // the last jumps that are too short for a gap
  std::vector<double> v_, D_, W_, residual_, work_;
  std::vector<Tie> ties_;        // by instance
  std::vector<double> abs_sums_; // by instance: sum_j |Q_ij| min(r_j, u_j)
  std::vector<double> roots_;    // by instance: sqrt(Q_ii)
  double largest_sum_ = 0, largest_root_ = 0, root_sum_ = 0; // root_sum_: sum_j sqrt(Q_jj) a_j
  std::vector<Equation> equations_;
  std::vector<Tie> ends_; // of equations_
};

} // namespace quadratic

} // namespace alphapath
