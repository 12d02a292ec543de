// What outlives one solve on a kernel: the factor of the free set, and rows copied for iterating.
#pragma once

#include "dual/free_set.hpp"
#include "kernel/working_rows.hpp"

#include <memory>
#include <utility>

namespace alphapath {

class Workspace {
public:
  explicit Workspace(const KernelRows& kernel) : free_set(kernel), kernel_(kernel) {}

  /// Rows of `members`; those already copied are there again if the last call asked for the same.
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

} // namespace alphapath
