#include "free_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

/// The free members of one solve, some of them fixed on the way, and what keeps a direction on the
/// face of those that are left.
class Face {
public:
  Face(const BoxProblem& problem, const Factor& factor, std::span<double> beta)
      : factor_(factor), members_(factor.members()), beta_(beta), is_fixed_(factor.size(), 0) {
    for (const std::uint32_t i : members_)
      pieces_.push_back(smooth_piece(problem, i, beta[i]));
    ones_.assign(size(), 1.0);
    factor_.solve(ones_);
    ones_sum_ = std::accumulate(ones_.begin(), ones_.end(), 0.0);
  }

  std::size_t size() const { return members_.size(); }
  bool is_sound() const { return ones_sum_ > 0; }
  void hold(std::size_t k) { is_fixed_[k] = 1; }

  /// Turns A^-1 x into the direction of the constrained problem: sum 0, fixed members at rest.
  void project(std::span<double> x) const {
    const double shift = std::accumulate(x.begin(), x.end(), 0.0) / ones_sum_;
    for (std::size_t k = 0; k < size(); ++k)
      x[k] -= shift * ones_[k];
    stay_on_face(x);
  }

  void stay_on_face(std::span<double> x) const {
    for (std::size_t q = 0; q < positions_.size(); ++q) {
      const std::size_t at = positions_[q];
      const double ratio = x[at] / conjugates_[q][at];
      if (ratio != 0) // skips work only
        for (std::size_t k = 0; k < size(); ++k)
          x[k] -= ratio * conjugates_[q][k];
      x[at] = 0;
    }
  }

  /// Moves along d by at most `limit` and puts the member that blocks exactly on its bound.
  /// Returns its position, or size() where nobody blocks, and the step.
  std::pair<std::size_t, double> step(std::span<const double> d, double limit) {
    std::size_t blocking = size();
    double step = limit, bound = 0;
    for (std::size_t k = 0; k < size(); ++k) {
      if (is_fixed_[k] || d[k] == 0)
        continue;
      const double end = d[k] > 0 ? pieces_[k].upper : pieces_[k].lower;
      const double room = std::max((end - beta_[members_[k]]) / d[k], 0.0);
      if (room < step) {
        step = room;
        blocking = k;
        bound = end;
      }
    }
    for (std::size_t k = 0; k < size(); ++k)
      if (!is_fixed_[k]) {
        double& b = beta_[members_[k]];
        b = std::clamp(b + step * d[k], pieces_[k].lower, pieces_[k].upper);
      }
    if (blocking < size())
      beta_[members_[blocking]] = bound;
    return {blocking, step};
  }

  /// Leaves member p where it is from now on. False where too few are left to move.
  bool fix(std::size_t p) {
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

private:
  const Factor& factor_;
  const std::vector<std::uint32_t>& members_;
  std::span<double> beta_;
  std::vector<Piece> pieces_;
  std::vector<char> is_fixed_;
  std::vector<std::size_t> positions_;          // of the members fixed, in order
  std::vector<std::vector<double>> conjugates_; // H e_p on the face at that time
  std::vector<double> ones_;                    // A^-1 1
  double ones_sum_ = 0;
};

namespace {

/// A member that depends on earlier ones has a direction without curvature: follow it downhill to
/// the first bound, where one of those involved leaves the free set. Once an independent member has
/// left, the other directions are no longer flat; false then: the rest needs a new factor.
bool follow_null_directions(Face& face, const Factor& factor, std::span<const double> slopes) {
  std::vector<double> direction(face.size());
  for (std::size_t j = 0; j < face.size(); ++j) {
    if (!factor.is_dependent(j))
      continue;
    const double curvature = factor.null_vector(j, direction);
    face.project(direction);
    const double slope =
        std::inner_product(direction.begin(), direction.end(), slopes.begin(), 0.0);
    if (slope > 0)
      for (double& d : direction)
        d = -d;
    const double newton =
        curvature > 0 ? std::abs(slope) / curvature : std::numeric_limits<double>::infinity();
    const auto [blocking, step] = face.step(direction, newton);
    if (blocking < face.size() && blocking != j)
      return false;
    face.hold(j);
  }
  return true;
}

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

int FreeSet::minimise(std::vector<std::uint32_t> free, std::span<const double> gradient,
                      std::span<double> beta, Watch& watch) {
  std::vector<double> slopes;
  int n_left = 0; // members that left along null directions
  for (;;) {
    order_members(free, beta);
    if (!factor_.set_members(order_, n_kept_, watch))
      return -1;
    slopes.clear();
    for (const std::uint32_t i : order_)
      slopes.push_back(gradient[i] + (beta[i] > 0 ? problem_.epsilon : -problem_.epsilon));
    Face face(problem_, factor_, beta);
    if (!face.is_sound())
      return -1;
    if (follow_null_directions(face, factor_, slopes))
      return n_left + follow_newton(face, slopes, watch);
    ++n_left;
    std::erase_if(free, [&](std::uint32_t i) { return !is_free(problem_, i, beta[i]); });
  }
}

/// Newton's direction and its corrections at bounds; returns the number of bounds hit.
int FreeSet::follow_newton(Face& face, std::span<const double> slopes, Watch& watch) const {
  std::vector<double> direction(face.size());
  for (std::size_t k = 0; k < face.size(); ++k)
    direction[k] = -slopes[k];
  factor_.solve(direction);
  face.project(direction);
  const int max_hits = std::max(16, static_cast<int>(face.size() / 4));
  for (int n_hits = 0;; ++n_hits) {
    const auto [blocking, step] = face.step(direction, 1.0);
    if (blocking == face.size() || n_hits == max_hits || !face.fix(blocking) || watch.should_stop())
      return n_hits;
    for (double& d : direction)
      d *= 1 - step;
    face.stay_on_face(direction);
  }
}

} // namespace alphapath
