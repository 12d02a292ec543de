// Who of the candidates becomes a member of an active set, who goes to its other bound, who stays.
//
// With the members free to follow, a move d of the candidates C changes their slopes s by S d:
//
//   S = K_CC - V'V + u u' / p'p,   V = L^-1 K_MC,  p = L^-1 1,  u = 1 - V'p
//
// the last term for the sum of all betas, which stays. The box problem in d alone is small: a few
// sweeps over its coordinates tell who would end inside its box. Each taken by its own slope,
// candidates next to one another would come in together, of which most had to leave again.

#include "dual/active_set.hpp"

#include "base/blas.hpp"
#include "simd/triangular.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// How many may enter in one round: so many, and a share of the members.
constexpr std::size_t least_entering = 32, entering_share = 8;
// Sweeps end where no slope changes by more than this share of the largest.
constexpr double sweep_tol = 1e-3;
constexpr int max_sweeps = 50;
// Of the room that a candidate has: no move.
constexpr double negligible = 1e-9;

} // namespace

/// V and K_CC - V'V of the candidates; V by members, the candidates' values side by side.
void ActiveSet::condition_candidates() {
  constexpr std::size_t width = simd::right_sides;
  const std::size_t m = members_.size(), q = candidates_.size();
  rows_.resize(m * q);
  schur_.resize(q * q);
  columns_.assign(m * width, 0.0);
  for (std::size_t first = 0; first < q; first += width) {
    const std::size_t count = std::min(width, q - first);
    for (std::size_t g = 0; g < count; ++g) {
      const std::uint32_t i = candidates_[first + g].instance;
      const double* values = read_row(i);
      for (std::size_t k = 0; k < m; ++k)
        columns_[k * width + g] = block_value(values, i, members_[k]);
      for (std::size_t c = 0; c < q; ++c)
        schur_[(first + g) * q + c] = block_value(values, i, candidates_[c].instance);
    }
    factor_.solve_together(columns_);
    for (std::size_t k = 0; k < m; ++k)
      std::copy_n(columns_.data() + k * width, count, rows_.data() + k * q + first);
  }
  const int n = static_cast<int>(q), n_members = static_cast<int>(m);
  const double one = 1, minus_one = -1;
  blas().dsyrk("L", "N", &n, &n_members, &minus_one, rows_.data(), &n, &one, schur_.data(), &n);
  for (std::size_t c = 0; c < q; ++c)
    for (std::size_t r = c + 1; r < q; ++r)
      schur_[r * q + c] = schur_[c * q + r];
}

/// How the candidates would move, with the members following wherever that leads.
void ActiveSet::find_shifts(const BoxProblem& problem, std::span<const double> beta) {
  const std::size_t m = members_.size(), q = candidates_.size();
  const auto ones = factor_.ones();
  double square = 0;
  std::vector<double> sums(q, 1.0), slopes(q), pivots(q);
  for (std::size_t k = 0; k < m; ++k) {
    square += ones[k] * ones[k];
    for (std::size_t c = 0; c < q; ++c)
      sums[c] -= ones[k] * rows_[k * q + c];
  }
  double largest = 0;
  for (std::size_t c = 0; c < q; ++c) {
    slopes[c] = candidates_[c].slope;
    largest = std::max(largest, std::abs(slopes[c]));
    pivots[c] = std::max(schur_[c * q + c] + sums[c] * sums[c] / square,
                         least_pivot * own_value(candidates_[c].instance));
  }
  shifts_.assign(q, 0.0);
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    double change = 0;
    for (std::size_t c = 0; c < q; ++c) {
      const std::size_t i = candidates_[c].instance;
      const double to = std::clamp(shifts_[c] - slopes[c] / pivots[c], problem.lower[i] - beta[i],
                                   problem.upper[i] - beta[i]);
      const double by = to - shifts_[c];
      if (by == 0)
        continue;
      shifts_[c] = to;
      const double along = by * sums[c] / square;
      for (std::size_t r = 0; r < q; ++r)
        slopes[r] += by * schur_[c * q + r] + along * sums[r];
      change = std::max(change, std::abs(by) * pivots[c]);
    }
    if (change <= sweep_tol * largest)
      break;
  }
}

/// Whether the member next to instance i, which makes up for most of its moves, can move so far.
bool ActiveSet::has_room(const BoxProblem& problem, std::span<const double> beta, std::size_t i,
                         double by) const {
  const KernelRow pin = kernel_.row(i);
  const double* values = values_of(pin);
  const auto diagonal = kernel_.diagonal();
  const std::size_t nearest =
      *std::min_element(members_.begin(), members_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return diagonal[a] - 2 * values[a] < diagonal[b] - 2 * values[b];
      });
  const double to = beta[nearest] + by;
  return to > problem.lower[nearest] && to < problem.upper[nearest];
}

/// Candidates become members, go to their other bounds, or stay.
void ActiveSet::move_candidates(const BoxProblem& problem, std::span<double> beta,
                                std::span<double> gradient) {
  candidates_.resize(
      std::min(candidates_.size(), least_entering + members_.size() / entering_share));
  if (candidates_.empty())
    return;
  condition_candidates();
  find_shifts(problem, beta);
  moved_.clear();
  moves_.clear();
  std::vector<std::size_t> entering;
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    const std::size_t i = candidates_[c].instance;
    const double own = shifts_[c] > 0 ? problem.upper[i] : problem.lower[i];
    const double room = own - beta[i];
    if (std::abs(shifts_[c]) <= negligible * std::abs(room))
      continue;
    const bool is_inside = std::abs(shifts_[c] - room) > negligible * std::abs(room);
    if (is_inside || has_flipped_[i] || !has_room(problem, beta, i, -room)) {
      entering.push_back(c);
    } else {
      moved_.push_back(i);
      moves_.push_back(room);
      beta[i] = own;
      has_flipped_[i] = 1;
    }
  }
  insert_candidates(entering);
  multiply_add(kernel_, moved_, moves_, gradient);
}

/// The factor gets the rows of these candidates, but for those that depend on others.
void ActiveSet::insert_candidates(std::span<const std::size_t> entering) {
  const std::size_t m = members_.size(), q = candidates_.size();
  std::vector<std::size_t> taken;
  std::vector<double> corner(entering.size() * entering.size()); // rows of its Cholesky factor
  const std::size_t width = entering.size();
  for (const std::size_t c : entering) {
    const std::size_t i = candidates_[c].instance, row = taken.size();
    double* own = corner.data() + row * width;
    double pivot = schur_[c * q + c];
    for (std::size_t k = 0; k < row; ++k) {
      const double* other = corner.data() + k * width;
      double x = schur_[c * q + taken[k]];
      for (std::size_t l = 0; l < k; ++l)
        x -= own[l] * other[l];
      own[k] = x / other[k];
      pivot -= own[k] * own[k];
    }
    if (!(pivot > least_pivot * own_value(i)))
      continue;
    own[row] = std::sqrt(pivot);
    taken.push_back(c);
    members_.push_back(static_cast<std::uint32_t>(i));
    is_member_[i] = 1;
  }
  std::vector<double> left(m * taken.size());
  for (std::size_t k = 0; k < m; ++k)
    for (std::size_t r = 0; r < taken.size(); ++r)
      left[k * taken.size() + r] = rows_[k * q + taken[r]];
  factor_.append(left, corner, taken.size(), width);
  n_updates_ += static_cast<double>(taken.size());
}

} // namespace alphapath
