// The bias, slopes and roundings that every solver states, case by case.
#include "problem/quality.hpp"
#include "support/check.hpp"
#include "support/plain_kernel.hpp"

#include <limits>
#include <vector>

using namespace alphapath;
using namespace alphapath::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two boxes [0, 1] and [-1, 0] at a point, with slopes.
struct Case {
  std::vector<double> beta, gradient;
  double bias;
};

} // namespace

TEST(the_bias_is_that_of_the_free_or_the_middle_of_what_is_allowed) {
  const PlainKernel<double> kernel({0.0, 1.0}, 1, 0.5);
  const std::vector<double> targets{1, -1}, lower{0, -1}, upper{1, 0}, shut{0, 0};
  const BoxProblem problem{kernel, targets, lower, upper};
  const std::vector<Case> cases{
      {{0.5, -0.5}, {-2.0, -4.0}, 3.0}, // both free: their mean
      {{0.5, 0.0}, {-2.0, 7.0}, 2.0},   // one is
      {{0.0, 0.0}, {-1.0, 5.0}, -2.0},  // none: the first may rise, the second fall
      {{1.0, -1.0}, {-1.0, 5.0}, -2.0}, // none, the other way round
      {{0.0, -1.0}, {-1.0, 5.0}, 1.0},  // none, and none may fall
  };
  for (const Case& c : cases) {
    CHECK(find_bias(problem, c.beta, c.gradient) == c.bias);
    CHECK(measure_quality(problem, c.beta, c.gradient, true).bias == c.bias);
  }
  const BoxProblem closed{kernel, targets, shut, shut};
  CHECK(find_bias(closed, shut, targets) == 0);
}

TEST(the_range_of_slopes_is_of_those_that_may_move) {
  const PlainKernel<double> kernel({0.0, 1.0}, 1, 0.5);
  const std::vector<double> targets{1, -1}, lower{0, -1}, upper{1, 0};
  const BoxProblem problem{kernel, targets, lower, upper};
  const std::vector<double> at_zero{0, 0}, gradient{-1, 5};
  const SlopeRange range = slope_range(problem, at_zero, gradient);
  CHECK(range.min_up == -1 && range.max_down == 5);
  CHECK(range.violation() == 6 && range.middle() == 2);
  CHECK((SlopeRange{infinity, 3}).middle() == 3);
  CHECK((SlopeRange{3, -infinity}).middle() == 3);
  CHECK((SlopeRange{infinity, -infinity}).middle() == 0);
}

TEST(free_betas_of_wide_boxes_are_not_rounded_to_their_ends) {
  const std::vector<double> beta{0.05, -0.05, 0.0};
  const BoxRounding wide(beta.size(), [&](std::size_t i) { return Boxed{beta[i], -1e12, 1e12}; });
  for (const double b : beta)
    CHECK(wide.snap({b, -1e12, 1e12}) == b);
  const std::vector<double> almost{1.0 - 1e-12, 1e-15};
  const BoxRounding narrow(almost.size(), [&](std::size_t i) { return Boxed{almost[i], 0, 1}; });
  CHECK(narrow.snap({almost[0], 0, 1}) == 1);
  CHECK(narrow.snap({almost[1], 0, 1}) == 0);
}
