// A face of the box: the free members of a factor, some of them fixed on the way, and what keeps a
// direction on the face of those that are left.
#pragma once

#include "factor/free_set_factor.hpp"
#include "problem/box_problem.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace alphapath {

/// With H = A^-1 - A^-1 1 1' A^-1 / (1' A^-1 1), the direction H x keeps the sum, and -H g is
/// Newton's. Fixing member p takes its conjugate w = H e_p (on the face at that time) out of every
/// direction: what is left keeps p at rest and is Newton's direction on the smaller face.
class BoxFace {
public:
  /// beta of all instances; moves only members of the factor.
  BoxFace(const BoxProblem& problem, const FreeSetFactor& factor, std::span<double> beta);

  std::size_t size() const { return factor_.size(); }
  bool is_sound() const { return factor_.ones_sum() > 0; }

  /// Keeps member k out of every step, without a place in the directions of the others.
  void hold(std::size_t k) { lower_[k] = upper_[k] = own_[k]; }

  /// Turns A^-1 x into H x on this face.
  void project(std::span<double> x) const;

  /// Moves along d by at most `limit` and puts the member that blocks exactly on its bound.
  /// Returns its position, or size() if no member blocks, and the step.
  std::pair<std::size_t, double> step(std::span<const double> d, double limit);

  /// Leaves member p where it is from now on. False where too few are left to move.
  bool fix(std::size_t p);

  /// Takes the conjugate of the member fixed last out of d.
  void deflect(std::span<double> d) const;

  /// H e_p of the member fixed last.
  std::span<const double> last_conjugate() const { return conjugates_.back(); }

private:
  void take_out(std::size_t q, std::span<double> d) const;

  const FreeSetFactor& factor_;
  std::span<double> beta_;
  std::vector<double> own_;                     // beta of the members
  std::vector<double> lower_, upper_;           // their smooth pieces; a single point for who stays
  std::vector<std::size_t> positions_;          // of the members fixed, in order
  std::vector<std::vector<double>> conjugates_; // H e_p on the face at that time
};

} // namespace alphapath
