// The kernel matrix behind KernelRows: whole, or rows on demand within a number of bytes.
#pragma once

#include "base/buffer.hpp"
#include "kernel/kernel_rows.hpp"
#include "kernel/row_source.hpp"

#include <atomic>
#include <cstdint>

namespace alphapath {

class KernelMatrix : public KernelRows {
public:
  KernelMatrix(std::vector<double> diagonal, std::vector<double> offsets)
      : diagonal_(std::move(diagonal)), offsets_(std::move(offsets)) {}

  std::size_t size() const override { return offsets_.size(); }
  std::size_t stride() const override { return padded(size()); }
  std::span<const double> diagonal() const override { return diagonal_; }
  std::span<const double> offset() const override { return offsets_; }

  /// Bytes of kernel values held now (and of the packed data a row cache needs).
  virtual std::size_t nbytes() const = 0;
  virtual std::size_t n_rows_computed() const = 0;
  /// How often a wanted row was there already; the whole matrix does not count.
  virtual std::size_t n_hits() const = 0;

private:
  std::vector<double> diagonal_, offsets_;
};

/// What a KernelMatrix borrows, kept alive by it.
using Owner = std::shared_ptr<const void>;

/// All rows, computed now.
template <class T>
std::shared_ptr<KernelMatrix> make_full_matrix(const RowSource<T>& source, const Team& team);

/// Rows computed when asked for; at most `capacity` (>= 2) of them stay.
template <class T>
std::shared_ptr<KernelMatrix> make_cached_matrix(std::unique_ptr<RowSource<T>> source,
                                                 std::size_t capacity, Owner owner);

/// The rows and columns of some instances of another matrix, in this order and its precision. Rows
/// are copied when they are first asked for.
std::shared_ptr<KernelMatrix> make_part_matrix(std::shared_ptr<const KernelMatrix> whole,
                                               std::vector<std::uint32_t> members);

} // namespace alphapath
