#include "joint_paths.hpp"

#include <algorithm>

namespace alphapath {

JointPaths::JointPaths(const std::vector<MarginTask>& tasks, const NewtonOptions& options,
                       const std::vector<const double*>& grams)
    : rows_(tasks.front().rows), has_bias_(options.has_bias), held_out_rows_(tasks.size()),
      held_out_(rows_.size(), 0.0), together_(rows_.n_columns() * simd::n_together) {
  std::fill_n(together_.data(), together_.size(), 0.0);
  for (std::size_t f = 0; f < tasks.size(); ++f) {
    paths_.push_back(
        std::make_unique<NewtonPath>(tasks[f], options, grams.empty() ? nullptr : grams[f]));
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (!(tasks[f].weights[i] > 0.0))
        held_out_rows_[f].push_back(static_cast<std::int32_t>(i));
  }
}

std::vector<NewtonResult> JointPaths::solve(double C, Watch& watch) {
  for (auto& path : paths_)
    path->begin(C);
  std::vector<bool> moves(paths_.size());
  while (true) {
    for (std::size_t f = 0; f < paths_.size(); ++f)
      moves[f] = paths_[f]->propose(watch);
    if (std::none_of(moves.begin(), moves.end(), [](bool m) { return m; }))
      break;
    move(moves);
  }
  std::vector<NewtonResult> results;
  for (const auto& path : paths_)
    results.push_back(path->result());
  return results;
}

void JointPaths::move(const std::vector<bool>& moves) {
  constexpr std::size_t lanes = simd::n_together;
  for (std::size_t f = 0; f < paths_.size(); ++f) {
    if (!moves[f])
      continue;
    const std::vector<double>& theta = paths_[f]->trial();
    for (std::size_t j = 0; j < rows_.n_columns(); ++j)
      together_[j * lanes + f] = theta[j];
    paths_[f]->state().begin_joint_move(theta);
  }
  Buffer<double> dots(margin_block * lanes);
  std::vector<std::size_t> next(paths_.size(), 0); // held-out rows are met in order
  for (std::size_t first = 0; first < rows_.size(); first += margin_block) {
    const std::size_t count = std::min(margin_block, rows_.size() - first);
    rows_.dots_together(first, count, together_.data(), dots.data());
    for (std::size_t f = 0; f < paths_.size(); ++f) {
      if (!moves[f])
        continue;
      paths_[f]->state().take_products(first, count, dots.data() + f, lanes);
      const double bias = has_bias_ ? paths_[f]->trial().back() : 0.0;
      const auto& held = held_out_rows_[f];
      for (; next[f] < held.size(); ++next[f]) {
        const std::size_t i = static_cast<std::size_t>(held[next[f]]);
        if (i >= first + count)
          break;
        held_out_[i] = dots[(i - first) * lanes + f] + bias;
      }
    }
  }
  for (std::size_t f = 0; f < paths_.size(); ++f)
    if (moves[f])
      paths_[f]->take(paths_[f]->state().end_joint_move());
}

} // namespace alphapath
