// The memory for copies of kernel rows that one solve may hold at a time. It is counted from that
// solve alone, so that what an earlier one left in a workspace changes no result.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

namespace alphapath {

class CopyBudget {
public:
  /// What the rows are of: all that may move, what is near the start, what can be selected.
  enum Part : std::size_t { all, near, selectable };

  explicit CopyBudget(std::size_t limit) : limit_(limit) {}

  /// Bytes that rows of T may take for `part`, in place of those it has.
  template <class T> std::size_t room(Part part) const {
    const std::size_t sum = std::accumulate(taken_.begin(), taken_.end(), std::size_t{0});
    return limit_ - std::min(limit_, sum - taken_[place<T>(part)]);
  }
  template <class T> void take(Part part, std::size_t bytes) { taken_[place<T>(part)] = bytes; }

private:
  static constexpr std::size_t n_parts = 3;
  template <class T> static constexpr std::size_t place(Part part) {
    return part + (sizeof(T) == sizeof(double) ? n_parts : 0);
  }

  std::size_t limit_;
  std::array<std::size_t, 2 * n_parts> taken_{};
};

} // namespace alphapath
