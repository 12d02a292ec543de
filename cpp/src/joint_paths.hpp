// Newton paths of several folds side by side: each move of all of them reads the data once.
//
// The products of a row with the models of all folds are taken together, as lanes of one vector, so
// that up to eight folds cost little more than one. The products of held-out rows are their
// decision values, and are kept.
#pragma once

#include "buffer.hpp"
#include "margins_newton.hpp"

#include <memory>
#include <span>
#include <vector>

namespace alphapath {

class JointPaths {
public:
  /// One task a fold, at most n_together, all on the same rows; a row of weight 0 is held out. Each
  /// row is held out of one fold at most. `grams`: one a fold, or empty.
  JointPaths(const std::vector<MarginTask>& tasks, const NewtonOptions& options,
             const std::vector<const double*>& grams);

  std::vector<NewtonResult> solve(double C, Watch& watch);

  std::size_t size() const { return paths_.size(); }
  const NewtonPath& path(std::size_t f) const { return *paths_[f]; }
  /// w'x + b of each row under the fold that holds it out.
  std::span<const double> held_out_values() const { return held_out_; }

private:
  void move(const std::vector<bool>& moves);

  const MarginRows& rows_;
  bool has_bias_;
  std::vector<std::unique_ptr<NewtonPath>> paths_;
  std::vector<std::vector<std::int32_t>> held_out_rows_;
  std::vector<double> held_out_;
  Buffer<double> together_; // weights of all folds, lane by lane
};

} // namespace alphapath
