// Removals judged by plain Newton steps on a dense Hessian without the instance.
#include "support/check.hpp"
#include "support/numbers.hpp"

#include "smooth/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace alphapath {
namespace {

using test::is_close;
using test::numbers;
using Vec = std::vector<double>;

/// x in H x = rhs by Gaussian elimination; H is positive definite.
Vec solve_plain(Vec H, Vec x) {
  const std::size_t d = x.size();
  for (std::size_t k = 0; k < d; ++k)
    for (std::size_t i = k + 1; i < d; ++i) {
      const double f = H[i * d + k] / H[k * d + k];
      for (std::size_t j = k; j < d; ++j)
        H[i * d + j] -= f * H[k * d + j];
      x[i] -= f * x[k];
    }
  for (std::size_t k = d; k-- > 0;) {
    for (std::size_t j = k + 1; j < d; ++j)
      x[k] -= H[k * d + j] * x[j];
    x[k] /= H[k * d + k];
  }
  return x;
}

/// Rows a_i of a smooth SVM with weights D, and its optimum by full Newton steps.
struct Model {
  std::size_t n, d;
  Vec A, y, D;

  Vec values(const Vec& theta) const {
    Vec f(n, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < d; ++k)
        f[i] += A[i * d + k] * theta[k];
    return f;
  }
  Vec hessian(const std::vector<bool>& active) const {
    Vec H(d * d, 0.0);
    for (std::size_t k = 0; k < d; ++k)
      H[k * d + k] = 1;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; active[i] && k < d; ++k)
        for (std::size_t l = 0; l < d; ++l)
          H[k * d + l] += D[i] * A[i * d + k] * A[i * d + l];
    return H;
  }
  /// Without instance `out` (n: with all).
  Vec solve(std::size_t out) const {
    std::vector<bool> active(n, true);
    Vec theta(d, 0.0);
    for (int round = 0; round < 60; ++round) {
      if (out < n)
        active[out] = false;
      Vec rhs(d, 0.0);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; active[i] && k < d; ++k)
          rhs[k] += D[i] * y[i] * A[i * d + k];
      theta = solve_plain(hessian(active), rhs);
      const Vec f = values(theta);
      for (std::size_t i = 0; i < n; ++i)
        active[i] = y[i] * f[i] < 1;
    }
    return theta;
  }
};

Model make_model() {
  const Vec all = numbers(60 * 5);
  Model m{60, 4, Vec(all.begin(), all.begin() + 240), Vec(60), Vec(60)};
  for (std::size_t i = 0; i < m.n; ++i) {
    m.A[i * 4 + 3] = 1;
    m.y[i] = m.A[i * 4] + 0.4 * all[240 + i] > 0 ? 1 : -1;
    m.D[i] = 1 + 0.5 * (i % 3);
  }
  return m;
}

TEST(removals_are_fresh_optima) {
  const Model m = make_model();
  const Vec theta = m.solve(m.n), f = m.values(theta);
  std::vector<bool> active(m.n);
  for (std::size_t i = 0; i < m.n; ++i)
    active[i] = m.y[i] * f[i] < 1;
  const Vec H = m.hessian(active);
  Vec G(m.n * m.n);
  for (std::size_t i = 0; i < m.n; ++i) {
    const Vec z = solve_plain(H, Vec(m.A.begin() + i * m.d, m.A.begin() + (i + 1) * m.d));
    for (std::size_t j = 0; j < m.n; ++j)
      G[i * m.n + j] = std::inner_product(z.begin(), z.end(), m.A.begin() + j * m.d, 0.0);
  }
  Vec reach(m.n);
  for (std::size_t i = 0; i < m.n; ++i)
    reach[i] = std::abs(1 - m.y[i] * f[i]) / std::sqrt(G[i * m.n + i]);
  std::vector<std::int64_t> order(m.n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return reach[a] < reach[b]; });

  for (const std::size_t p : {m.n, m.n / 2}) {
    Vec keys, values, targets, states, weights, change, among(p * p);
    for (std::size_t a = 0; a < p; ++a) {
      const std::size_t j = order[a];
      keys.push_back(reach[j]);
      values.push_back(f[j]);
      targets.push_back(m.y[j]);
      states.push_back(active[j] ? m.y[j] : 0);
      weights.push_back(m.D[j]);
      change.push_back(G[j * m.n + j] + (active[j] ? -1 : 1) / m.D[j]);
      for (std::size_t b = 0; b < p; ++b)
        among[a * p + b] = G[j * m.n + order[b]];
    }
    const NearInstances near{keys,  values, targets, states, weights,
                             among, change, 0,       false,  p == m.n};
    Vec own_weights, own_change, rows(m.n * p);
    std::vector<std::int64_t> places(m.n, -1);
    for (std::size_t a = 0; a < p; ++a)
      places[order[a]] = static_cast<std::int64_t>(a);
    for (std::size_t i = 0; i < m.n; ++i) {
      own_weights.push_back(active[i] ? m.D[i] : 0);
      own_change.push_back(G[i * m.n + i] - 1 / m.D[i]);
      for (std::size_t b = 0; b < p; ++b)
        rows[i * p + b] = G[i * m.n + order[b]];
    }
    const Removals removals{places, f, m.y, own_weights, own_change, rows, {}, {}, {}, {}};
    Watch watch(0, {});
    const RemovalResult result = remove_each(near, removals, watch);
    std::size_t n_done = 0;
    for (std::size_t i = 0; i < m.n; ++i) {
      if (result.statuses[i] != RemovalStatus::done)
        continue;
      ++n_done;
      CHECK(is_close(result.values[i], m.values(m.solve(i))[i], 1e-9));
      CHECK(active[i] || result.n_solves[i] == 0);
    }
    CHECK(p < m.n || n_done == m.n);
    CHECK(n_done > m.n / 4);
  }
}

TEST(a_stopped_run_says_so) {
  const Vec none;
  const NearInstances near{none, none, none, none, none, none, none, 0, false, true};
  const Vec one{1.0}, change{-0.5};
  const std::vector<std::int64_t> places{-1};
  const Removals removals{places, one, one, one, change, none, {}, {}, {}, {}};
  Watch watch(1e-12, {});
  while (!watch.should_stop()) {
  }
  const RemovalResult result = remove_each(near, removals, watch);
  CHECK(result.statuses[0] == RemovalStatus::stopped);
  CHECK(std::isnan(result.values[0]));
}

} // namespace
} // namespace alphapath
