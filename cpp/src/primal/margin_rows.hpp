// The rows of a data matrix as the primal solvers of linear models use them: dense or CSR, float
// or double, read in place. Nothing is copied; the caller keeps the arrays alive.
#pragma once

#include "simd/primal/dual_sweep.hpp"
#include "simd/primal/fold_loops.hpp"
#include "simd/primal/margin_loops.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace alphapath {

using simd::CsrRows;
using simd::DenseRows;
using simd::RowList;
using simd::RowSigns;
using simd::RowWeights;

inline RowList all_rows(std::size_t first, std::size_t count) {
  return {nullptr, first, count};
}
inline RowList listed_rows(std::span<const std::int32_t> list) {
  return {list.data(), 0, list.size()};
}

/// A symmetric matrix in the making: the lower triangle, row-major.
struct Triangle {
  double* values;
  std::size_t ld;
};

/// Rows of CSR with memory of their own.
struct FloatRows {
  std::vector<float> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts{0};

  void append(std::int32_t column, float value) {
    columns.push_back(column);
    values.push_back(value);
  }
  void append_bias(std::size_t n_columns) { append(static_cast<std::int32_t>(n_columns), 1.0f); }
  void end_row() { starts.push_back(static_cast<std::int64_t>(values.size())); }
  void clear();
  std::size_t size() const { return starts.size() - 1; }
  CsrRows<float> view() const { return {values.data(), columns.data(), starts.data()}; }
};

/// Rows of CSR of which every stored value is 1: their columns in 16 bits, a sixth of the memory
/// that they are read from otherwise. No columns: there are other values, or too many columns.
struct IndicatorColumns {
  std::vector<std::uint16_t> columns;
  simd::RowStarts starts{static_cast<const std::int32_t*>(nullptr)};

  bool empty() const { return columns.empty(); }
  simd::IndicatorRows view() const { return {columns.data(), starts}; }
};

class MarginRows {
public:
  virtual ~MarginRows() = default;

  std::size_t size() const { return n_; }
  std::size_t n_columns() const { return n_columns_; }
  /// Euclidean length of row i, from its values: who needs it often keeps it, as it needs it.
  virtual double norm(std::size_t i) const = 0;
  /// squares[group[j]] += x_ij^2.
  virtual void add_squares(std::size_t i, const std::int32_t* group, double* squares) const = 0;
  /// Stored values per row, on average.
  double row_length() const { return row_length_; }

  /// out[k] = x_{rows[k]}' w.
  virtual void dots(const RowList& rows, const double* w, double* out) const = 0;
  /// out[k n_together + f] = x_{rows[k]}' w_f, where w[j n_together + f] = w_{f, j}.
  virtual void dots_together(const RowList& rows, const double* w, double* out) const = 0;
  /// sum_f += sum_k coef[k n_together + f] x_{first + k}, lane by lane as w above.
  virtual void add_together(std::size_t first, std::size_t count, const double* coef,
                            double* sum) const = 0;
  /// Appends copies of the listed rows, zeros left out; with a last column of ones for a bias.
  virtual void copy_rows(std::span<const std::int32_t> rows, bool has_bias,
                         FloatRows& to) const = 0;
  /// sum += sum_k coef[k] x_{rows[k]}.
  virtual void add_rows(const RowList& rows, const double* coef, double* sum) const = 0;
  /// Coordinate steps of the dual over the rows, one after the other.
  virtual void sweep_dual(const RowList& rows, simd::DualSweep& sweep) const = 0;
  virtual IndicatorColumns indicator_columns() const { return {}; }
  /// A copy of some rows, side by side in memory.
  virtual std::unique_ptr<MarginRows> pack(std::span<const std::int32_t> rows) const = 0;
  /// G += sum_k coef[k] x_k x_k' over the listed rows.
  virtual void add_outer(const RowList& rows, const double* coef, Triangle G) const = 0;

protected:
  MarginRows(std::size_t n, std::size_t n_columns) : n_(n), n_columns_(n_columns) {}
  std::size_t n_, n_columns_;
  double row_length_ = 0.0;
};

template <class T>
std::unique_ptr<MarginRows> make_dense_rows(const DenseRows<T>& rows, std::size_t n);
template <class T>
std::unique_ptr<MarginRows> make_csr_rows(const CsrRows<T>& rows, std::size_t n,
                                          std::size_t n_columns);

/// Rows examined at a time, so that a row is still in the cache when it is added.
inline constexpr std::size_t margin_block = 128;

double dot_product(const double* a, const double* b, std::size_t n);

} // namespace alphapath
