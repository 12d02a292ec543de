// Lazy bounds on the change in the margin.
//
// Each row keeps a reference of its own: when its margin was last computed, how far was it from the
// nearest kink of the loss? Since then w has moved within a plane that is known, which carries the
// margin by an amount that is known too, and aside from it, which carries it by at most |x_i| times
// the length of the path aside (Cauchy-Schwarz); the bias carries it exactly. While that does not
// reach the kink, the row is proven to be where it was. A descent moves steadily or zigzags, so the
// plane of its last two steps leaves little aside. Four floats a row, one scan for all rows;
// rounded against the proof.
//
// Legend: v, u orthonormal directions; run, drift how far w went along them; along_i = v'x_i,
// across_i = u'x_i; shift_i = bias + along_i run + across_i drift; sign_i the sign with which
// w'x_i + b carries row i away from the kink. Proven means
//   reach_i - |x_i| path + sign_i shift_i > 0,
// where reach_i = distance_i + |x_i| path - sign_i shift_i at the time of reference. With clusters
// (row_clusters.hpp) |x_i - c| takes the place of |x_i|, and shift_i includes what c knows.
#pragma once

#include "base/buffer.hpp"
#include "primal/margin_rows.hpp"
#include "primal/sums/row_clusters.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace alphapath {

class MarginBounds {
public:
  static constexpr double never = -std::numeric_limits<double>::infinity();
  static constexpr double always = std::numeric_limits<double>::infinity();

  MarginBounds(const MarginRows& rows, bool has_clusters);

  /// w moves to a new place; what was proven for the old one may no longer be.
  void move_to(const double* w, double bias);

  /// Goes where `other` is, by its steps; nothing is proven.
  void follow(const MarginBounds& other);

  /// The plane of the last two steps, for which all rows get new references by set_along and set.
  struct Plane {
    const double* v;
    const double* u;
  };
  Plane begin_plane();
  void set_along(std::size_t i, double along, double across) {
    along_[i] = static_cast<float>(along);
    across_[i] = static_cast<float>(across);
  }

  /// Row i was computed: it is `distance` from the kink, `sign` as above.
  void set(std::size_t i, double distance, double sign);

  /// Whether row i is still where it was.
  bool is_proven(std::size_t i) const;

  /// The rows without proof, in order; the caller's until the next call.
  std::span<std::int32_t> find_unproven();

  std::size_t size() const { return n_; }

private:
  double shift_of(std::size_t i) const {
    const double move = clusters_ ? clusters_->move_of(i) : 0.0;
    return static_cast<double>(along_[i]) * run_ + static_cast<double>(across_[i]) * drift_ + move;
  }
  double distance_run() const;
  void begin_path();
  void rebase();
  void round_outwards();

  std::size_t n_;
  Buffer<float> reach_;
  Buffer<float> norm_; // |x_i| or |x_i - c|; its sign is sign_i
  Buffer<float> along_, across_;
  Buffer<std::int32_t> found_;
  std::vector<double> last_w_, last_step_, step_before_, v_, u_;
  std::unique_ptr<RowClusters> clusters_; // or null
  double longest_centre_ = 0.0;
  double max_norm_ = 0.0;
  double path_ = 0.0;
  double run_ = 0.0;
  double drift_ = 0.0;
  double bias_ = 0.0;
  float scan_path_ = 0.0f;
  float scan_slack_ = 0.0f;
};

} // namespace alphapath
