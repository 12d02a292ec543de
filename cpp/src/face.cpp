#include "face.hpp"

#include <cmath>
#include <numeric>

namespace alphapath {

Face::Face(const BoxProblem& problem, const Factor& factor, std::span<double> beta)
    : factor_(factor), beta_(beta), is_fixed_(factor.size(), 0) {
  for (const std::uint32_t i : factor.members())
    pieces_.push_back(smooth_piece(problem, i, beta[i]));
}

void Face::project(std::span<double> x) const {
  const double shift = std::accumulate(x.begin(), x.end(), 0.0) / factor_.ones_sum();
  for (std::size_t k = 0; k < size(); ++k)
    x[k] -= shift * factor_.ones()[k];
  for (std::size_t q = 0; q < positions_.size(); ++q)
    take_out(q, x);
}

void Face::take_out(std::size_t q, std::span<double> d) const {
  const std::size_t at = positions_[q];
  const double ratio = d[at] / conjugates_[q][at];
  for (std::size_t k = 0; k < size(); ++k)
    d[k] -= ratio * conjugates_[q][k];
  d[at] = 0;
}

void Face::deflect(std::span<double> d) const {
  take_out(positions_.size() - 1, d);
}

std::pair<std::size_t, double> Face::step(std::span<const double> d, double limit) {
  const std::vector<std::uint32_t>& members = factor_.members();
  std::size_t blocking = size();
  double step = limit, bound = 0;
  for (std::size_t k = 0; k < size(); ++k) {
    if (is_fixed_[k] || d[k] == 0)
      continue;
    const double end = d[k] > 0 ? pieces_[k].upper : pieces_[k].lower;
    const double room = std::max((end - beta_[members[k]]) / d[k], 0.0);
    if (room < step) {
      step = room;
      blocking = k;
      bound = end;
    }
  }
  if (std::isinf(step)) // nobody moves along d
    return {size(), 0.0};
  for (std::size_t k = 0; k < size(); ++k)
    if (!is_fixed_[k]) {
      double& b = beta_[members[k]];
      b = std::clamp(b + step * d[k], pieces_[k].lower, pieces_[k].upper);
    }
  if (blocking < size())
    beta_[members[blocking]] = bound;
  return {blocking, step};
}

bool Face::fix(std::size_t p) {
  is_fixed_[p] = 1;
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
