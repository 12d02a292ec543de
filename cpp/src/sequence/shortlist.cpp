#include "sequence/shortlist.hpp"

#include "problem/solution.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Near are this many for each that is free, and some besides.
constexpr double near_a_free = 2;
constexpr double near_besides = 384;
// Beyond this share of all, copied rows save too little.
constexpr double max_near_share = 0.65;

struct Slopes {
  double rising = infinity, falling = -infinity; // infinite where it may not move so
};

/// The slopes of moves that are open to instance i, in the solved problem or once it takes part.
Slopes slopes_of(const Family& family, const BoxProblem& solved, const SolveResult& solution,
                 std::size_t i) {
  const double beta = solution.beta[i], g = solution.gradient[i];
  const bool is_shut = solved.lower[i] == solved.upper[i];
  const bool may_rise = is_shut ? family.upper_scale[i] > 0 : beta < solved.upper[i];
  const bool may_fall = is_shut ? family.lower_scale[i] < 0 : beta > solved.lower[i];
  Slopes slopes;
  if (may_rise)
    slopes.rising = g + (beta >= 0 ? solved.epsilon : -solved.epsilon);
  if (may_fall)
    slopes.falling = g + (beta > 0 ? solved.epsilon : -solved.epsilon);
  return slopes;
}

} // namespace

std::size_t shortlist_size(std::size_t n_free, std::size_t n) {
  const double count = near_a_free * static_cast<double>(n_free) + near_besides;
  return count <= max_near_share * static_cast<double>(n) ? static_cast<std::size_t>(count) : 0;
}

std::vector<std::uint32_t> make_shortlist(const Family& family, const BoxProblem& solved,
                                          const SolveResult& solution) {
  std::vector<std::uint32_t> near(family.scope.begin(), family.scope.end());
  if (near.empty()) {
    near.resize(solution.beta.size());
    std::iota(near.begin(), near.end(), 0u);
  }
  std::size_t n_free = 0;
  SlopeRange range{infinity, -infinity};
  std::vector<Slopes> slopes(solution.beta.size());
  for (const std::uint32_t i : near) {
    slopes[i] = slopes_of(family, solved, solution, i);
    if (solved.lower[i] == solved.upper[i])
      continue;
    n_free += slopes[i].rising < infinity && slopes[i].rising == slopes[i].falling;
    range.min_up = std::min(range.min_up, slopes[i].rising);
    range.max_down = std::max(range.max_down, slopes[i].falling);
  }
  const std::size_t count = shortlist_size(n_free, near.size());
  if (count == 0)
    return {};
  const double middle = range.middle();
  const auto distance = [&](std::uint32_t i) {
    return std::min(slopes[i].rising - middle, middle - slopes[i].falling);
  };
  const auto is_nearer = [&](std::uint32_t a, std::uint32_t b) {
    const double to_a = distance(a), to_b = distance(b);
    return to_a < to_b || (to_a == to_b && a < b);
  };
  std::nth_element(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end(),
                   is_nearer);
  near.resize(count);
  std::sort(near.begin(), near.end());
  return near;
}

} // namespace alphapath
