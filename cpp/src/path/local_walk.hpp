// Several turns of a walk on the few instances that can meet an event soon.
//
// A turn on all n instances reads the kernel rows of the margin set, 8 m n bytes. Most instances
// are far from the ends of their intervals, so a part of the problem is walked on: the margin set
// and those that would leave first, whose block of the kernel is copied once. After some turns the
// residuals of the others follow from what the betas moved, in one product. If one of them left its
// interval, the part is dropped, and walked again with it. Where only the end counts, a far
// instance may leave its interval and return between turns, which no solution is the worse for;
// where the walk is recorded, it may not (followers.hpp).
#pragma once

#include "base/buffer.hpp"
#include "base/interrupt.hpp"
#include "path/followers.hpp"
#include "path/near_kernel.hpp"
#include "path/record.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace alphapath {

/// What comes after a turn.
enum class Turn { goes_on, ends, needs_renewal };

/// When a walk stops on the way.
struct WalkLimits {
  PathStatus& status;
  std::int64_t max_events;
  Watch& watch;
};

/// What a walker that is a part of another knows of it.
struct NearPart {
  NearKernel* kernel = nullptr; // null: the walker is no part
  double far_rates = 0;         // the sum of rates of those not in the part
  bool is_lost = false;         // must be dropped
  bool needs_all = false;       // the next turn is for all instances
  FollowedResiduals followed = {};
};

/// Says who is near, walks on them alone, and brings everybody else along.
class LocalWalk {
public:
  /// A walk begins: a turn on all instances finds out who is near; it pays where several follow.
  void begin() {
    turns_left_ = turns_before;
    has_rates_ = false;
  }
  /// Whether the rates of residuals are about right, after a part: asked once.
  bool take_rates() { return std::exchange(has_rates_, false); }
  /// Whether enough turns were on all instances: asked after each.
  bool is_due() { return --turns_left_ < 0; }
  /// Parts of the walk of `all`, towards `to`, and what is to come after them.
  Turn run(PathWalker& all, double to, const WalkLimits& limits);

private:
  // Turns of a walk on all instances before it looks at the near ones alone.
  static constexpr std::int64_t turns_before = 2;

  double choose_near(const PathWalker& all);
  void list_near(const PathWalker& all, std::vector<std::uint32_t>& followed,
                 std::vector<std::uint32_t>& hidden) const;
  void wait_after(const PathWalker& all, const PathWalker& part, std::int64_t n_events);
  PathStatus restore_factor(PathWalker& all, const PathWalker& part);
  bool follow(PathWalker& all, const PathWalker& part, const PieceCounts& begin);
  bool move_far(const PathWalker& all, const PathWalker& part);
  bool find_violators(const PathWalker& all);
  void take_over(PathWalker& all, PathWalker& part);

  /// Kept from one part to the next; a copy of a walker begins without.
  struct Memory {
    Buffer<double> values;
    FollowedResiduals followed;
    FollowerMemory following;

    Memory() = default;
    Memory(const Memory&) {}
  };

  std::vector<std::int8_t> is_near_;
  AlignedVector<double> far_e_, times_;
  Memory memory_;
  std::int64_t turns_left_ = 0, turns_waited_ = 0;
  double time_share_ = 0.7; // of what others would leave after, on a part
  bool has_rates_ = false;
};

} // namespace alphapath
