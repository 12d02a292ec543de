#include "hinge_gap.hpp"

#include <algorithm>

namespace alphapath {

HingeSums sum_hinge(const MarginTask& task, const MarginLoss& smooth, const double* theta) {
  const std::size_t n = task.rows.size(), d = task.rows.n_columns();
  const MarginLoss hinge = MarginLoss::hinge();
  HingeSums sums;
  for (std::vector<double>& moments : sums.moments)
    moments.assign(d + 1, 0.0);
  double dots[margin_block], coef[2][margin_block];
  for (std::size_t first = 0; first < n; first += margin_block) {
    const RowList rows = all_rows(first, std::min(margin_block, n - first));
    task.rows.dots(rows, theta, dots);
    for (std::size_t k = 0; k < rows.count; ++k) {
      const double y = task.labels[first + k], s = task.weights[first + k];
      const double m = y * (dots[k] + theta[d]);
      const double alpha = -s * smooth.slope(m);
      const bool is_positive = y > 0.0;
      sums.losses += s * hinge.value(m);
      sums.alpha[is_positive] += alpha;
      sums.moments[is_positive][d] += alpha * y;
      coef[is_positive][k] = alpha * y;
      coef[!is_positive][k] = 0.0;
    }
    for (std::size_t c = 0; c < 2; ++c)
      task.rows.add_rows(rows, coef[c], sums.moments[c].data());
  }
  return sums;
}

} // namespace alphapath
