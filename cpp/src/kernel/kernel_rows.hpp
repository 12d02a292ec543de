// Kernel rows as the solvers see them.
//
// Values are stored centred:  K_ij = stored_ij + offset_i + offset_j.
// For rbf the store holds expm1(-gamma d^2) and every offset is 1/2. For linear, poly and sigmoid
// offset_i = k(x_i, m) - k(m, m)/2 with m the mean row; for a given matrix it is the mean of row i
// minus half the mean of all. Either way the differences are taken in double and then rounded, so
// K_ii + K_jj - 2 K_ij of stored float32 values keeps its digits however constant K is. (Where an
// outlier drags the mean away from most rows, these are stored as they are, offsets 0.) Under
// sum(beta) = const an offset only shifts every gradient by the same number, so solvers with the
// equality constraint work on the stored values as they are; those without it add the offsets back.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace alphapath {

enum class Precision { float32, float64 };

/// One row, alive as long as `pin` (null where the store itself keeps the row for ever).
struct KernelRow {
  const void* data = nullptr;
  std::shared_ptr<const void> pin;
};

/// Read-only and shared by any number of threads; never permuted, never mixed with labels.
class KernelRows {
public:
  virtual ~KernelRows() = default;

  virtual std::size_t size() const = 0;
  /// Elements from one row to the next: size() rounded up to a multiple of 16. Rows start on
  /// 64-byte boundaries and their padding is zero.
  virtual std::size_t stride() const = 0;
  virtual Precision precision() const = 0;
  /// All rows in one piece, row i at i * stride(); null where they are not.
  virtual const void* full() const = 0;
  /// Whether a row costs kernel values: then several at once are cheaper than one by one.
  virtual bool is_on_demand() const { return full() == nullptr; }
  virtual KernelRow row(std::size_t i) const = 0;
  /// A hint that these rows are wanted soon; computing them together is cheaper than one by one.
  virtual void prefetch(std::span<const std::size_t> rows) const = 0;
  /// Stored (centred) diagonal, size() values.
  virtual std::span<const double> diagonal() const = 0;
  virtual std::span<const double> offset() const = 0;
};

/// out += stored[:, rows] @ coefficients, accumulated in double (offsets left out).
void multiply_add(const KernelRows& kernel, std::span<const std::size_t> rows,
                  std::span<const double> coefficients, std::span<double> out);

/// K[rows, :] with offsets, row-major, size() columns; in double.
void write_true_rows(const KernelRows& kernel, std::span<const std::size_t> rows, double* out);
/// K[rows, columns] with offsets, row-major.
void write_true_block(const KernelRows& kernel, std::span<const std::size_t> rows,
                      std::span<const std::size_t> columns, double* out);
/// K[:, idx] @ coef with offsets.
void multiply_true(const KernelRows& kernel, std::span<const std::size_t> idx,
                   std::span<const double> coef, std::span<double> out);

} // namespace alphapath
