// Paths of several folds without second moments, for data of many columns.
//
// Newton's method as in newton.hpp, all folds in step. A C begins at the minimum over the
// span of the solutions of the last three, for which their decision values are enough. The
// systems are solved by conjugate residuals on a copy of the rows that are on the parabola in any
// fold, in single precision: what a step loses by that, the next one makes up, since objective and
// gradient are taken in double.
#pragma once

#include "base/buffer.hpp"
#include "primal/newton/fold_paths.hpp"
#include "simd/primal/matrix_free_loops.hpp"

#include <array>
#include <vector>

namespace alphapath {

inline bool has(Lanes set, std::size_t f) {
  return set >> f & 1u;
}
inline Lanes with(Lanes set, std::size_t f) {
  return static_cast<Lanes>(set | 1u << f);
}

class MatrixFreeFoldPaths final : public FoldPaths {
public:
  /// As make_fold_paths.
  MatrixFreeFoldPaths(const std::vector<MarginTask>& tasks, const NewtonPathOptions& options);

  std::vector<NewtonResult> solve(double C, Watch& watch) override;
  std::vector<double> theta(std::size_t fold) const override;

private:
  /// One number a fold.
  struct PerFold {
    double at[simd::n_together] = {};
    double& operator[](std::size_t f) { return at[f]; }
    double operator[](std::size_t f) const { return at[f]; }
  };

  void take_values();
  void evaluate();
  void begin_in_span(double C);
  void find_minimum_in_span(double C, PerFold (&a)[3]) const;
  bool is_smooth(std::size_t f, double C) const;
  using SpanProducts = std::array<PerFold, 6>;
  SpanProducts measure_span() const;
  void add_penalty(double C, const PerFold (&a)[3], const SpanProducts& products,
                   simd::SpanSums& sums) const;
  void measure(double C);
  double largest_gradient(std::size_t f, double C) const;
  bool is_solved(std::size_t f, double C) const;
  Lanes find_unfinished(double C, Watch& watch);
  void pack_parabola();
  void find_steps(double C, Lanes moving);
  void conjugate_residuals(const simd::LaneVectors& at, double C, Lanes moving);
  void search_lines(double C, Lanes moving);
  void solve_alone(std::size_t f, double C, Watch& watch);

  NewtonPathOptions options_;
  std::vector<MarginTask> tasks_;
  std::size_t size_; // of theta
  std::vector<NewtonResult> results_;
  Lanes needs_double_ = 0;               // folds that single precision brought no further
  PerFold losses_, objective_, squares_; // sum of losses; F; squared gradient norm
  PerFold zero_gradient_;                // as in NewtonPath
  // Lane by lane: theta, the gradient of the losses, that of F, and the step.
  Buffer<double> theta_, loss_gradient_, gradient_, step_;
  Buffer<double> values_; // decision values at theta_, row by row
  /// theta and decision values at the solution of an earlier C; 0 before the first.
  struct Past {
    Buffer<double> theta, values;
  };
  Past past_[2]; // of the C before the last, and of that before it
  // The rows on the parabola in any fold, over the columns that they have; outside of these H is
  // the identity, and one more entry stands for all other columns.
  std::vector<std::int32_t> parabola_; // the first n_parabola_
  std::size_t n_parabola_ = 0;
  std::vector<float> parabola_weights_; // lane by lane; 0 where a fold does not have the row on it
  std::vector<std::int32_t> packed_;    // the rows of rows_packed_
  FloatRows rows_packed_;
  std::vector<std::int32_t> columns_;  // of the compact entries
  std::vector<std::int32_t> place_of_; // of a column among them, or -1
  Buffer<float> vectors_;
};

} // namespace alphapath
