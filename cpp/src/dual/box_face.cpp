#include "dual/box_face.hpp"

#include "base/isa.hpp"
#include "simd/dual/box_face_loops.hpp"
#include "simd/dual/state_loops.hpp"

#include <cmath>

namespace alphapath {

BoxFace::BoxFace(const BoxProblem& problem, const FreeSetFactor& factor, std::span<double> beta)
    : factor_(factor), beta_(beta) {
  for (const std::uint32_t i : factor.members()) {
    const Piece piece = smooth_piece(problem, i, beta[i]);
    own_.push_back(beta[i]);
    lower_.push_back(piece.lower);
    upper_.push_back(piece.upper);
  }
}

void BoxFace::project(std::span<double> x) const {
  const double sum = ALPHAPATH_DISPATCH(sum_and_size)(x.data(), size()).sum;
  ALPHAPATH_DISPATCH(add_multiple)
  (-sum / factor_.ones_sum(), factor_.ones().data(), size(), x.data());
  for (std::size_t q = 0; q < positions_.size(); ++q)
    take_out(q, x);
}

void BoxFace::take_out(std::size_t q, std::span<double> d) const {
  const std::size_t at = positions_[q];
  ALPHAPATH_DISPATCH(add_multiple)
  (-d[at] / conjugates_[q][at], conjugates_[q].data(), size(), d.data());
  d[at] = 0;
}

void BoxFace::deflect(std::span<double> d) const {
  take_out(positions_.size() - 1, d);
}

std::pair<std::size_t, double> BoxFace::step(std::span<const double> d, double limit) {
  const auto [least, at] = ALPHAPATH_DISPATCH(find_first_hit)(own_.data(), d.data(), lower_.data(),
                                                              upper_.data(), size());
  const bool is_blocked = least < limit;
  const double step = is_blocked ? least : limit;
  if (std::isinf(step)) // nobody moves along d
    return {size(), 0.0};
  ALPHAPATH_DISPATCH(move_within)
  (step, d.data(), lower_.data(), upper_.data(), size(), own_.data());
  if (is_blocked)
    own_[at] = d[at] > 0 ? upper_[at] : lower_[at];
  const std::vector<std::uint32_t>& members = factor_.members();
  for (std::size_t k = 0; k < size(); ++k)
    beta_[members[k]] = own_[k];
  return {is_blocked ? at : size(), step};
}

bool BoxFace::fix(std::size_t p) {
  hold(p);
  std::vector<double> conjugate(size());
  factor_.solve_unit(p, conjugate);
  project(conjugate);
  if (!(conjugate[p] > 0) || positions_.size() + 3 > size())
    return false;
  positions_.push_back(p);
  conjugates_.push_back(std::move(conjugate));
  return true;
}

} // namespace alphapath
