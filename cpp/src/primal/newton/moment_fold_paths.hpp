// Paths of several folds with their second moments kept.
//
// Most rows that cross the kink do so in all folds that train on them: their second moments are
// summed once, by the fold that holds them out, and every fold adds the whole less its own part.
// The folds share the factor that preconditions their systems.
#pragma once

#include "base/buffer.hpp"
#include "primal/newton/fold_paths.hpp"
#include "primal/sums/length_bounds.hpp"

#include <memory>
#include <vector>

namespace alphapath {

class MomentFoldPaths final : public FoldPaths {
public:
  /// As make_fold_paths.
  MomentFoldPaths(const std::vector<MarginTask>& tasks, const NewtonPathOptions& options,
                  const std::vector<const double*>& grams);

  std::vector<NewtonResult> solve(double C, Watch& watch) override;
  std::vector<double> theta(std::size_t fold) const override {
    return paths_[fold]->state().theta();
  }

private:
  struct Crossing {
    std::int32_t row;
    Lanes lanes; // in which it crossed
    Lanes below; // where it is now
  };
  /// Rows that cross in all moving folds that train on them, by the fold that holds them out (last:
  /// by none of them).
  struct Common {
    std::vector<std::int32_t> rows;
    std::vector<double> weights; // negative for those that leave the parabola

    void add(std::int32_t row, double weight) {
      rows.push_back(row);
      weights.push_back(weight);
    }
  };

  Lanes move(Lanes moving, Watch& watch);
  void find_crossings(Lanes moving);
  void take_block(const RowList& rows, Lanes moving);
  void take_products(const RowList& rows, double* dots) const;
  void update_held_out();
  void sum_common(bool keeps_gram);
  void clear_common();
  void apply_crossings(Lanes moving);
  bool is_common(const Crossing& crossing, Lanes moving) const;
  void cross_together(Lanes moving);
  SegmentState& state(std::size_t f) { return paths_[f]->state(); }
  std::size_t whole_size() const { return task_.rows.n_columns() + has_bias_; }

  std::vector<std::unique_ptr<NewtonPath>> paths_;
  bool needs_values_;
  IndicatorColumns columns_;
  LengthBounds bounds_;     // on the margins where a row is trained on, on 0 where it is held out
  Buffer<double> together_; // weights of all folds, lane by lane
  double bias_[simd::n_together] = {};
  std::vector<Crossing> crossings_;
  Common common_[simd::n_together + 1];
  ParabolaMoments moments_[simd::n_together + 1], whole_;
};

} // namespace alphapath
