#include "primal/newton/fold_paths.hpp"

#include "primal/newton/matrix_free_fold_paths.hpp"
#include "primal/newton/moment_fold_paths.hpp"

namespace alphapath {

FoldRows::FoldRows(const std::vector<MarginTask>& tasks)
    : weights(tasks.front().rows.size(), 0.0), lanes(weights.size()) {
  const RowSigns labels = tasks.front().labels;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    simd::JointRow& row = lanes[i];
    row = {labels.values[i], 0, static_cast<std::uint8_t>(simd::n_together), 0};
    for (std::size_t f = 0; f < tasks.size(); ++f)
      if (const double s = tasks[f].weights[i]; s > 0.0) {
        row.trains = static_cast<Lanes>(row.trains | 1u << f);
        weights[i] = s;
      } else {
        row.holder = static_cast<std::uint8_t>(f);
      }
    row.below = row.trains; // at theta = 0 every margin is 0
  }
}

std::unique_ptr<FoldPaths> make_fold_paths(const std::vector<MarginTask>& tasks,
                                           const NewtonPathOptions& options,
                                           const std::vector<const double*>& grams) {
  if (options.keeps_gram)
    return std::make_unique<MomentFoldPaths>(tasks, options, grams);
  return std::make_unique<MatrixFreeFoldPaths>(tasks, options);
}

} // namespace alphapath
