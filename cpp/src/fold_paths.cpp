#include "fold_paths.hpp"

#include "joint_paths.hpp"
#include "lane_paths.hpp"

namespace alphapath {

FoldRows::FoldRows(const std::vector<MarginTask>& tasks)
    : weights(tasks.front().rows.size(), 0.0), trains(weights.size(), 0),
      holder(weights.size(), static_cast<std::uint8_t>(simd::n_together)) {
  for (std::size_t f = 0; f < tasks.size(); ++f)
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (tasks[f].weights[i] > 0.0) {
        trains[i] = static_cast<Lanes>(trains[i] | 1u << f);
        weights[i] = tasks[f].weights[i];
      } else {
        holder[i] = static_cast<std::uint8_t>(f);
      }
}

std::unique_ptr<FoldPaths> make_fold_paths(const std::vector<MarginTask>& tasks,
                                           const NewtonPathOptions& options,
                                           const std::vector<const double*>& grams) {
  if (options.keeps_gram)
    return std::make_unique<JointPaths>(tasks, options, grams);
  return std::make_unique<LanePaths>(tasks, options);
}

} // namespace alphapath
