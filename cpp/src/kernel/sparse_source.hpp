// Kernel values of sparse rows: row i is sum_k x_ik (column k), by a transposed copy of the data.
// Products are summed in double over ascending k, so symmetry and zero distances are exact.
#pragma once

#include "kernel/centring.hpp"
#include "kernel/row_source.hpp"

#include <cstdint>

namespace alphapath {

template <class T> class SparseSource final : public RowSource<T> {
public:
  SparseSource(const Samples& samples, const KernelFunction& f);

  std::size_t size() const override { return samples_.size(); }
  std::size_t nbytes() const override;
  void write_rows(std::span<const std::size_t> which, std::span<T* const> out) const override;
  void write_matrix(const MatrixOut<T>& matrix, const Team& team) const override;
  std::vector<double> diagonal() const override;
  std::vector<double> offsets() const override { return offsets_.values(); }

private:
  simd::Terms<double> terms(std::size_t i, std::size_t column) const;
  void write_row(std::size_t i, std::size_t first, std::vector<double>& products, T* out) const;

  const Samples& samples_;
  KernelFunction f_;
  std::vector<std::size_t> column_start_;
  std::vector<std::uint32_t> row_index_;
  std::vector<double> values_;
  std::vector<double> norms_;
  Offsets<double> offsets_;
};

/// Fills the lower triangle from the upper one.
template <class T> void mirror_upper(const MatrixOut<T>& matrix, std::size_t n, const Team& team);

} // namespace alphapath
