// Newton paths of several folds side by side: each move of all of them reads the data once.
//
// The products of a row with the models of all folds are taken together, as lanes of one vector, so
// that up to eight folds cost little more than one. The products of held-out rows are their
// decision values, and are kept. For the squared hinge.
#pragma once

#include "primal/newton/newton.hpp"

#include <memory>
#include <span>
#include <vector>

namespace alphapath {

using Lanes = std::uint8_t; // one bit a fold

/// Who trains on which rows.
struct FoldRows {
  explicit FoldRows(const std::vector<MarginTask>& tasks);

  std::vector<double> weights; // of each row where it is trained on
  std::vector<simd::JointRow> lanes;
};

class FoldPaths {
public:
  virtual ~FoldPaths() = default;

  /// All folds at the next C, each warm-started from its last solution.
  virtual std::vector<NewtonResult> solve(double C, Watch& watch) = 0;
  virtual std::vector<double> theta(std::size_t fold) const = 0;

  std::size_t size() const { return n_folds_; }
  /// w'x + b of each row under the fold that holds it out; where signs are enough, a value that has
  /// its sign.
  std::span<const double> held_out_values() const { return held_out_; }

protected:
  FoldPaths(const std::vector<MarginTask>& tasks, const NewtonPathOptions& options)
      : task_(tasks.front()), n_folds_(tasks.size()), has_bias_(options.has_bias), rows_(tasks),
        held_out_(task_.rows.size(), 0.0) {}

  MarginTask task_; // of the first fold: rows, labels and loss
  std::size_t n_folds_;
  bool has_bias_;
  FoldRows rows_;
  std::vector<double> held_out_;
};

/// One task a fold, at most n_together, all on the same rows, labels and squared hinge; a row of
/// weight 0 is held out, of one fold at most, and the others give it the same weight. With second
/// moments kept (`grams`: one a fold, or empty) or, where options.keeps_gram is false, without;
/// then a bias must be penalised.
std::unique_ptr<FoldPaths> make_fold_paths(const std::vector<MarginTask>& tasks,
                                           const NewtonPathOptions& options,
                                           const std::vector<const double*>& grams);

} // namespace alphapath
