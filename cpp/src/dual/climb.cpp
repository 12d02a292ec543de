#include "dual/climb.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace alphapath {

namespace {

constexpr double first_height = 8;  // C times typical curvature at the first stage
constexpr double least_height = 64; // below this the problem is solved directly
constexpr double ratio = 4;         // from one stage to the next
constexpr std::size_t n_probes = 8;

constexpr std::size_t lanes = 16; // sums at once: one would wait for each addition

template <class T> double mean_curvature(const KernelRows& kernel, std::size_t i) {
  const KernelRow row = kernel.row(i);
  const T* values = static_cast<const T*>(row.data);
  const double* diagonal = kernel.diagonal().data();
  const std::size_t n = kernel.size();
  double sums[lanes] = {};
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += diagonal[k + lane] - 2 * static_cast<double>(values[k + lane]);
  for (; k < n; ++k)
    sums[0] += diagonal[k] - 2 * static_cast<double>(values[k]);
  return diagonal[i] + std::accumulate(sums, sums + lanes, 0.0) / static_cast<double>(n);
}

/// Mean of K_ii + K_jj - 2 K_ij over a few rows i and all j.
double typical_curvature(const KernelRows& kernel) {
  double sum = 0;
  for (std::size_t probe = 0; probe < n_probes; ++probe) {
    const std::size_t i = probe * kernel.size() / n_probes;
    sum += kernel.precision() == Precision::float32 ? mean_curvature<float>(kernel, i)
                                                    : mean_curvature<double>(kernel, i);
  }
  return sum / n_probes;
}

} // namespace

std::vector<double> climbing_shares(const BoxProblem& problem) {
  if (problem.total != 0)
    return {};
  double width = 0;
  for (std::size_t i = 0; i < problem.lower.size(); ++i)
    width = std::max({width, -problem.lower[i], problem.upper[i]});
  if (!std::isfinite(width))
    return {};
  const double height = width * typical_curvature(problem.kernel);
  if (!(height > least_height))
    return {};
  std::vector<double> shares;
  for (double share = 1 / ratio; share * height > first_height / ratio; share /= ratio)
    shares.push_back(share);
  std::reverse(shares.begin(), shares.end());
  return shares;
}

void scale_start(const BoxProblem& problem, double old_share, double new_share,
                 std::vector<double>& beta, std::vector<double>& gradient) {
  bool is_bounded = false;
  for (std::size_t i = 0; i < beta.size() && !is_bounded; ++i)
    is_bounded = beta[i] != 0 && (beta[i] == old_share * problem.lower[i] ||
                                  beta[i] == old_share * problem.upper[i]);
  if (!is_bounded)
    return;
  const double factor = new_share / old_share;
  for (std::size_t i = 0; i < beta.size(); ++i) {
    const bool is_at_upper = beta[i] == old_share * problem.upper[i];
    const bool is_at_lower = beta[i] == old_share * problem.lower[i];
    beta[i] = is_at_upper   ? new_share * problem.upper[i]
              : is_at_lower ? new_share * problem.lower[i]
                            : factor * beta[i];
    gradient[i] = factor * (gradient[i] + problem.targets[i]) - problem.targets[i];
  }
}

} // namespace alphapath
