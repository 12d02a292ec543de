// Kernel rows restricted to the instances a solver works on, contiguous and in the precision it
// iterates in. Rows that are already so are used where they lie; others are copied on first use.
#pragma once

#include "base/buffer.hpp"
#include "kernel/kernel_rows.hpp"
#include "kernel/member_gather.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace alphapath {

template <class T> class WorkingRows {
public:
  static constexpr Precision precision =
      sizeof(T) == sizeof(float) ? Precision::float32 : Precision::float64;

  /// `members` ascending; `copy_limit` bounds the bytes of copied rows. They go to `memory` where
  /// that is large enough.
  WorkingRows(const KernelRows& kernel, std::vector<std::uint32_t> members, std::size_t copy_limit,
              Buffer<T> memory = {})
      : kernel_(kernel), members_(std::move(members)), n_(members_.size()), stride_(padded(n_)) {
    const bool is_plain = n_ == kernel.size() && kernel.precision() == precision;
    if (is_plain && kernel.full() != nullptr) {
      direct_ = static_cast<const T*>(kernel.full());
      stride_ = kernel.stride();
    } else if (is_plain) {
      is_pinned_ = true;
    } else if (bytes_to_copy(n_) <= copy_limit) {
      if (memory.size() < n_ * stride_) {
        memory = {};
        memory = Buffer<T>(n_ * stride_);
      }
      block_ = std::move(memory);
      is_copied_.assign(n_, 0);
      chunks_ = MemberGather(members_);
    } else {
      for (auto& slot : slots_)
        slot = Buffer<T>(stride_);
      chunks_ = MemberGather(members_);
    }
  }

  /// The memory of the copies, for others; nothing else may be asked for then.
  Buffer<T> release() { return std::move(block_); }

  static std::size_t bytes_to_copy(std::size_t n) { return n * padded(n) * sizeof(T); }

  /// Bytes of the copies it may come to hold, whatever memory it was given for them.
  std::size_t nbytes() const { return block_.is_empty() ? 0 : bytes_to_copy(n_); }

  const std::vector<std::uint32_t>& members() const { return members_; }
  std::size_t stride() const { return stride_; }

  /// Row of member k. Two rows may be held at a time, one in each slot (0 or 1).
  const T* row(std::size_t k, int slot) {
    if (direct_ != nullptr)
      return direct_ + k * stride_;
    if (is_pinned_) {
      pins_[slot] = kernel_.row(k);
      return static_cast<const T*>(pins_[slot].data);
    }
    if (!block_.is_empty()) {
      T* out = block_.data() + k * stride_;
      if (!is_copied_[k]) {
        copy_row(k, out);
        is_copied_[k] = 1;
      }
      return out;
    }
    copy_row(k, slots_[slot].data());
    return slots_[slot].data();
  }

private:
  void copy_row(std::size_t k, T* out) { chunks_.copy_row(kernel_, members_[k], out); }

  const KernelRows& kernel_;
  std::vector<std::uint32_t> members_;
  std::size_t n_, stride_;
  const T* direct_ = nullptr;
  bool is_pinned_ = false;
  Buffer<T> block_;
  std::vector<char> is_copied_;
  MemberGather chunks_;
  std::array<Buffer<T>, 2> slots_;
  std::array<KernelRow, 2> pins_;
};

} // namespace alphapath
