#include "free_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

struct Blocking {
  double step;
  std::size_t position; // of the instance whose bound ends the step
  double bound;
};

struct Face {
  std::vector<double> direction;
  std::vector<char> is_fixed;
  std::vector<std::vector<double>> conjugates; // one for each instance fixed, in order
  std::vector<std::size_t> fixed_positions;
};

} // namespace

void FreeSet::order_members(const std::vector<std::uint32_t>& free, std::span<const double> beta) {
  is_free_.assign(problem_.kernel.size(), 0);
  for (const std::uint32_t i : free)
    is_free_[i] = 1;
  n_kept_ = factor_.kept_prefix(is_free_);
  order_.assign(factor_.members().begin(), factor_.members().begin() + n_kept_);
  for (const std::uint32_t i : order_)
    is_free_[i] = 0;
  const std::size_t head = order_.size();
  for (const std::uint32_t i : free)
    if (is_free_[i])
      order_.push_back(i);
  const auto distance = [&](std::uint32_t i) {
    const Piece piece = smooth_piece(problem_, i, beta[i]);
    return std::min(beta[i] - piece.lower, piece.upper - beta[i]);
  };
  // Those near a bound will leave first: at the end they cost the factor little.
  std::stable_sort(order_.begin() + head, order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return distance(a) > distance(b); });
}

double FreeSet::estimate_cost(const std::vector<std::uint32_t>& free,
                              std::span<const double> beta) {
  order_members(free, beta);
  const double m = static_cast<double>(order_.size());
  const double kept = static_cast<double>(n_kept_);
  const double factor = (m * m * m - kept * kept * kept) / 50 + (m * m - kept * kept) * 0.75;
  const double bound_hits = 0.2 * std::sqrt(m - kept + 1) * m * m;
  return least_cost(order_.size(), problem_.kernel.size()) + factor + bound_hits;
}

/// A^-1 x is given; makes it H x with H = A^-1 - A^-1 1 1' A^-1 / (1' A^-1 1), so that it sums to 0.
void FreeSet::project(std::span<double> x) const {
  const double shift = std::accumulate(x.begin(), x.end(), 0.0) / ones_sum_;
  for (std::size_t k = 0; k < x.size(); ++k)
    x[k] -= shift * ones_[k];
}

int FreeSet::minimise(const std::vector<std::uint32_t>& free, std::span<const double> slopes,
                      std::span<double> beta, Watch& watch) {
  order_members(free, beta);
  if (!factor_.set_members(order_, n_kept_, watch))
    return -1;
  const std::size_t m = order_.size();
  ones_.assign(m, 1.0);
  factor_.solve(ones_);
  ones_sum_ = std::accumulate(ones_.begin(), ones_.end(), 0.0);
  if (!(ones_sum_ > 0))
    return -1;

  std::vector<double> slope_of(problem_.kernel.size());
  for (std::size_t k = 0; k < free.size(); ++k)
    slope_of[free[k]] = slopes[k];
  Face face{std::vector<double>(m), std::vector<char>(m, 0), {}, {}};
  for (std::size_t k = 0; k < m; ++k)
    face.direction[k] = -slope_of[order_[k]];
  factor_.solve(face.direction);
  project(face.direction);

  std::vector<Piece> pieces(m);
  for (std::size_t k = 0; k < m; ++k)
    pieces[k] = smooth_piece(problem_, order_[k], beta[order_[k]]);

  const std::size_t max_hits = std::max<std::size_t>(16, m / 4);
  for (;;) {
    Blocking block{1.0, m, 0.0};
    for (std::size_t k = 0; k < m; ++k) {
      const double d = face.direction[k];
      if (face.is_fixed[k] || d == 0)
        continue;
      const double bound = d > 0 ? pieces[k].upper : pieces[k].lower;
      const double step = (bound - beta[order_[k]]) / d;
      if (step < block.step)
        block = {std::max(step, 0.0), k, bound};
    }
    for (std::size_t k = 0; k < m; ++k)
      if (!face.is_fixed[k]) {
        const Piece& piece = pieces[k];
        double& b = beta[order_[k]];
        b = std::clamp(b + block.step * face.direction[k], piece.lower, piece.upper);
      }
    if (block.position == m)
      break;
    const std::size_t p = block.position;
    beta[order_[p]] = block.bound;
    face.is_fixed[p] = 1;
    face.fixed_positions.push_back(p);
    if (face.fixed_positions.size() >= max_hits || face.fixed_positions.size() + 2 > m ||
        watch.should_stop())
      break;

    std::vector<double> conjugate(m);
    factor_.solve_unit(p, conjugate);
    project(conjugate);
    for (std::size_t q = 0; q < face.conjugates.size(); ++q) {
      const std::size_t at = face.fixed_positions[q];
      const double ratio = conjugate[at] / face.conjugates[q][at];
      for (std::size_t k = 0; k < m; ++k)
        conjugate[k] -= ratio * face.conjugates[q][k];
      conjugate[at] = 0;
    }
    if (!(conjugate[p] > 0))
      break;
    const double left = 1 - block.step;
    const double ratio = left * face.direction[p] / conjugate[p];
    for (std::size_t k = 0; k < m; ++k)
      face.direction[k] = left * face.direction[k] - ratio * conjugate[k];
    for (const std::size_t q : face.fixed_positions)
      face.direction[q] = 0;
    face.conjugates.push_back(std::move(conjugate));
  }
  return static_cast<int>(face.fixed_positions.size());
}

} // namespace alphapath
