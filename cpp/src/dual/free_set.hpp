// Exact minimisation over the free set M (strictly inside its box, away from the kink).
//
//   minimise over delta_M:  1/2 delta' K_MM delta + g_M' delta   subject to  sum(delta) = 0, box
//
// Newton's direction is followed to the first bound; there the factor is left alone and one solve
// with a unit vector, made conjugate to the earlier ones, turns the rest of the direction into
// Newton's direction on the smaller face. It ends at the minimiser of the last face.
#pragma once

#include "dual/box_face.hpp"
#include "factor/free_set_factor.hpp"
#include "problem/box_problem.hpp"

#include <functional>

namespace alphapath {

/// Serves any number of problems on one kernel; the factor is kept from one call to the next.
class FreeSet {
public:
  explicit FreeSet(const KernelRows& kernel)
      : kernel_(kernel), factor_(kernel), n_(kernel.size()) {}

  /// A bound from below on estimate_cost, cheap enough to ask often.
  static double least_cost(std::size_t n_free, std::size_t n, double n_expected_hits = 0) {
    const double m = static_cast<double>(n_free);
    return 5000 + 0.25 * m * (static_cast<double>(n) + n_expected_hits * m);
  }

  /// Whether a factor of this many members is small, or fits into the memory a solver may use.
  static bool fits(std::size_t n_free, std::size_t memory_limit) {
    constexpr double always = 64e6;
    return FreeSetFactor::bytes_for(n_free) <= std::max(always, static_cast<double>(memory_limit));
  }

  /// Estimated nanoseconds of a call for these free instances, from counts alone (so that the
  /// choice is the same on every run).
  double estimate_cost(const std::vector<std::uint32_t>& free, double n_expected_hits);

  /// Starts without a factor.
  void clear() {
    withdraw_offer();
    factor_.copy_from(FreeSetFactor(kernel_));
  }

  /// Begins without one, too, but may take that of `make()` (of the same kernel), whose members are
  /// these, in the first call where that is cheaper than a new one. `share` of its cost is taken
  /// into account, whether or not it is made already: others may use it as well.
  void offer(std::vector<std::uint32_t> members, double share,
             std::function<const FreeSet&()> make);

  void withdraw_offer() { offer_ = {}; }

  /// Makes the factor of these members, which are free at `beta`.
  void prepare(const BoxProblem& problem, const std::vector<std::uint32_t>& members,
               std::span<const double> beta, Watch& watch);

  /// Moves beta on `free`, given the gradient of all instances. Returns the number of bounds hit,
  /// or -1 where nothing could be done.
  int minimise(const BoxProblem& problem, std::vector<std::uint32_t> free,
               std::span<const double> gradient, std::span<double> beta, Watch& watch);

private:
  int follow_newton(BoxFace& face, std::span<const double> slopes, Watch& watch) const;
  void find_kept(const std::vector<std::uint32_t>& free);
  void order_members(const BoxProblem& problem, const std::vector<std::uint32_t>& free,
                     std::span<const double> beta);

  /// A factor that can be had.
  struct Offer {
    std::vector<std::uint32_t> members;
    double cost = 0;
    std::function<const FreeSet&()> make; // empty where there is none
  };
  double offered_cost(const std::vector<std::uint32_t>& free);
  double own_cost(const std::vector<std::uint32_t>& free);
  void take_offer(const std::vector<std::uint32_t>& free);

  const KernelRows& kernel_;
  FreeSetFactor factor_;
  std::size_t n_;
  Offer offer_;
  std::vector<char> is_free_;
  std::vector<std::uint32_t> order_; // members of the next factor: kept ones, then new ones
  std::vector<std::size_t> removed_; // positions among the first n_considered_, not free any more
  std::size_t n_considered_ = 0;     // members of the last factor worth keeping or removing singly
  std::size_t n_kept_ = 0;
};

} // namespace alphapath
