// What a path along weights records: where it turned, and the affine pieces in between.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace alphapath {

/// Where an instance is. The numbers are part of the Python interface (alphapath.paths).
enum class Place : std::int8_t {
  outside = 0, // beta = 0
  margin = 1,  // beta between its bounds, its residual on the margin
  above = 2,   // beta at the upper bound
  below = 3,   // beta at the lower bound
  driven = 4,  // beta moves as it is told
  absent = 5   // weight 0 for good: no condition holds
};

enum class PathStatus {
  arrived = 0,
  event_limit = 1,
  time_limit = 2,
  interrupted = 3,
  not_definite = 4, // a pivot that only a kernel that is not positive semi-definite gives
  unbounded = 5     // the sum can not be kept: nobody is left to move
};

struct PathCounts {
  std::int64_t n_events = 0;    // sets changed
  std::int64_t n_steps = 0;     // of positive length: the breakpoints
  std::int64_t n_exchanges = 0; // dependent members swapped
  std::int64_t n_jumps = 0;     // of the bias, with no margin member
  std::int64_t n_ramps = 0;     // ties broken by a perturbation that was taken back
  std::int64_t n_refreshes = 0; // residuals and factor from scratch
  std::int64_t n_updates = 0;   // of the factor
  std::int64_t n_parts = 0;     // of a walk that were on the near instances alone
  std::int64_t n_dropped = 0;   // and that were not good for the others
};

/// Piece k holds on [tau[k], tau[k + 1]]: bias + (t - tau) bias_rate, and likewise the beta of the
/// margin members first[k] .. first[k + 1]. Everybody else is at a bound; change c (of pieces >=
/// change_piece[c]) says at which.
struct PathPieces {
  std::vector<double> tau, bias, bias_rate;
  std::vector<std::int64_t> first;
  std::vector<std::uint32_t> members;
  std::vector<double> beta, beta_rate;
  std::vector<std::int64_t> change_piece;
  std::vector<std::uint32_t> change_instance;
  std::vector<std::int8_t> change_place;

  /// Where the members of a piece begin and end.
  std::pair<std::size_t, std::size_t> members_of(std::size_t piece) const {
    return {static_cast<std::size_t>(first[piece]),
            piece + 1 < first.size() ? static_cast<std::size_t>(first[piece + 1]) : members.size()};
  }
  /// Room for so many members of all pieces. Much more than that where there is too little: what is
  /// never touched costs nothing, and copies do.
  void reserve(std::size_t n_members) {
    if (n_members <= beta.capacity())
      return;
    members.reserve(4 * n_members);
    beta.reserve(4 * n_members);
    beta_rate.reserve(4 * n_members);
  }
  /// Keeps the first so many pieces and changes.
  void cut(std::size_t n_pieces, std::size_t n_changes) {
    if (n_pieces < tau.size()) {
      const std::size_t n_members = static_cast<std::size_t>(first[n_pieces]);
      members.resize(n_members);
      beta.resize(n_members);
      beta_rate.resize(std::min(n_members, beta_rate.size())); // none where only scores are kept
    }
    tau.resize(n_pieces);
    bias.resize(n_pieces);
    bias_rate.resize(n_pieces);
    first.resize(n_pieces);
    change_piece.resize(n_changes);
    change_instance.resize(n_changes);
    change_place.resize(n_changes);
  }
};

} // namespace alphapath
