// A kernel matrix whose instances come and go: slots are filled, reused, and more are made.
#pragma once

#include "base/buffer.hpp"
#include "base/parallel.hpp"
#include "kernel/kernel_rows.hpp"
#include "kernel/samples.hpp"
#include "simd/kernel/kernel_functions.hpp"

#include <vector>

namespace alphapath {

class GrowingMatrix final : public KernelRows {
public:
  explicit GrowingMatrix(std::size_t n_slots) { reserve(n_slots); }

  std::size_t size() const override { return diagonal_.size(); }
  std::size_t stride() const override { return padded(size()); }
  Precision precision() const override { return Precision::float64; }
  const void* full() const override { return values_.data(); }
  KernelRow row(std::size_t i) const override { return {values_.data() + i * stride(), nullptr}; }
  void prefetch(std::span<const std::size_t>) const override {}
  std::span<const double> diagonal() const override { return diagonal_; }
  std::span<const double> offset() const override { return offsets_; }
  std::size_t nbytes() const { return values_.nbytes(); }

  /// The first rows, in the first of n_slots slots, their values centred about row 0. Distances are
  /// sums of differences: as exact as those of rows that come later.
  void begin(std::size_t n_slots, const Samples& samples, const KernelFunction& f,
             const Team& team);
  /// More slots, their values 0; rows move.
  void reserve(std::size_t n_slots);
  std::size_t n_rows_computed() const { return n_filled_; }
  /// Stored K(slots[s], others[k]) = values[s * others.size() + k] and its mirror image; true K
  /// adds the offsets of both.
  void fill(std::span<const std::size_t> slots, const double* offsets,
            std::span<const std::size_t> others, const double* values);
  /// The same for K = exp(-gamma d^2), d^2 given, as expm1(-gamma d^2) less what this is between
  /// the origin and either row. `squares` is overwritten.
  void fill_rbf(double gamma, std::span<const std::size_t> slots, const double* at_origin,
                std::span<const std::size_t> others, const double* others_at_origin,
                std::span<double> squares);

private:
  Buffer<double> values_;
  std::size_t n_filled_ = 0;
  std::vector<double> diagonal_, offsets_;
};

} // namespace alphapath
