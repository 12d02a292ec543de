// Where a C begins: at the minimum of F over the span of the last three solutions (lane_paths.hpp).
//
// theta(a) = a_0 theta_0 + a_1 (theta_0 - theta_1) + a_2 (theta_1 - theta_2), the last solution
// first: the differences are less alike than the solutions. Newton's method on a; each of its
// steps reads the decision values of the three, and not the data.
#include "primal/newton/matrix_free_fold_paths.hpp"

#include "base/isa.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

constexpr std::size_t lanes = simd::n_together;

constexpr int max_tries = 12;
// What a step still promises, as a share of what the first one did.
constexpr double little = 1e-3;
// Of its diagonal, what is left of a direction that the others contain.
constexpr double dependent = 1e-9;

/// step = -H^-1 g; 0 along directions that depend on those before. Returns -g'step.
double solve_three(const double (&H)[6], const double (&g)[3], double (&step)[3]) {
  double L[3][3] = {}, z[3] = {};
  bool is_used[3];
  for (std::size_t i = 0, row = 0; i < 3; row += ++i) {
    double pivot = H[row + i], rest = -g[i];
    for (std::size_t j = 0; j < i; ++j) {
      double sum = H[row + j];
      for (std::size_t k = 0; k < j; ++k)
        sum -= L[i][k] * L[j][k];
      L[i][j] = is_used[j] ? sum / L[j][j] : 0.0;
      pivot -= L[i][j] * L[i][j];
      rest -= L[i][j] * z[j];
    }
    is_used[i] = pivot > dependent * H[row + i];
    L[i][i] = is_used[i] ? std::sqrt(pivot) : 1.0;
    z[i] = is_used[i] ? rest / L[i][i] : 0.0;
  }
  for (std::size_t i = 3; i-- > 0;) {
    step[i] = z[i];
    for (std::size_t j = i + 1; j < 3; ++j)
      step[i] -= L[j][i] * step[j];
    step[i] = is_used[i] ? step[i] / L[i][i] : 0.0;
  }
  return z[0] * z[0] + z[1] * z[1] + z[2] * z[2];
}

} // namespace

/// From theta_, the solution of the last C.
void LanePaths::begin_in_span(double C) {
  PerFold a[3];
  std::fill_n(a[0].at, lanes, 1.0);
  find_minimum_in_span(C, a);
  const auto move_on = [&](Buffer<double>& now, Buffer<double>& before, Buffer<double>& first) {
    for (std::size_t j = 0; j < now.size(); j += lanes)
      for (std::size_t f = 0; f < lanes; ++f) {
        const double last = now[j + f], older = before[j + f];
        now[j + f] = a[0][f] * last + a[1][f] * (last - older) + a[2][f] * (older - first[j + f]);
        first[j + f] = older;
        before[j + f] = last;
      }
  };
  move_on(theta_, past_[0].theta, past_[1].theta);
  move_on(values_, past_[0].values, past_[1].values);
  evaluate();
  measure(C);
}

/// On entry a is that of theta_, where solved folds stay.
void LanePaths::find_minimum_in_span(double C, PerFold (&a)[3]) const {
  PerFold best[3] = {a[0], a[1], a[2]}, least, first;
  Lanes moving = 0;
  for (std::size_t f = 0; f < n_folds_; ++f)
    if (!is_solved(f, C))
      moving = with(moving, f);
  const double* const values[3] = {values_.data(), past_[0].values.data(), past_[1].values.data()};
  const SpanProducts products = measure_span();
  simd::SpanSums sums;
  for (int n_tries = 0; n_tries < max_tries && moving != 0; ++n_tries) {
    const PerFold tried[3] = {a[0], a[1], a[2]};
    ALPHAPATH_DISPATCH(derive_in_span)
    ({rows_.lanes.data(), rows_.weights.data(), 0, task_.rows.size()}, values, tried[0].at, sums);
    add_penalty(C, tried, products, sums);
    for (std::size_t f = 0; f < n_folds_; ++f) {
      if (!has(moving, f))
        continue;
      if (n_tries > 0 && sums.value[f] > least[f]) { // back halfway
        for (std::size_t i = 0; i < 3; ++i)
          a[i][f] = 0.5 * (a[i][f] + best[i][f]);
        continue;
      }
      double H[6], g[3], step[3];
      for (std::size_t ij = 0; ij < 6; ++ij)
        H[ij] = sums.hessian[ij * lanes + f];
      for (std::size_t i = 0; i < 3; ++i)
        g[i] = sums.gradient[i * lanes + f];
      if (!is_smooth(f, C))
        H[0] = H[5] = 0.0; // leaves the way alone
      const double promise = solve_three(H, g, step);
      first[f] = n_tries == 0 ? promise : first[f];
      least[f] = sums.value[f];
      for (std::size_t i = 0; i < 3; ++i)
        best[i][f] = a[i][f];
      if (promise <= little * first[f] && n_tries > 0)
        moving = static_cast<Lanes>(moving & ~(1u << f));
      else
        for (std::size_t i = 0; i < 3; ++i)
          a[i][f] += step[i];
    }
  }
  std::copy_n(best, 3, a);
}

/// Whether C is small enough for solutions to change smoothly with it; beyond, where rows cross the
/// kink by the dozen, the errors of the last solutions spoil what is fitted to more than their way.
bool LanePaths::is_smooth(std::size_t f, double C) const {
  return largest_gradient(f, C) < std::sqrt(2.0 * options_.tol * objective_[f]);
}

/// On entry sums are those of the losses, on exit of F; products: as measure_span returns them.
void LanePaths::add_penalty(double C, const PerFold (&a)[3], const SpanProducts& products,
                            simd::SpanSums& sums) const {
  for (std::size_t f = 0; f < n_folds_; ++f) {
    sums.value[f] *= C;
    for (std::size_t i = 0; i < 3; ++i) {
      double along = 0.0;
      for (std::size_t k = 0; k < 3; ++k)
        along += products[i >= k ? i * (i + 1) / 2 + k : k * (k + 1) / 2 + i][f] * a[k][f];
      sums.value[f] += 0.5 * a[i][f] * along;
      sums.gradient[i * lanes + f] = C * sums.gradient[i * lanes + f] + along;
    }
    for (std::size_t ij = 0; ij < 6; ++ij)
      sums.hessian[ij * lanes + f] = C * sums.hessian[ij * lanes + f] + products[ij][f];
  }
}

/// The products of the three directions with each other.
LanePaths::SpanProducts LanePaths::measure_span() const {
  SpanProducts products;
  for (std::size_t j = 0; j < theta_.size(); j += lanes)
    for (std::size_t f = 0; f < lanes; ++f) {
      const double last = theta_[j + f], before = past_[0].theta[j + f];
      const double d[3] = {last, last - before, before - past_[1].theta[j + f]};
      for (std::size_t i = 0, ij = 0; i < 3; ++i)
        for (std::size_t k = 0; k <= i; ++k, ++ij)
          products[ij][f] += d[i] * d[k];
    }
  return products;
}

} // namespace alphapath
