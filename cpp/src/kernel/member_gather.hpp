// Some of the instances of a kernel, and their values of a kernel row side by side.
#pragma once

#include "base/buffer.hpp"
#include "base/isa.hpp"
#include "kernel/kernel_rows.hpp"
#include "simd/kernel/gather.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

class MemberGather {
public:
  MemberGather() = default;
  /// `members` in any order; fastest where long runs of them are ascending.
  explicit MemberGather(std::span<const std::uint32_t> members) : n_(members.size()) {
    std::uint32_t last = 0;
    for (const std::uint32_t i : members) {
      const auto lane = static_cast<std::uint32_t>(i % row_padding);
      if (chunks_.empty() || chunks_.back().first != i - lane || i <= last)
        chunks_.push_back({i - lane, 0});
      chunks_.back().mask = static_cast<std::uint16_t>(chunks_.back().mask | (1u << lane));
      last = i;
    }
    if (n_ < few_a_chunk * chunks_.size()) {
      columns_.assign(members.begin(), members.end());
      chunks_.clear();
    }
  }

  /// out gets the members' values of row i, and zeros up to padded(number of members).
  template <class T> void copy_row(const KernelRows& kernel, std::size_t i, T* out) const {
    const KernelRow source = kernel.row(i);
    if (kernel.precision() == Precision::float32)
      gather(static_cast<const float*>(source.data), out);
    else
      gather(static_cast<const double*>(source.data), out);
    std::fill(out + n_, out + padded(n_), T(0));
  }

private:
  // With fewer members in a chunk they are picked one by one.
  static constexpr std::size_t few_a_chunk = 2;

  template <class S, class T> void gather(const S* source, T* out) const {
    if (!columns_.empty()) {
      const auto pick_values = ALPHAPATH_DISPATCH(pick_values<S, T>);
      pick_values(source, columns_.data(), n_, out);
      return;
    }
    const auto gather_members = ALPHAPATH_DISPATCH(gather_members<S, T>);
    gather_members(source, chunks_.data(), chunks_.size(), out, padded(n_));
  }

  std::size_t n_ = 0;
  std::vector<simd::MemberChunk> chunks_;
  std::vector<std::uint32_t> columns_; // in place of chunks
};

} // namespace alphapath
