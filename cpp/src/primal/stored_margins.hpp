// Bounds on margins under a stored w, for samples of the rows.
#pragma once

#include "primal/sums/loss_sums.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace alphapath {

/// The bounds of Algorithm 3: margins of all rows under a stored w', b'.
///
/// A step of Pegasos shrinks w as a whole, which changes all margins in proportion: so w is
/// compared with the nearest multiple of w'. The weights of frequent columns move otherwise than
/// those of rare ones, so each of a few groups of columns has a length of x and a distance from w'
/// of its own. What a sampled row needs lies side by side, since the samples are scattered: reading
/// it must cost less than the row.
class StoredMargins {
public:
  StoredMargins(const MarginTask& task) : task_(task), w_(task.rows.n_columns()), moved_(w_) {}

  void store(const std::vector<double>& theta);

  /// Only the place, to see later how far w went.
  void remember(const std::vector<double>& theta);

  /// w moved to theta.
  void move_to(const std::vector<double>& theta);

  /// How far the margin of row i can have gone from what it was, but for the bias and the scale.
  double reach_of(std::size_t i) const { return reach_of(signed_norms(i)); }

  /// +1: surely beyond 1; -1: surely before it; 0: not known. Floats are rounded against the proof.
  int side_of(std::size_t i) const {
    const Row& row = rows_[i];
    const float m = scale_ * row.margin;
    const float away = m - 1.0f + std::copysign(bias_, bias_ * row.norms[0]);
    const float reach = reach_of(row.norms) + 1e-6f * (2.0f + std::abs(m) + std::abs(bias_));
    return static_cast<int>(away > reach) - static_cast<int>(away < -reach);
  }

private:
  static constexpr std::size_t n_groups = 3;
  // The share of the columns, the most frequent first, at which the next group begins.
  static constexpr double begins[n_groups - 1] = {1.0 / 6.0, 1.0 / 2.0};

  using Norms = std::array<float, n_groups>;

  struct alignas(16) Row {
    float margin = 0.0f; // y w'x, without the bias
    Norms norms{};       // the sign of the first is y
  };

  float reach_of(const Norms& norms) const {
    return std::abs(norms[0]) * reach_[0] + norms[1] * reach_[1] + norms[2] * reach_[2];
  }

  Norms signed_norms(std::size_t i) const;

  /// The weights of theta, group by group.
  void arrange(const std::vector<double>& theta, std::vector<double>& to);

  /// Columns by the squares that they hold.
  void choose_groups();

  const MarginTask& task_;
  std::vector<double> w_, moved_; // w' and w, group by group
  double squares_ = 0.0;
  std::vector<std::int32_t> order_, group_; // columns by group; the group of each
  std::size_t ends_[n_groups + 1] = {};
  std::vector<Row> rows_;
  float reach_[n_groups] = {};
  float scale_ = 0.0f;
  float bias_ = 0.0f;
};

} // namespace alphapath
