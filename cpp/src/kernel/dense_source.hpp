// Kernel values of dense rows.
//
// Three routes to the same number, the quickest that is accurate enough:
//  float products:    |x|^2 + |z|^2 - 2 x'z on centred rows. The exponent of rbf is then wrong by
//                     about gamma max|x|^2 2^-22; small integers are exact.
//  double products:   the same with 2^-51, rounded at the end. Always for poly and sigmoid, whose
//                     offsets are taken off in double.
//  double differences: sum (x_k - z_k)^2, wrong by a relative d 2^-53 only, at half the speed.
// Products of integers, exact in double, come from panels of 16 or 8 bits where the numbers fit.
#pragma once

#include "base/buffer.hpp"
#include "kernel/centring.hpp"
#include "kernel/panels.hpp"
#include "kernel/row_source.hpp"

namespace alphapath {

enum class Route { float_products, double_products, double_differences };

/// What a panel holds of a row: numbers as they are, or integers that fit simd::WholePair or
/// WholeQuad.
enum class Elements { values, pairs, quads };

struct ProductPlan {
  Route route;
  Elements elements;
  bool is_shifted = false; // the rows are taken minus their centre
};

/// The rule that picks one for kernel values stored in `precision`. Rows are centred for distances,
/// and for linear where that makes most of them shorter (an outlier may drag the centre away); but
/// not where they are mostly zeros, which can then be left out, and the route is as quick without.
ProductPlan plan_products(const Samples& samples, const KernelFunction& f, Precision precision);

/// Products in precision P, kernel values in precision T, elements E of the panels.
template <class P, class T, class E = P> class DenseSource final : public RowSource<T> {
public:
  DenseSource(const Samples& samples, const KernelFunction& f, const ProductPlan& plan,
              const Team& team);

  std::size_t size() const override { return panels_.size(); }
  std::size_t nbytes() const override { return panels_.nbytes(); }
  void write_rows(std::span<const std::size_t> which, std::span<T* const> out) const override;
  void write_matrix(const MatrixOut<T>& matrix, const Team& team) const override {
    write_tiles({}, matrix, team);
  }
  void write_true_matrix(const MatrixOut<T>& matrix, const Team& team) const override {
    write_tiles(offsets(), matrix, team);
  }
  std::vector<double> diagonal() const override;
  std::vector<double> offsets() const override { return offsets_.values(); }

private:
  /// Up to PairOps::group rows, element k of row r at [k * lda + r].
  struct Left {
    const E* at;
    std::size_t lda, n_rows;
    simd::Depth depth;
  };
  /// Rows that do not follow each other, copied together.
  struct Packed {
    Buffer<E> values;
    std::vector<std::vector<std::uint16_t>> nonzero; // that depths refer to
    std::vector<Left> left;
  };
  struct Tile;
  struct Scratch;

  void multiply(std::span<const Left> left, std::size_t column, std::size_t n_columns,
                bool is_diagonal, P* products) const;
  void clear_behind_panels(std::span<const Left> left, std::size_t n_columns, P* products) const;
  void apply(std::size_t row, std::size_t column, std::size_t n, const P* products,
             T* values) const;
  /// With `offset` added to the values where there is one.
  void write_tiles(const std::vector<double>& offset, const MatrixOut<T>& matrix,
                   const Team& team) const;
  void write_tile(const Tile& tile, std::span<const double> offset, Scratch& scratch,
                  const MatrixOut<T>& matrix) const;
  void mirror(const Tile& tile, const T* values, const MatrixOut<T>& matrix) const;
  Packed pack(std::span<const std::size_t> which) const;

  Panels<E, P> panels_;
  KernelFunction f_;
  bool is_difference_;
  Offsets<P> offsets_;
};

} // namespace alphapath
