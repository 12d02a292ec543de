// The state that outlives one solve on a kernel: the factor of the free set, and rows copied for
// iterating.
#pragma once

#include "dual/free_set.hpp"
#include "kernel/working_rows.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace alphapath {

class Workspace {
public:
  explicit Workspace(const KernelRows& kernel) : free_set(kernel), kernel_(kernel) {}

  /// Rows of `members`; rows already copied are reused if the last call asked for the same.
  template <class T>
  WorkingRows<T>& rows(const std::vector<std::uint32_t>& members, std::size_t copy_limit) {
    return renew(std::get<Held<T>>(rows_), members, copy_limit);
  }

  /// Rows of `near`, which stay copied as long as it is not changed.
  template <class T> WorkingRows<T>& near_rows(std::size_t copy_limit) {
    return renew(std::get<Held<T>>(near_rows_), near, copy_limit);
  }

  /// Memory of rows copied by a solve for itself: fresh pages for each would cost more than them.
  template <class T> Buffer<T>& spare() { return std::get<Buffer<T>>(spare_); }

  FreeSet free_set;
  // Instances that all solves to come are about, where they are few of all; empty: no such thing.
  std::vector<std::uint32_t> scope;
  // Instances to iterate on first, for a start close to the solution; empty: on all.
  std::vector<std::uint32_t> near;
  // What is solved next on this kernel decides which copies of rows pay.
  enum class Next {
    nothing,        // copied for this solve alone
    same_instances, // a fold at another C: a copy without the others is won back
    others,         // another fold: a copy of all serves every fold
  } next = Next::nothing;

private:
  template <class T> using Held = std::unique_ptr<WorkingRows<T>>;

  template <class T>
  WorkingRows<T>& renew(Held<T>& held, const std::vector<std::uint32_t>& members,
                        std::size_t copy_limit) {
    if (!held || held->members() != members)
      held = std::make_unique<WorkingRows<T>>(kernel_, members, copy_limit);
    return *held;
  }

  const KernelRows& kernel_;
  std::pair<Held<float>, Held<double>> rows_, near_rows_;
  std::pair<Buffer<float>, Buffer<double>> spare_;
};

/// The memory for copies of kernel rows that one solve may hold at a time. It is counted from that
/// solve alone, so that what an earlier one left in a workspace changes no result.
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
