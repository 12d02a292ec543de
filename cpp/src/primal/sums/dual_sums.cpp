#include "primal/sums/dual_sums.hpp"

#include <algorithm>

namespace alphapath {

DualSums sum_dual(const MarginTask& task, const MarginLoss& smooth, const double* theta,
                  double* values) {
  const std::size_t n = task.rows.size(), d = task.rows.n_columns();
  DualSums sums;
  for (std::vector<double>& moments : sums.moments)
    moments.assign(d + 1, 0.0);
  double dots[margin_block], coef[2][margin_block];
  for (std::size_t first = 0; first < n; first += margin_block) {
    const RowList rows = all_rows(first, std::min(margin_block, n - first));
    task.rows.dots(rows, theta, dots);
    bool has_alpha[2] = {false, false};
    for (std::size_t k = 0; k < rows.count; ++k) {
      const double y = task.labels[first + k], s = task.weights[first + k];
      const double value = dots[k] + theta[d];
      const double m = y * value;
      const double share = -smooth.slope(m);
      const double alpha = s * share;
      const bool is_positive = y > 0.0;
      if (values != nullptr)
        values[first + k] = value;
      sums.losses += s * task.loss.value(m);
      sums.alpha[is_positive] += alpha;
      sums.squares[is_positive] += alpha * share;
      sums.moments[is_positive][d] += alpha * y;
      coef[is_positive][k] = alpha * y;
      coef[!is_positive][k] = 0.0;
      has_alpha[is_positive] |= alpha > 0.0;
    }
    for (std::size_t c = 0; c < 2; ++c)
      if (has_alpha[c])
        task.rows.add_rows(rows, coef[c], sums.moments[c].data());
  }
  return sums;
}

} // namespace alphapath
