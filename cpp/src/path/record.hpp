// What a path along weights records: where it turned, the affine pieces in between, and scores
// along them.
#pragma once

#include "base/buffer.hpp"
#include "path/curve.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace alphapath {

/// Where an instance is. The numbers are part of the Python interface (alphapath.paths).
enum class Place : std::int8_t {
  outside = 0, // beta = 0
  margin = 1,  // beta between its bounds, its residual on the margin
  above = 2,   // beta at the upper bound
  below = 3,   // beta at the lower bound
  driven = 4,  // beta is moved by the caller
  absent = 5   // weight 0 for good: no condition holds
};

enum class PathStatus {
  arrived = 0,
  event_limit = 1,
  time_limit = 2,
  interrupted = 3,
  not_definite = 4, // a pivot that only a kernel that is not positive semi-definite gives
  unbounded = 5     // the sum cannot be kept: no instance can move
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
  /// Room for this many members of all pieces. Much more than that where there is too little: what
  /// is never touched costs nothing, and copies do.
  void reserve(std::size_t n_members) {
    if (n_members <= beta.capacity())
      return;
    members.reserve(4 * n_members);
    beta.reserve(4 * n_members);
    beta_rate.reserve(4 * n_members);
  }
  /// Keeps the first pieces and changes, by number.
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

/// How much of a path was written.
struct PieceCounts {
  std::size_t n_pieces, n_changes;
};

/// Rows with a score, what is summed over them, and room for their values.
struct Scores {
  std::vector<std::size_t> rows;
  std::vector<std::size_t> position; // of an instance among them
  std::vector<double> residual, rate;
  CurveSums sums;
  AlignedVector<double> side; // of errors: that of each row, 0 where it has no score
  bool are_errors;            // which change only where a sign does
};

/// Residuals of all instances on their way, and the targets they are of.
struct MovingResiduals {
  const AlignedVector<double>&e, &rate, &target;
};

/// A stretch of a step, from `at` to `end` past tau, on which the bias is moved by shift and its
/// rate.
struct Stretch {
  double tau, at, end, shift, shift_rate;
};

/// Writes a walk down, as far as it is asked to.
class Recorder {
public:
  void begin(bool is_on, bool keeps_pieces);
  /// Goes on with the pieces of another, which is to get them back.
  void go_on_with(Recorder& other);
  void score(std::span<const std::size_t> rows, std::span<const double> shares, Metric metric,
             std::span<const double> targets);

  bool is_on() const { return is_on_; }
  bool keeps_pieces() const { return keeps_pieces_; }
  bool has_errors() const { return scores_ && scores_->are_errors; }
  bool has_squares() const { return scores_ && !scores_->are_errors; }
  bool has_scores() const { return scores_.has_value(); }
  const PathPieces& pieces() const { return pieces_; }
  Scores& scores() { return *scores_; }
  const Scores& scores() const { return *scores_; }
  PieceCounts counts() const { return {pieces_.tau.size(), pieces_.change_piece.size()}; }

  void write_change(std::uint32_t instance, Place place);
  /// A piece that begins at tau; who its members are and what their betas are is the caller's to
  /// fill in.
  struct Room {
    std::uint32_t* members;
    double* beta;
  };
  Room write_piece(double tau, double bias, double bias_rate, std::span<const double> beta_rate);
  void write_scores(const Stretch& stretch, const MovingResiduals& residuals);
  /// Where residuals go straight from one to the other.
  void write_chord(double start, double end, const double* first, const double* last);
  void cut(const PieceCounts& to) { pieces_.cut(to.n_pieces, to.n_changes); }
  /// What was not asked to be kept.
  void drop_pieces() {
    if (!keeps_pieces_)
      pieces_.cut(0, 0);
  }

  Curve take_curve() { return std::exchange(scores_, std::nullopt)->sums.curve(); }
  PathPieces take_pieces() { return std::exchange(pieces_, {}); }
  void swap_pieces(Recorder& other) { std::swap(pieces_, other.pieces_); }

private:
  bool is_on_ = false, keeps_pieces_ = true;
  std::optional<Scores> scores_;
  PathPieces pieces_;
};

} // namespace alphapath
