#include "primal/newton/newton_stop.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// Of F: a gap that F in double precision can not show.
constexpr double least_gap = 1e-15;

} // namespace

double share_of_rarer_class(const MarginTask& task) {
  double positive = 0.0, total = 0.0;
  for (std::size_t i = 0; i < task.rows.size(); ++i) {
    total += task.weights[i];
    positive += task.labels[i] > 0.0 ? task.weights[i] : 0.0;
  }
  return total > 0.0 ? std::min(positive, total - positive) / total : 0.0;
}

double largest_gradient(const NewtonPathOptions& options, double zero_gradient, double objective) {
  const double F = std::abs(objective);
  const double gap_rule = std::sqrt(2.0 * options.tol * F);
  const double share_rule = options.gradient_tol * zero_gradient;
  if (!(share_rule > 0.0 && share_rule < gap_rule))
    return gap_rule;
  const double squared = share_rule * share_rule / gap_rule;
  return std::min(share_rule, std::max(squared, std::sqrt(2.0 * least_gap * F)));
}

} // namespace alphapath
