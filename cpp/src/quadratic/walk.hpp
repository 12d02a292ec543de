// The walk along lambda: its state between two events, and the moves.
#pragma once

#include "base/interrupt.hpp"
#include "quadratic/arrangement.hpp"
#include "quadratic/events.hpp"
#include "quadratic/poles.hpp"
#include "quadratic/problem.hpp"

#include <span>
#include <vector>

namespace alphapath::secular {

/// Shorter stretches, relative to lambda, are not worth a piece or a gap of their own.
constexpr double longest_unseen = 1e-8;

/// Which end of its box an instance is tied to.
enum class Tie : std::int8_t { none, zero, bound };

class Walk {
public:
  Walk(const QuadraticProblem& problem, const QuadraticPathOptions& options);

  QuadraticPath run(std::span<const double> guess);

private:
  // The parts of one round, in their order (secular_path.cpp).
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

  // State (walk.cpp).
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
  std::vector<double> v_, D_, W_, residual_, work_;
  std::vector<Tie> ties_;        // by instance
  std::vector<double> abs_sums_; // by instance: sum_j |Q_ij| min(r_j, u_j)
  std::vector<double> roots_;    // by instance: sqrt(Q_ii)
  double largest_sum_ = 0, largest_root_ = 0, root_sum_ = 0; // root_sum_: sum_j sqrt(Q_jj) a_j
  std::vector<Equation> equations_;
  std::vector<Tie> ends_; // of equations_
};

} // namespace alphapath::secular
