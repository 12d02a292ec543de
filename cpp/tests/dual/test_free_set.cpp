// The passes of free-set solves: rows solved together, rows taken out of a factor, steps to bounds.
#include "base/isa.hpp"
#include "factor/free_set_factor.hpp"
#include "simd/dual/box_face_loops.hpp"
#include "simd/triangular.hpp"
#include "support/check.hpp"
#include "support/numbers.hpp"
#include "support/plain_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace alphapath {
namespace {

using test::is_close;
using test::numbers;
using test::PlainKernel;

TEST(right_sides_together_equal_one_by_one) {
  constexpr std::size_t width = simd::right_sides;
  for (const std::size_t n : {1u, 5u, 8u, 13u, 40u}) {
    const std::size_t ld = n + 2;
    std::vector<double> l = numbers(ld * n);
    for (std::size_t k = 0; k < n; ++k)
      l[k * ld + k] += l[k * ld + k] > 0 ? 9 : -9;
    std::vector<double> together = numbers(n * width);
    const std::vector<double> given = together;
    ALPHAPATH_DISPATCH(solve_lower_together)(l.data(), ld, n, together.data());
    for (std::size_t s = 0; s < width; ++s) {
      std::vector<double> x(n);
      for (std::size_t r = 0; r < n; ++r)
        x[r] = given[r * width + s];
      ALPHAPATH_DISPATCH(solve_lower)(l.data(), ld, n, x.data());
      for (std::size_t r = 0; r < n; ++r)
        CHECK(is_close(together[r * width + s], x[r], 1e-12));
    }
  }
}

/// A^-1 b on sum 0, where the level of A does not matter.
std::vector<double> solve_level(const FreeSetFactor& factor, const std::vector<double>& b) {
  std::vector<double> x = b;
  factor.solve(x);
  const double shift = std::accumulate(x.begin(), x.end(), 0.0) / factor.ones_sum();
  for (std::size_t k = 0; k < x.size(); ++k)
    x[k] -= shift * factor.ones()[k];
  return x;
}

TEST(factor_without_any_members_equals_fresh) {
  const PlainKernel<double> kernel(numbers(3 * 120), 3, 30.0);
  Watch watch(0, {});
  for (const std::size_t every : {2u, 3u, 7u, 50u})
    for (const std::size_t n : {3u, 17u, 64u, 101u}) {
      std::vector<std::uint32_t> members(n), left;
      std::iota(members.begin(), members.end(), 5u);
      std::vector<std::size_t> positions;
      for (std::size_t k = 0; k < n; ++k)
        if (k % every == every / 2)
          positions.push_back(k);
        else
          left.push_back(members[k]);
      FreeSetFactor kept(kernel), fresh(kernel);
      CHECK(kept.set_members(members, 0, watch));
      kept.remove(positions);
      CHECK(kept.members() == left);
      CHECK(kept.set_members(left, left.size(), watch));
      CHECK(fresh.set_members(left, 0, watch));
      const std::vector<double> b = numbers(left.size());
      const std::vector<double> x = solve_level(kept, b), y = solve_level(fresh, b);
      for (std::size_t k = 0; k < left.size(); ++k)
        CHECK(is_close(x[k], y[k], 1e-8 * (1 + std::abs(y[k]))));
    }
}

TEST(first_hit_is_that_of_a_plain_loop) {
  for (const std::size_t n : {1u, 4u, 8u, 15u, 16u, 33u, 70u}) {
    std::vector<double> x = numbers(n), d = numbers(n + 1), lower(n), upper(n);
    d.erase(d.begin());
    for (std::size_t k = 0; k < n; ++k) {
      lower[k] = x[k] - 1 - static_cast<double>(k % 5);
      upper[k] = x[k] + 1 + static_cast<double>(k % 3);
      if (k % 6 == 1)
        lower[k] = upper[k] = x[k];
      if (k % 6 == 2)
        d[k] = 0;
    }
    double least = std::numeric_limits<double>::infinity();
    std::size_t first = n;
    for (std::size_t k = 0; k < n; ++k) {
      if (d[k] == 0 || lower[k] == upper[k])
        continue;
      const double step = ((d[k] > 0 ? upper[k] : lower[k]) - x[k]) / d[k];
      if (step < least) {
        least = step;
        first = k;
      }
    }
    const simd::FirstHit hit =
        ALPHAPATH_DISPATCH(find_first_hit)(x.data(), d.data(), lower.data(), upper.data(), n);
    CHECK(hit.at == first);
    CHECK(hit.step == least || is_close(hit.step, least, 1e-12 * least));
    std::vector<double> moved = x;
    ALPHAPATH_DISPATCH(move_within)
    (2.5, d.data(), lower.data(), upper.data(), n, moved.data());
    for (std::size_t k = 0; k < n; ++k)
      CHECK(is_close(moved[k], std::clamp(x[k] + 2.5 * d[k], lower[k], upper[k]), 1e-12));
  }
}

} // namespace
} // namespace alphapath
