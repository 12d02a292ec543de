// The kernel among the instances that a local walk looks at.
#pragma once

#include "base/buffer.hpp"
#include "base/isa.hpp"
#include "kernel/kernel_rows.hpp"
#include "simd/path_loops.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace alphapath {

/// For values that are picked here and there: read as they come, one would wait for most of them.
inline void prefetch_row(const double* row, std::size_t n) {
  for (std::size_t k = 0; k < n; k += 8)
    __builtin_prefetch(row + k);
}

/// The kernel among some instances, in places of their own: first those followed, room for members
/// that will be, then the other members. Rows are copied when they are asked for.
class NearKernel final : public KernelRows {
public:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  static constexpr std::size_t max_turns = 64; // on one part: members that leave are followed

  NearKernel(const KernelRows& all, std::span<const std::uint32_t> followed,
             std::span<const std::uint32_t> hidden, Buffer<double>& memory)
      : all_(all), n_followed_(followed.size()), first_hidden_(padded(n_followed_ + max_turns)),
        which_(first_hidden_ + hidden.size(), nobody), row_at_(which_.size(), nullptr),
        diagonal_(which_.size(), 0.0), memory_(memory) {
    std::copy(followed.begin(), followed.end(), which_.begin());
    std::copy(hidden.begin(), hidden.end(),
              which_.begin() + static_cast<std::ptrdiff_t>(first_hidden_));
    for (std::size_t k = 0; k < which_.size(); ++k)
      if (which_[k] != nobody)
        diagonal_[k] = all.diagonal()[which_[k]];
  }

  /// Room for the rows of this many members, and for those that a part may ask for.
  void reserve(std::size_t n_members) {
    const std::size_t needed = n_members * first_hidden_ + 2 * (max_turns + 1) * stride();
    if (memory_.size() < needed)
      memory_ = Buffer<double>(needed + needed / 4);
  }

  std::span<const std::uint32_t> which() const { return which_; }
  /// For those followed, now or later.
  std::size_t n_places() const { return first_hidden_; }
  std::size_t n_followed() const { return n_followed_; }
  std::size_t size() const override { return which_.size(); }
  std::size_t stride() const override { return padded(size()); }
  Precision precision() const override { return Precision::float64; }
  const void* full() const override { return nullptr; }
  void prefetch(std::span<const std::size_t> instances) const override {
    for (const std::size_t i : instances)
      prefetch_row(static_cast<const double*>(all_.row(which_[i]).data), all_.size());
  }
  std::span<const double> diagonal() const override { return diagonal_; }
  std::span<const double> offset() const override { return {}; }
  KernelRow row(std::size_t i) const override {
    if (row_at_[i] == nullptr) {
      const KernelRow pin = all_.row(which_[i]);
      const double* values = static_cast<const double*>(pin.data);
      row_at_[i] = copy_followed(which_[i], values, stride());
      for (std::size_t k = first_hidden_; k < size(); ++k)
        row_at_[i][k] = which_[k] == nobody ? 0.0 : values[which_[k]];
      std::fill(row_at_[i] + size(), row_at_[i] + stride(), 0.0);
    }
    return {row_at_[i], nullptr};
  }

  /// Rows of these members: their values with those followed, now or later. Copied from the rows
  /// of those followed, which are fewer, and in the order of memory.
  std::vector<const double*> followed_rows(std::span<const std::uint32_t> members) const {
    std::vector<std::uint32_t> position(all_.size(), nobody), sorted;
    for (std::uint32_t k = 0; k < members.size(); ++k)
      position[members[k]] = k;
    std::vector<const double*> out(members.size());
    double* first = memory_.data() + used_;
    for (std::uint32_t i = 0; i < position.size(); ++i) {
      if (position[i] == nobody)
        continue;
      double* row = memory_.data() + used_;
      used_ += first_hidden_;
      rows_.emplace_back(i, row);
      sorted.push_back(i);
      out[position[i]] = row;
    }
    for (std::size_t k = 0; k < padded(n_followed_); k += 8) {
      KernelRow pins[8];
      const double* rows[8];
      for (std::size_t r = 0; r < 8; ++r) { // beyond the last any values do: nobody is there
        pins[r] = all_.row(which_[std::min(k + r, n_followed_ - 1)]);
        rows[r] = static_cast<const double*>(pins[r].data);
        prefetch_row(rows[r], all_.size());
      }
      ALPHAPATH_DISPATCH(pick_eight)(rows, sorted.data(), sorted.size(), first + k, first_hidden_);
    }
    return out;
  }

  bool has_room() const { return n_followed_ < first_hidden_; }
  /// The hidden member i gets a place among those followed.
  std::size_t follow(std::size_t i) {
    const std::size_t to = n_followed_++;
    const KernelRow pin = all_.row(which_[i]);
    for (const auto& [instance, row] : rows_) {
      if (to % row_padding == 0) // nobody else among those looked at together yet
        std::fill_n(row + to, row_padding, 0.0);
      row[to] = static_cast<const double*>(pin.data)[instance];
    }
    which_[to] = std::exchange(which_[i], nobody);
    row_at_[to] = std::exchange(row_at_[i], nullptr);
    diagonal_[to] = diagonal_[i];
    return to;
  }

private:
  double* copy_followed(std::uint32_t instance, const double* values, std::size_t length) const {
    if (used_ + length > memory_.size()) // dependent members may leave several at a turn
      extra_.emplace_back(length);
    double* out = extra_.empty() ? memory_.data() + used_ : extra_.back().data();
    used_ += length;
    for (std::size_t k = 0; k < n_followed_; ++k)
      out[k] = values[which_[k]];
    std::fill(out + n_followed_, out + first_hidden_, 0.0);
    rows_.emplace_back(instance, out);
    return out;
  }

  const KernelRows& all_;
  std::size_t n_followed_, first_hidden_;
  std::vector<std::uint32_t> which_;
  mutable std::vector<double*> row_at_;
  mutable std::size_t used_ = 0;
  mutable std::vector<Buffer<double>> extra_;
  mutable std::vector<std::pair<std::uint32_t, double*>> rows_; // of which instance, where
  std::vector<double> diagonal_;
  Buffer<double>& memory_;
};

} // namespace alphapath
