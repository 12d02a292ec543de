// Small data for the primal solvers in all four layouts (CSR with row starts of either width), and
// the sums they must give, term by term.
#pragma once

#include "support/numbers.hpp"

#include "primal/margin_loss.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

namespace alphapath::test {

/// Rows of `d` columns, two thirds of them 0; some rows are empty, some equal, one column is
/// constant. Labels follow a plane, with some noise.
class MarginData {
public:
  enum class Layout { dense_double, dense_float, csr_double, csr_float };

  MarginData(Layout layout, std::size_t n, std::size_t d)
      : n_rows(n), n_columns(d), labels(n), weights(n), signs_(n), layout_(layout) {
    const std::vector<double> x = numbers(n * d), noise = numbers(n + 7);
    values_.resize(n * d);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t from = i % 11 == 10 ? i - 1 : i; // equal rows
      double score = 0.4 * noise[i + 7];
      for (std::size_t j = 0; j < d; ++j) {
        double value = (from * d + j) % 3 == 0 ? 2 * x[from * d + j] : 0.0;
        if (j == 1)
          value = 1.0;
        if (i % 13 == 5)
          value = 0.0;
        values_[i * d + j] = static_cast<double>(static_cast<float>(value));
        score += j % 2 == 0 ? value : -0.5 * value;
      }
      labels[i] = signs_[i] = score > 0 ? 1 : -1;
      weights[i] = i % 7 == 3 ? 0.0 : 0.5 + static_cast<double>(i % 5);
    }
    store();
  }

  double at(std::size_t i, std::size_t j) const { return values_[i * n_columns + j]; }
  const MarginRows& rows() const { return *rows_; }
  RowSigns signs() const { return {signs_.data()}; }
  MarginTask task(const MarginLoss& loss) const {
    return {*rows_, signs(), {weights.data(), 1}, loss};
  }

  /// y_i (w'x_i + b), theta = (w, b).
  double margin(std::size_t i, const std::vector<double>& theta) const {
    double sum = theta[n_columns];
    for (std::size_t j = 0; j < n_columns; ++j)
      sum += theta[j] * at(i, j);
    return labels[i] * sum;
  }

  /// sum s l(m) and its gradient, n_columns + 1 entries.
  double direct_sums(const MarginLoss& loss, const std::vector<double>& s,
                     const std::vector<double>& theta, std::vector<double>& gradient) const {
    gradient.assign(n_columns + 1, 0.0);
    double value = 0;
    for (std::size_t i = 0; i < n_rows; ++i) {
      const double m = margin(i, theta), slope = s[i] * loss.slope(m) * labels[i];
      value += s[i] * loss.value(m);
      for (std::size_t j = 0; j < n_columns; ++j)
        gradient[j] += slope * at(i, j);
      gradient[n_columns] += slope;
    }
    return value;
  }

  std::size_t n_rows, n_columns;
  std::vector<double> labels, weights;

private:
  template <class T> void keep(std::vector<T>& values, bool is_sparse) {
    if (!is_sparse) {
      values.assign(values_.begin(), values_.end());
      rows_ = make_dense_rows<T>({values.data(), n_columns}, n_rows);
      return;
    }
    starts_.push_back(0);
    for (std::size_t i = 0; i < n_rows; ++i) {
      for (std::size_t j = 0; j < n_columns; ++j)
        if (at(i, j) != 0.0) { // what CSR leaves out
          values.push_back(static_cast<T>(at(i, j)));
          columns_.push_back(static_cast<std::int32_t>(j));
        }
      starts_.push_back(static_cast<std::int64_t>(values.size()));
    }
    if (layout_ == Layout::csr_double) {
      rows_ = make_csr_rows<T>({values.data(), columns_.data(), starts_.data()}, n_rows, n_columns);
      return;
    }
    narrow_starts_.assign(starts_.begin(), starts_.end());
    rows_ = make_csr_rows<T>({values.data(), columns_.data(), narrow_starts_.data()}, n_rows,
                             n_columns);
  }

  void store() {
    const bool is_sparse = layout_ == Layout::csr_double || layout_ == Layout::csr_float;
    if (layout_ == Layout::dense_double || layout_ == Layout::csr_double)
      keep(doubles_, is_sparse);
    else
      keep(floats_, is_sparse);
  }

  std::vector<std::int8_t> signs_;
  Layout layout_;
  std::vector<double> values_, doubles_;
  std::vector<float> floats_;
  std::vector<std::int32_t> columns_, narrow_starts_;
  std::vector<std::int64_t> starts_;
  std::unique_ptr<MarginRows> rows_;
};

inline constexpr MarginData::Layout all_layouts[] = {
    MarginData::Layout::dense_double, MarginData::Layout::dense_float,
    MarginData::Layout::csr_double, MarginData::Layout::csr_float};

inline const std::vector<MarginLoss>& all_losses() {
  static const std::vector<MarginLoss> losses{MarginLoss::hinge(), MarginLoss::huber(0.01),
                                              MarginLoss::huber(0.5), MarginLoss::squared_hinge()};
  return losses;
}

inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = a.size() == b.size() ? 0.0 : HUGE_VAL;
  for (std::size_t j = 0; j < a.size() && j < b.size(); ++j)
    worst = std::max(worst, std::abs(a[j] - b[j]));
  return worst;
}

} // namespace alphapath::test
