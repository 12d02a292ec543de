#include "dual/active_set.hpp"

#include "base/blas.hpp"
#include "simd/triangular.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace alphapath {

namespace {

// Of those that would leave the box, some leave at once: those that would meet its end before so
// many times the time of the first.
constexpr double reach = 3;
constexpr int max_rounds = 60;
// Rounds in a row that do not leave fewer candidates than ever before.
constexpr int max_fruitless = 20;

// Changes, as a share of the members, beyond which the factor is made anew.
constexpr double share_to_build = 0.5;
constexpr double few_changes = 64;
// How often all members may have been replaced before it is, for the sake of rounding.
constexpr double max_turnover = 20;

// How many may enter in one round: so many, and a share of the members.
constexpr std::size_t least_entering = 32, entering_share = 8;
// Sweeps end where no slope changes by more than this share of the largest.
constexpr double sweep_tol = 1e-3;
constexpr int max_sweeps = 50;
// Of the room that a candidate has: no move.
constexpr double negligible = 1e-9;

} // namespace

/// The step of the members to where they are optimal, and `total` is added to their sum, by
/// slopes_; returns the bias there.
double ActiveSet::find_step(double total) {
  const std::size_t m = members_.size();
  step_.resize(m);
  for (std::size_t k = 0; k < m; ++k)
    step_[k] = -slopes_[k] - origin_[members_[k]] * total;
  factor_.carry(step_);
  double bias = factor_.solve_bordered(step_, total) + sigma_ * total;
  for (std::size_t k = 0; k < m; ++k)
    bias -= origin_[members_[k]] * step_[k];
  return bias;
}

/// Marks the members that leave the box first along the step. False where nobody leaves it.
bool ActiveSet::find_leavers(const BoxProblem& problem, std::span<const double> beta) {
  const std::size_t m = members_.size();
  constexpr double never = std::numeric_limits<double>::infinity();
  const auto time = [&](std::size_t k) {
    const std::size_t i = members_[k];
    const double to = beta[i] + step_[k];
    if (to >= problem.upper[i])
      return (problem.upper[i] - beta[i]) / step_[k];
    return to <= problem.lower[i] ? (problem.lower[i] - beta[i]) / step_[k] : never;
  };
  double first = never;
  for (std::size_t k = 0; k < m; ++k)
    first = std::min(first, time(k));
  leaves_.assign(m, 0);
  if (first == never)
    return false;
  for (std::size_t k = 0; k < m; ++k)
    leaves_[k] = time(k) <= reach * first;
  return true;
}

/// Betas of the members that are optimal while all others stay; whoever leaves the box on the way
/// is put on its end. Returns the bias.
double ActiveSet::settle(const BoxProblem& problem, std::span<double> beta,
                         std::span<double> gradient) {
  double total = problem.total - std::accumulate(beta.begin(), beta.end(), 0.0);
  slopes_.clear();
  for (const std::uint32_t i : members_)
    slopes_.push_back(gradient[i]);
  moved_.clear();
  moves_.clear();
  ends_.clear();
  double bias = 0;
  while (!members_.empty()) {
    bias = find_step(total);
    if (!find_leavers(problem, beta))
      break;
    const std::size_t n_before = moved_.size();
    for (std::size_t k = 0; k < members_.size(); ++k)
      if (leaves_[k]) {
        const std::size_t i = members_[k];
        moved_.push_back(i);
        ends_.push_back(step_[k] > 0 ? problem.upper[i] : problem.lower[i]);
        moves_.push_back(ends_.back() - beta[i]);
        total -= moves_.back();
      }
    const std::vector<std::uint32_t> before = members_;
    remove_leavers();
    // Members keep their order; a factor made anew may have lost some that depend on others.
    std::size_t k = 0;
    for (std::size_t q = 0; q < members_.size(); ++q, ++k) {
      while (before[k] != members_[q])
        ++k;
      slopes_[q] = slopes_[k];
    }
    slopes_.resize(members_.size());
    for (std::size_t r = n_before; r < moved_.size(); ++r) {
      const double* values = read_row(moved_[r]);
      for (std::size_t q = 0; q < members_.size(); ++q)
        slopes_[q] += moves_[r] * values[members_[q]];
    }
  }
  for (std::size_t r = 0; r < moved_.size(); ++r)
    beta[moved_[r]] = ends_[r];
  for (std::size_t k = 0; k < members_.size(); ++k) {
    beta[members_[k]] += step_[k];
    moved_.push_back(members_[k]);
    moves_.push_back(step_[k]);
  }
  multiply_add(kernel_, moved_, moves_, gradient);
  return bias;
}

/// Those at a bound that would rather not be, the worst first.
void ActiveSet::find_candidates(const BoxProblem& problem, std::span<const double> beta,
                                std::span<const double> gradient, double bias, double tol) {
  candidates_.clear();
  for (std::size_t i = 0; i < beta.size(); ++i) {
    const double slope = gradient[i] + bias;
    if (is_member_[i] || std::abs(slope) <= tol / 2 ||
        !(slope < 0 ? beta[i] < problem.upper[i] : beta[i] > problem.lower[i]))
      continue;
    candidates_.push_back({slope, static_cast<std::uint32_t>(i)});
  }
  std::stable_sort(
      candidates_.begin(), candidates_.end(),
      [](const Candidate& a, const Candidate& b) { return std::abs(a.slope) > std::abs(b.slope); });
}

/// Whether the members' slopes are 0 by the gradient, too: a factor may have lost digits.
bool ActiveSet::is_settled(std::span<const double> gradient, double bias, double tol) const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](std::uint32_t i) { return std::abs(gradient[i] + bias) <= tol / 2; });
}

void ActiveSet::foresee(const BoxProblem& problem, std::span<const double> beta,
                        std::span<const double> gradient, std::span<const double> change,
                        double total, std::span<double> slopes) {
  take_free(problem, beta);
  slopes_.clear();
  for (const std::uint32_t i : members_)
    slopes_.push_back(gradient[i] + change[i]);
  const double missing = problem.total - total - std::accumulate(beta.begin(), beta.end(), 0.0);
  const double bias = members_.empty() ? 0.0 : find_step(missing);
  for (std::size_t i = 0; i < slopes.size(); ++i)
    slopes[i] = gradient[i] + change[i] + bias;
  moved_.assign(members_.begin(), members_.end());
  multiply_add(kernel_, moved_, step_, slopes);
}

bool ActiveSet::solve(const BoxProblem& problem, std::span<double> beta, std::span<double> gradient,
                      double tol, std::span<const double> foreseen) {
  std::fill(has_flipped_.begin(), has_flipped_.end(), char{0});
  if (foreseen.empty()) {
    take_free(problem, beta);
  } else if (!members_.empty()) {
    find_candidates(problem, beta, foreseen, 0, tol);
    move_candidates(problem, beta, gradient);
  }
  std::size_t fewest = beta.size() + 1;
  int n_fruitless = 0;
  for (int round = 0; round < max_rounds && !members_.empty() && n_fruitless < max_fruitless;
       ++round) {
    ++n_rounds_;
    const double bias = settle(problem, beta, gradient);
    if (members_.empty())
      return false;
    find_candidates(problem, beta, gradient, bias, tol);
    if (candidates_.empty() && is_settled(gradient, bias, tol))
      return true;
    n_fruitless = candidates_.size() < fewest ? 0 : n_fruitless + 1;
    fewest = std::min(fewest, candidates_.size());
    move_candidates(problem, beta, gradient);
  }
  return false;
}

void ActiveSet::choose_origin() {
  const std::size_t chosen = members_.empty() ? 0 : members_.front();
  const KernelRow pin = kernel_.row(chosen);
  const double* values = values_of(pin);
  origin_.resize(kernel_.size());
  for (std::size_t i = 0; i < origin_.size(); ++i)
    origin_[i] = values[i] - kernel_.diagonal()[chosen] / 2;
  double sum = 0;
  for (const std::uint32_t i : members_)
    sum += kernel_.diagonal()[i] - 2 * origin_[i];
  sigma_ = sum > 0 ? sum / static_cast<double>(members_.size()) : 1.0;
}

bool ActiveSet::is_worth_building(std::size_t n_changes) const {
  return static_cast<double>(n_changes) >
         few_changes + share_to_build * static_cast<double>(members_.size());
}

bool ActiveSet::is_worn() const {
  return n_updates_ > few_changes + max_turnover * static_cast<double>(members_.size());
}

/// Everybody who is strictly inside its box is a member, and nobody else.
void ActiveSet::take_free(const BoxProblem& problem, std::span<const double> beta) {
  std::vector<std::uint32_t> more;
  leaves_.assign(members_.size(), 0);
  const auto is_free = [&](std::size_t i) {
    return beta[i] > problem.lower[i] && beta[i] < problem.upper[i];
  };
  for (std::size_t k = 0; k < members_.size(); ++k)
    leaves_[k] = !is_free(members_[k]);
  for (std::size_t i = 0; i < beta.size(); ++i)
    if (is_free(i) && !is_member_[i])
      more.push_back(static_cast<std::uint32_t>(i));
  const bool builds = members_.empty() || is_worth_building(more.size()) || is_worn();
  if (!builds) {
    remove_leavers();
    for (const std::uint32_t i : more)
      insert(i);
    return;
  }
  for (std::size_t k = 0; k < members_.size(); ++k)
    is_member_[members_[k]] = !leaves_[k];
  std::erase_if(members_, [&](std::uint32_t i) { return !is_member_[i]; });
  members_.insert(members_.end(), more.begin(), more.end());
  drop_twins();
  build();
}

bool ActiveSet::insert(std::uint32_t i) {
  column_.resize(members_.size());
  const KernelRow pin = kernel_.row(i);
  for (std::size_t k = 0; k < members_.size(); ++k)
    column_[k] = block_value(values_of(pin), i, members_[k]);
  if (!(factor_.try_insert(column_, own_value(i)) > least_pivot))
    return false;
  factor_.insert_tried(0);
  members_.push_back(i);
  is_member_[i] = 1;
  ++n_updates_;
  return true;
}

/// The factor of the members from nothing; those that depend on earlier ones are left out.
void ActiveSet::build() {
  choose_origin();
  n_updates_ = 0;
  const std::size_t m = members_.size();
  const bool is_sound = factor_.assign(m, least_pivot, [&](std::size_t c, double* out) {
    const KernelRow pin = kernel_.row(members_[c]);
    const double* values = values_of(pin);
    for (std::size_t r = c; r < m; ++r)
      out[r] = block_value(values, members_[c], members_[r]);
  });
  if (!is_sound) {
    factor_.clear();
    const std::vector<std::uint32_t> queue = std::exchange(members_, {});
    for (const std::uint32_t i : queue) {
      is_member_[i] = 0;
      insert(i);
    }
  }
  for (const std::uint32_t i : members_)
    is_member_[i] = 1;
}

/// Of equal members one stays. Equal ones have equal values with the origin.
void ActiveSet::drop_twins() {
  if (members_.empty())
    return;
  choose_origin();
  std::stable_sort(members_.begin(), members_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return origin_[a] < origin_[b]; });
  std::size_t n_kept = 0;
  for (const std::uint32_t i : members_) {
    const KernelRow pin = kernel_.row(i);
    const auto is_twin = [&](std::uint32_t j) {
      return kernel_.diagonal()[i] + kernel_.diagonal()[j] - 2 * values_of(pin)[j] <=
             least_pivot * sigma_;
    };
    is_member_[i] = n_kept == 0 || !is_twin(members_[n_kept - 1]);
    if (is_member_[i])
      members_[n_kept++] = i;
  }
  members_.resize(n_kept);
}

/// Takes those marked in leaves_ out of the members and their factor.
void ActiveSet::remove_leavers() {
  std::vector<std::size_t> positions;
  for (std::size_t k = 0; k < members_.size(); ++k)
    if (leaves_[k]) {
      is_member_[members_[k]] = 0;
      positions.push_back(k);
    }
  if (positions.empty())
    return;
  const bool builds = is_worth_building(positions.size());
  if (!builds) {
    factor_.remove_all(positions);
    n_updates_ += static_cast<double>(positions.size());
  }
  std::erase_if(members_, [&](std::uint32_t i) { return !is_member_[i]; });
  if (builds)
    build();
}

// Who of the candidates becomes a member, who goes to its other bound, who stays. With the members
// free to follow, a move d of the candidates C changes their slopes s by S d:
//
//   S = K_CC - V'V + u u' / p'p,   V = L^-1 K_MC,  p = L^-1 1,  u = 1 - V'p
//
// the last term for the sum of all betas, which stays. The box problem in d alone is small: a few
// sweeps over its coordinates tell who would end inside its box. Each taken by its own slope,
// candidates next to one another would come in together, of which most had to leave again.

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
