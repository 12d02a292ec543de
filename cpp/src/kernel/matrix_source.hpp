// Kernel values from an existing matrix: given by the user, or cached products.
#pragma once

#include "kernel/centring.hpp"
#include "kernel/row_source.hpp"
#include "simd/kernel/sample_loops.hpp"

#include <cstddef>

namespace alphapath {

/// Rows of P numbers `stride` apart.
template <class P> struct MatrixView {
  const P* data;
  std::size_t n, stride;
};

/// f of every entry (dot products or squared distances), linear for a kernel matrix that is given;
/// the matrix must outlive this. Products in float32 serve rbf alone: what the other kernels'
/// offsets cancel must not be rounded before.
template <class P, class T> class MatrixSource final : public RowSource<T> {
public:
  MatrixSource(const MatrixView<P>& products, const KernelFunction& f, const Team& team);

  std::size_t size() const override { return products_.n; }
  std::size_t nbytes() const override { return 0; }
  void write_rows(std::span<const std::size_t> which, std::span<T* const> out) const override;
  void write_matrix(const MatrixOut<T>& matrix, const Team& team) const override;
  std::vector<double> diagonal() const override;
  std::vector<double> offsets() const override { return offsets_.values(); }

private:
  void write_row(std::size_t i, T* out) const;

  MatrixView<P> products_;
  KernelFunction f_;
  Offsets<P> offsets_;
};

/// What is to be known of a given matrix before it is used: of the pairs (K_ij, K_ji) of an
/// n x n matrix without padding (0 counts for lowest and highest);
/// in one pass and without a copy.
simd::PairFacts look_at_matrix(const double* values, std::size_t n);

} // namespace alphapath
