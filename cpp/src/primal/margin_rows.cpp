#include "primal/margin_rows.hpp"

#include "base/blas.hpp"
#include "base/buffer.hpp"
#include "base/isa.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace alphapath {

namespace {

std::size_t row_at(const RowList& rows, std::size_t k) {
  return rows.list != nullptr ? static_cast<std::size_t>(rows.list[k]) : rows.first + k;
}

template <class T> double length_of(std::span<const T> row) {
  double sum = 0.0;
  for (const T value : row)
    sum += double(value) * double(value);
  return std::sqrt(sum);
}

// With more of each row filled than this, blocks of rows times BLAS beat row by row.
constexpr double dense_share = 0.15;
constexpr std::size_t panel_rows = 192;

/// G += sum coef x x' by panels of dense rows of one sign; write(i, scale, out) expands a row.
template <class Write>
void add_outer_by_panels(const RowList& rows, const double* coef, Triangle G, std::size_t d,
                         const Write& write) {
  std::vector<double> panel(std::min(panel_rows, rows.count) * d);
  for (const double sign : {1.0, -1.0}) {
    std::size_t n_filled = 0;
    const auto flush = [&] {
      const int n = static_cast<int>(d), k = static_cast<int>(n_filled);
      const int ld = static_cast<int>(G.ld);
      const double one = 1.0;
      // The lower triangle row by row is the upper one in Fortran's order; so is the panel d x k.
      if (k > 0)
        blas().dsyrk("U", "N", &n, &k, &sign, panel.data(), &n, &one, G.values, &ld);
      n_filled = 0;
    };
    for (std::size_t r = 0; r < rows.count; ++r) {
      if (!(sign * coef[r] > 0.0))
        continue;
      write(row_at(rows, r), std::sqrt(std::abs(coef[r])), panel.data() + n_filled * d);
      if (++n_filled == panel_rows)
        flush();
    }
    flush();
  }
}

template <class T> class DenseMarginRows final : public MarginRows {
public:
  DenseMarginRows(const DenseRows<T>& rows, std::size_t n)
      : MarginRows(n, rows.n_columns), x_(rows) {
    row_length_ = static_cast<double>(rows.n_columns);
  }

  explicit DenseMarginRows(AlignedVector<T> values, std::size_t n, std::size_t n_columns)
      : MarginRows(n, n_columns), x_{values.data(), n_columns}, own_(std::move(values)) {}

  double norm(std::size_t i) const override { return length_of<T>({row(i), n_columns_}); }

  void add_squares(std::size_t i, const std::int32_t* group, double* squares) const override {
    for (std::size_t j = 0; j < n_columns_; ++j)
      squares[group[j]] += double(row(i)[j]) * double(row(i)[j]);
  }

  std::unique_ptr<MarginRows> pack(std::span<const std::int32_t> rows) const override {
    AlignedVector<T> values(rows.size() * n_columns_);
    for (std::size_t k = 0; k < rows.size(); ++k)
      std::copy_n(row(static_cast<std::size_t>(rows[k])), n_columns_,
                  values.data() + k * n_columns_);
    return std::make_unique<DenseMarginRows>(std::move(values), rows.size(), n_columns_);
  }

  void dots(const RowList& rows, const double* w, double* out) const override {
    if constexpr (std::is_same_v<T, float>)
      ALPHAPATH_DISPATCH(dots_dense_f32)(x_, rows, w, out);
    else
      ALPHAPATH_DISPATCH(dots_dense_f64)(x_, rows, w, out);
  }

  void dots_together(const RowList& rows, const double* w, double* out) const override {
    if constexpr (std::is_same_v<T, float>)
      ALPHAPATH_DISPATCH(dots_together_dense_f32)(x_, rows, w, out);
    else
      ALPHAPATH_DISPATCH(dots_together_dense_f64)(x_, rows, w, out);
  }

  void add_together(std::size_t first, std::size_t count, const double* coef,
                    double* sum) const override {
    if constexpr (std::is_same_v<T, float>)
      ALPHAPATH_DISPATCH(add_together_dense_f32)(x_, first, count, coef, sum);
    else
      ALPHAPATH_DISPATCH(add_together_dense_f64)(x_, first, count, coef, sum);
  }

  void copy_rows(std::span<const std::int32_t> rows, bool has_bias, FloatRows& to) const override {
    for (std::int32_t i : rows) {
      const T* values = row(static_cast<std::size_t>(i));
      for (std::size_t j = 0; j < n_columns_; ++j)
        if (values[j] != T(0))
          to.append(static_cast<std::int32_t>(j), static_cast<float>(values[j]));
      if (has_bias)
        to.append_bias(n_columns_);
      to.end_row();
    }
  }

  void add_rows(const RowList& rows, const double* coef, double* sum) const override {
    if constexpr (std::is_same_v<T, float>)
      ALPHAPATH_DISPATCH(add_rows_dense_f32)(x_, rows, coef, sum);
    else
      ALPHAPATH_DISPATCH(add_rows_dense_f64)(x_, rows, coef, sum);
  }

  void sweep_dual(const RowList& rows, simd::DualSweep& sweep) const override {
    if constexpr (std::is_same_v<T, float>)
      ALPHAPATH_DISPATCH(sweep_dual_dense_f32)(x_, rows, sweep);
    else
      ALPHAPATH_DISPATCH(sweep_dual_dense_f64)(x_, rows, sweep);
  }

  void add_outer(const RowList& rows, const double* coef, Triangle G) const override {
    add_outer_by_panels(rows, coef, G, n_columns_, [&](std::size_t i, double scale, double* out) {
      for (std::size_t j = 0; j < n_columns_; ++j)
        out[j] = scale * row(i)[j];
    });
  }

private:
  const T* row(std::size_t i) const { return x_.values + i * n_columns_; }

  DenseRows<T> x_;
  AlignedVector<T> own_;
};

template <class T> class CsrMarginRows final : public MarginRows {
public:
  CsrMarginRows(const CsrRows<T>& rows, std::size_t n, std::size_t n_columns)
      : MarginRows(n, n_columns), x_(rows) {
    row_length_ = n == 0 ? 0.0 : double(x_.starts[n] - x_.starts[0]) / double(n);
  }

  /// Memory of its own, already filled. No Buffers: of these some megabytes would be kept for
  /// others, and copies of rows are made seldom.
  struct Owned {
    AlignedVector<T> values;
    AlignedVector<std::int32_t> columns;
    std::vector<std::int64_t> starts;
  };

  explicit CsrMarginRows(Owned own, std::size_t n_columns)
      : MarginRows(own.starts.size() - 1, n_columns),
        x_{own.values.data(), own.columns.data(), own.starts.data()}, own_(std::move(own)) {}

  double norm(std::size_t i) const override {
    return length_of<T>({x_.values + x_.starts[i], length(i)});
  }

  void add_squares(std::size_t i, const std::int32_t* group, double* squares) const override {
    for (std::int64_t k = x_.starts[i]; k < x_.starts[i + 1]; ++k)
      squares[group[x_.columns[k]]] += double(x_.values[k]) * double(x_.values[k]);
  }

  std::unique_ptr<MarginRows> pack(std::span<const std::int32_t> rows) const override {
    std::size_t total = 0;
    for (std::int32_t i : rows)
      total += length(static_cast<std::size_t>(i));
    Owned own{AlignedVector<T>(total), AlignedVector<std::int32_t>(total),
              std::vector<std::int64_t>(rows.size() + 1)};
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const std::size_t i = static_cast<std::size_t>(rows[k]);
      std::copy_n(x_.values + x_.starts[i], length(i), own.values.data() + own.starts[k]);
      std::copy_n(x_.columns + x_.starts[i], length(i), own.columns.data() + own.starts[k]);
      own.starts[k + 1] = own.starts[k] + static_cast<std::int64_t>(length(i));
    }
    return std::make_unique<CsrMarginRows>(std::move(own), n_columns_);
  }

  void dots(const RowList& rows, const double* w, double* out) const override {
    if constexpr (std::is_same_v<T, float>)
      ALPHAPATH_DISPATCH(dots_csr_f32)(x_, rows, w, out);
    else
      ALPHAPATH_DISPATCH(dots_csr_f64)(x_, rows, w, out);
  }

  void dots_together(const RowList& rows, const double* w, double* out) const override {
    if constexpr (std::is_same_v<T, float>)
      ALPHAPATH_DISPATCH(dots_together_csr_f32)(x_, rows, w, out);
    else
      ALPHAPATH_DISPATCH(dots_together_csr_f64)(x_, rows, w, out);
  }

  void add_together(std::size_t first, std::size_t count, const double* coef,
                    double* sum) const override {
    if constexpr (std::is_same_v<T, float>)
      ALPHAPATH_DISPATCH(add_together_csr_f32)(x_, first, count, coef, sum);
    else
      ALPHAPATH_DISPATCH(add_together_csr_f64)(x_, first, count, coef, sum);
  }

  void copy_rows(std::span<const std::int32_t> rows, bool has_bias, FloatRows& to) const override {
    for (std::int32_t row : rows) {
      const std::size_t i = static_cast<std::size_t>(row);
      const std::int64_t first = x_.starts[i], end = x_.starts[i + 1];
      to.columns.insert(to.columns.end(), x_.columns + first, x_.columns + end);
      to.values.insert(to.values.end(), x_.values + first, x_.values + end);
      if (has_bias)
        to.append_bias(n_columns_);
      to.end_row();
    }
  }

  void add_rows(const RowList& rows, const double* coef, double* sum) const override {
    if constexpr (std::is_same_v<T, float>)
      ALPHAPATH_DISPATCH(add_rows_csr_f32)(x_, rows, coef, sum);
    else
      ALPHAPATH_DISPATCH(add_rows_csr_f64)(x_, rows, coef, sum);
  }

  void sweep_dual(const RowList& rows, simd::DualSweep& sweep) const override {
    if constexpr (std::is_same_v<T, float>)
      ALPHAPATH_DISPATCH(sweep_dual_csr_f32)(x_, rows, sweep);
    else
      ALPHAPATH_DISPATCH(sweep_dual_csr_f64)(x_, rows, sweep);
  }

  void add_outer(const RowList& rows, const double* coef, Triangle G) const override {
    if (row_length_ > dense_share * static_cast<double>(n_columns_) && n_columns_ >= 64)
      return add_outer_by_panels(rows, coef, G, n_columns_,
                                 [&](std::size_t i, double scale, double* out) {
                                   std::fill_n(out, n_columns_, 0.0);
                                   for (std::int64_t k = x_.starts[i]; k < x_.starts[i + 1]; ++k)
                                     out[x_.columns[k]] = scale * x_.values[k];
                                 });
    for (std::size_t r = 0; r < rows.count; ++r) {
      if (coef[r] == 0.0) // exactly zero is how a caller leaves a row out
        continue;
      const std::size_t i = row_at(rows, r);
      const std::int64_t first = x_.starts[i];
      const std::int64_t end = x_.starts[i + 1];
      for (std::int64_t k = first; k < end; ++k) {
        const double factor = coef[r] * x_.values[k];
        double* g = G.values + static_cast<std::size_t>(x_.columns[k]) * G.ld;
        for (std::int64_t l = first; l <= k; ++l)
          g[x_.columns[l]] += factor * x_.values[l];
      }
    }
  }

  IndicatorColumns indicator_columns() const override {
    const T* const end = x_.values + x_.starts[n_];
    const bool has_ones = std::all_of(x_.values, end, [](T value) { return value == T(1); });
    if (!has_ones || n_columns_ > 65536)
      return {};
    return {{x_.columns, x_.columns + x_.starts[n_]}, x_.starts};
  }

private:
  std::size_t length(std::size_t i) const {
    return static_cast<std::size_t>(x_.starts[i + 1] - x_.starts[i]);
  }

  CsrRows<T> x_;
  Owned own_;
};

} // namespace

void FloatRows::clear() {
  values.clear();
  columns.clear();
  starts.assign(1, 0);
}

template <class T>
std::unique_ptr<MarginRows> make_dense_rows(const DenseRows<T>& rows, std::size_t n) {
  return std::make_unique<DenseMarginRows<T>>(rows, n);
}

template <class T>
std::unique_ptr<MarginRows> make_csr_rows(const CsrRows<T>& rows, std::size_t n,
                                          std::size_t n_columns) {
  return std::make_unique<CsrMarginRows<T>>(rows, n, n_columns);
}

template std::unique_ptr<MarginRows> make_dense_rows(const DenseRows<float>&, std::size_t);
template std::unique_ptr<MarginRows> make_dense_rows(const DenseRows<double>&, std::size_t);
template std::unique_ptr<MarginRows> make_csr_rows(const CsrRows<float>&, std::size_t, std::size_t);
template std::unique_ptr<MarginRows> make_csr_rows(const CsrRows<double>&, std::size_t,
                                                   std::size_t);

double dot_product(const double* a, const double* b, std::size_t n) {
  return ALPHAPATH_DISPATCH(dot_product)(a, b, n);
}

} // namespace alphapath
