// The box problem by a guess of the free set, from the solution of a nearby problem.
//
//   minimise 1/2 beta'K beta - r'beta,  lower <= beta <= upper,  sum(beta) = total
//
// The members M are those taken to be free. One linear system gives their betas and the bias while
// all others stay at their bounds; members that would leave the box go to its end, those first that
// would meet it first, until all are inside. Then an instance at a bound whose slope points inside
// becomes a member, goes straight to the other bound where the box is too narrow for what its slope
// asks for, or stays where others will answer for it. If no instance is left to
// change, beta is optimal to rounding. The factor of the members' block is kept from one guess to
// the next, and from one problem to the next. (After the primal-dual active set strategy, M.
// Bergounioux, K. Ito, K. Kunisch 1999, and the inner loop of C. Lawson and R. Hanson 1974.) It
// need not end: then a solver has to finish.
#pragma once

#include "factor/margin_set_factor.hpp"
#include "problem/box_problem.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace alphapath {

class ActiveSet {
public:
  /// Of a kernel in double precision.
  explicit ActiveSet(const KernelRows& kernel)
      : kernel_(kernel), is_member_(kernel.size(), 0), has_flipped_(kernel.size(), 0) {}

  /// From any beta in its box, `gradient` = K beta - r but for one number that is the same for
  /// all; both are brought up to date. True: optimal, to a violation of at most `tol`. Otherwise
  /// beta is in its box, and its sum may be off.
  ///
  /// `foreseen`, where there is any, is what foresee has written since the last solve.
  bool solve(const BoxProblem& problem, std::span<double> beta, std::span<double> gradient,
             double tol, std::span<const double> foreseen = {});

  /// Those at the ends of their boxes are about to move with them, which grow: K beta changes by
  /// `change`, the sum by `total`. Writes the slopes that all will have if no member meets an end.
  void foresee(const BoxProblem& problem, std::span<const double> beta,
               std::span<const double> gradient, std::span<const double> change, double total,
               std::span<double> slopes);

  std::int64_t n_rounds() const { return n_rounds_; }

private:
  /// A member whose pivot, relative to its diagonal, is below this depends on the others.
  static constexpr double least_pivot = 1e-11;

  /// An instance at a bound whose slope points inside.
  struct Candidate {
    double slope;
    std::uint32_t instance;
  };

  void take_free(const BoxProblem& problem, std::span<const double> beta);
  double settle(const BoxProblem& problem, std::span<double> beta, std::span<double> gradient);
  double find_step(double total);
  bool find_leavers(const BoxProblem& problem, std::span<const double> beta);
  void find_candidates(const BoxProblem& problem, std::span<const double> beta,
                       std::span<const double> gradient, double bias, double tol);
  void move_candidates(const BoxProblem& problem, std::span<double> beta,
                       std::span<double> gradient);
  void condition_candidates();
  void find_shifts(const BoxProblem& problem, std::span<const double> beta);
  bool has_room(const BoxProblem& problem, std::span<const double> beta, std::size_t i,
                double by) const;
  void insert_candidates(std::span<const std::size_t> entering);
  bool insert(std::uint32_t i);
  void remove_leavers();
  void build();
  void drop_twins();
  void choose_origin();
  bool is_worth_building(std::size_t n_changes) const;
  bool is_worn() const;
  bool is_settled(std::span<const double> gradient, double bias, double tol) const;

  static const double* values_of(const KernelRow& row) {
    return static_cast<const double*>(row.data);
  }
  /// The row of i, read from one end to the other: what is then picked from it lies in the cache.
  const double* read_row(std::size_t i) {
    const KernelRow pin = kernel_.row(i);
    row_.assign(values_of(pin), values_of(pin) + kernel_.size());
    return row_.data();
  }
  double own_value(std::size_t i) const { return kernel_.diagonal()[i] - 2 * origin_[i] + sigma_; }
  double block_value(const double* row, std::size_t own, std::size_t other) const {
    return row[other] - origin_[own] - origin_[other] + sigma_;
  }

  const KernelRows& kernel_;
  MarginSetFactor factor_;
  std::vector<std::uint32_t> members_;
  std::vector<char> is_member_, has_flipped_;
  // One value per member.
  std::vector<double> slopes_, step_, column_, columns_;
  std::vector<double> row_; // the last one read
  std::vector<char> leaves_;
  // Who moved, by how much, and to where.
  std::vector<std::size_t> moved_;
  std::vector<double> moves_, ends_;
  std::vector<Candidate> candidates_;
  // Of the candidates: L^-1 of their columns, by members; their block given these; how they move.
  std::vector<double> rows_, schur_, shifts_;
  // As in PathWalker: the origin of feature space is at one instance.
  std::vector<double> origin_;
  double sigma_ = 0;
  double n_updates_ = 0; // of the factor
  std::int64_t n_rounds_ = 0;
};

} // namespace alphapath
