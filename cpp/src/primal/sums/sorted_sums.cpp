// Loss and gradient by rows sorted by their margin: Algorithms 1 and 2 of the paper named in
// loss_sums.hpp, with its offset (one list a class), its rule for sorting again (section 3), its
// variant for sparse data (one sum, at the boundary, instead of one a row) and its fall-back to
// plain passes when nothing was pruned. Kept for comparison; the lazy bounds are faster.
//
// Legend: m' margins under the stored (w', b'); boundary: the first row with m' >= 1; Sum: of y x
// over the rows before it.

#include "primal/sums/loss_sums.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace alphapath {

namespace {

// The paper's c of eq. 3: at worst 1/11 of the time goes into sorting.
constexpr double sort_share = 10.0;

struct SortedList {
  double label = 0.0;
  std::vector<std::int32_t> rows; // by increasing m'
  std::vector<double> margins;    // m' in the same order
  std::size_t boundary = 0;
};

class SortedSums final : public MarginSums {
public:
  SortedSums(const MarginTask& task, std::size_t n_threads)
      : MarginSums(task), pass_(task, n_threads), stored_(task.rows.size()),
        sum_(task.rows.n_columns() + 1), stored_w_(task.rows.n_columns()) {
    const double n = static_cast<double>(task.rows.size());
    const double d = static_cast<double>(task.rows.n_columns());
    const double pass = task.rows.row_length() * n;
    const double sort = pass + n * std::log(std::max(n, 2.0));
    sort_period_ = sort_share * (sort + d) / (pass + d); // eq. 4
    sort_cost_ = sort / std::max(1.0, task.rows.row_length());
    lists_[0].label = -1.0;
    lists_[1].label = 1.0;
    for (std::size_t i = 0; i < task.rows.size(); ++i)
      if (task.weights[i] > 0.0)
        lists_[task.labels[i] > 0.0].rows.push_back(static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < task.rows.size(); ++i)
      max_norm_ = std::max(max_norm_, task.rows.norm(i));
    for (SortedList& list : lists_)
      list.margins.resize(list.rows.size());
  }

  double evaluate(const double* w, double b, double* gradient) override {
    ++counts_.n_evaluations;
    const bool sorts = wants_sort();
    ++since_sort_;
    const std::int64_t n = static_cast<std::int64_t>(task_.rows.size());
    if (!sorts && is_plain_) {
      counts_.n_examined += n;
      return pass_(w, b, gradient);
    }
    if (sorts) {
      const double value = pass_(w, b, gradient, stored_.data());
      sort_by_margin(w, b);
      counts_.n_examined += n;
      return value;
    }
    return walk(w, b, gradient);
  }

private:
  bool wants_sort() const {
    if (since_sort_ == 0)
      return true;
    if (static_cast<double>(since_sort_) < sort_period_)
      return false;
    const double last = static_cast<double>(pruned_last_);
    return 2.0 * last < static_cast<double>(task_.rows.size()) ||
           pruned_since_ - static_cast<double>(since_sort_) * last > sort_cost_;
  }

  /// Algorithm 1; the margins under w are in stored_.
  void sort_by_margin(const double* w, double b) {
    ++counts_.n_sorts;
    since_sort_ = 1;
    pruned_since_ = 0.0;
    pruned_last_ = 0;
    is_plain_ = false;
    std::copy_n(w, stored_w_.size(), stored_w_.begin());
    stored_b_ = b;
    std::fill(sum_.begin(), sum_.end(), 0.0);
    sum_weight_ = 0.0;
    for (SortedList& list : lists_) {
      std::sort(list.rows.begin(), list.rows.end(), [&](std::int32_t i, std::int32_t j) {
        return stored_[static_cast<std::size_t>(i)] < stored_[static_cast<std::size_t>(j)];
      });
      for (std::size_t k = 0; k < list.rows.size(); ++k)
        list.margins[k] = stored_[static_cast<std::size_t>(list.rows[k])];
      list.boundary = position(list, 1.0);
      double coef[margin_block];
      for (std::size_t k = 0; k < list.boundary; k += margin_block) {
        const std::size_t count = std::min(margin_block, list.boundary - k);
        for (std::size_t r = 0; r < count; ++r) {
          const double s = task_.weights[static_cast<std::size_t>(list.rows[k + r])];
          coef[r] = s * list.label;
          sum_weight_ += s;
          sum_.back() += coef[r];
        }
        task_.rows.add_rows({list.rows.data() + k, 0, count}, coef, sum_.data());
      }
    }
  }

  static std::size_t position(const SortedList& list, double threshold) {
    return static_cast<std::size_t>(
        std::lower_bound(list.margins.begin(), list.margins.end(), threshold) -
        list.margins.begin());
  }

  /// Algorithm 2. The rows between the two bounds are examined; the range always includes the
  /// boundary, since the shift by the offset may carry both bounds past it.
  double walk(const double* w, double b, double* gradient) {
    const std::size_t d = task_.rows.n_columns();
    double squares = 0.0;
    for (std::size_t j = 0; j < d; ++j)
      squares += (w[j] - stored_w_[j]) * (w[j] - stored_w_[j]);
    // Rounded outwards: m' itself is known to a few ulp only.
    const double reach = std::sqrt(squares) * max_norm_ * (1.0 + 1e-12) + 1e-12;
    double value = 0.0;
    std::size_t n_examined = 0;
    std::fill_n(gradient, d + 1, 0.0);
    for (const SortedList& list : lists_) {
      const double shift = list.label * (b - stored_b_);
      const std::size_t first =
          std::min(list.boundary, position(list, task_.loss.low - shift - reach));
      const std::size_t end =
          std::max(list.boundary, position(list, task_.loss.high - shift + reach));
      value += examine(list, first, end, w, b, gradient);
      n_examined += end - first;
    }
    const std::size_t n = task_.rows.size();
    counts_.n_examined += static_cast<std::int64_t>(n_examined);
    counts_.n_pruned += static_cast<std::int64_t>(n - n_examined);
    pruned_last_ = static_cast<std::int64_t>(n - n_examined);
    pruned_since_ += static_cast<double>(pruned_last_);
    is_plain_ = pruned_last_ == 0;
    for (std::size_t j = 0; j <= d; ++j)
      gradient[j] -= sum_[j];
    return value + sum_weight_ - dot_product(w, sum_.data(), d) - b * sum_[d];
  }

  /// Rows first .. end: what each adds beyond its share of Sum.
  double examine(const SortedList& list, std::size_t first, std::size_t end, const double* w,
                 double b, double* gradient) {
    double value = 0.0;
    double dots[margin_block];
    double coef[margin_block];
    const std::size_t d = task_.rows.n_columns();
    for (; first < end; first += margin_block) {
      const RowList rows{list.rows.data() + first, 0, std::min(margin_block, end - first)};
      task_.rows.dots(rows, w, dots);
      for (std::size_t k = 0; k < rows.count; ++k) {
        const double s = task_.weights[static_cast<std::size_t>(rows.list[k])];
        const double m = list.label * (dots[k] + b);
        // Sum counts the row as on the line before the boundary; -1 + (slope + 1) = slope.
        const double in_sum = first + k < list.boundary ? 1.0 : 0.0;
        value += s * (task_.loss.value(m) - in_sum * (1.0 - m));
        coef[k] = s * list.label * (task_.loss.slope(m) + in_sum);
        gradient[d] += coef[k];
      }
      task_.rows.add_rows(rows, coef, gradient);
    }
    return value;
  }

  FullPass pass_;
  SortedList lists_[2];
  std::vector<double> stored_;
  std::vector<double> sum_;
  double sum_weight_ = 0.0;
  std::vector<double> stored_w_;
  double stored_b_ = 0.0;
  double max_norm_ = 0.0;
  double sort_period_ = 0.0;
  double sort_cost_ = 0.0;
  std::int64_t since_sort_ = 0;
  double pruned_since_ = 0.0;
  std::int64_t pruned_last_ = 0;
  bool is_plain_ = false;
};

} // namespace

std::unique_ptr<MarginSums> make_sorted_sums(const MarginTask& task, std::size_t n_threads) {
  return std::make_unique<SortedSums>(task, n_threads);
}

} // namespace alphapath
