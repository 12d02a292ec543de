// Where stored kernel values come from: dense panels, sparse rows, kept products, a given array.
#pragma once

#include "base/buffer.hpp"
#include "base/parallel.hpp"
#include "kernel/kernel_rows.hpp"
#include "kernel/samples.hpp"
#include "simd/kernel/kernel_functions.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace alphapath {

/// Adds offset[row] + offset[j] to the values of a row from `column` on.
template <class T>
void add_offsets(std::span<const double> offset, std::size_t row, std::size_t column,
                 std::span<T> values) {
  for (std::size_t j = 0; j < values.size(); ++j)
    values[j] += static_cast<T>(offset[row] + offset[column + j]);
}

/// Where a matrix is written: row i from data + i * stride on, stride >= padded(columns).
template <class T> struct MatrixOut {
  T* data;
  std::size_t stride;

  T* row(std::size_t i) const { return data + i * stride; }
};

/// Values of type T; the same bits whichever way they are asked for. Shared by threads.
template <class T> class RowSource {
public:
  virtual ~RowSource() = default;
  virtual std::size_t size() const = 0;
  /// Bytes this holds itself, borrowed memory not counted.
  virtual std::size_t nbytes() const = 0;
  /// Writes row which[k] to out[k][0 .. padded(size())), padding zeroed.
  virtual void write_rows(std::span<const std::size_t> which, std::span<T* const> out) const = 0;
  /// Writes padded(size()) values of each row, padding zeroed.
  virtual void write_matrix(const MatrixOut<T>& matrix, const Team& team) const = 0;
  /// The same with the offsets added: the kernel's own values.
  virtual void write_true_matrix(const MatrixOut<T>& matrix, const Team& team) const {
    write_matrix(matrix, team);
    const std::vector<double> offset = offsets();
    for (std::size_t i = 0; i < size(); ++i)
      add_offsets<T>(offset, i, 0, {matrix.row(i), size()});
  }
  virtual std::vector<double> diagonal() const = 0;
  virtual std::vector<double> offsets() const = 0;
};

/// Zeroes what lies behind column n in a padded row.
template <class T> void clear_padding(T* row, std::size_t n) {
  std::fill(row + n, row + padded(n), T(0));
}

/// The values of `f` on samples, which must outlive the source.
template <class T>
std::unique_ptr<RowSource<T>> make_source(const Samples& samples, const KernelFunction& f,
                                          const Team& team);

} // namespace alphapath
