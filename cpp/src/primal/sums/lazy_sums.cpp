// Loss and gradient with lazy bounds (margin_bounds.hpp).
//
// S = sum s_i y_i x_i over the rows on the straight line of the loss changes only when a row enters
// or leaves it, and gives all their loss and gradient at once. Rows on the parabola are computed at
// every evaluation.

#include "primal/sums/bounds_probe.hpp"
#include "primal/sums/hot_rows.hpp"
#include "primal/sums/loss_sums.hpp"
#include "primal/sums/margin_bounds.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// With more rows than this without proof a plain pass is cheaper.
constexpr double max_unproven = 0.6;
// Evaluations without bounds after a vain try, and their growth.
constexpr std::int64_t max_back_off = 64, back_off_growth = 4;
// Bounds have paid for the references when they have spared this many margins for every row.
constexpr double reference_cost = 3.0;
// In rows examined, for every row there is.
constexpr double rebuild_cost = 1.0;

class LazySums final : public MarginSums {
public:
  LazySums(const MarginTask& task, std::size_t n_threads, bool has_clusters)
      : MarginSums(task), has_clusters_(has_clusters), pass_(task, n_threads), probe_(task_),
        hot_(task.rows), linear_sum_(task.rows.n_columns() + 1) {}

  double evaluate(const double* w, double b, double* gradient) override {
    ++counts_.n_evaluations;
    if (!is_built_)
      return evaluate_unbounded(w, b, gradient);
    const std::int64_t n = static_cast<std::int64_t>(task_.rows.size());
    bounds_->move_to(w, b);
    const auto unproven = bounds_->find_unproven();
    if (static_cast<double>(unproven.size()) > max_unproven * static_cast<double>(n)) {
      is_built_ = false;
      probe_.bounds().follow(*bounds_);
      back_off();
      return evaluate_plainly(w, b, gradient);
    }
    spared_ += n - static_cast<std::int64_t>(unproven.size());
    if (static_cast<double>(spared_) > reference_cost * static_cast<double>(n))
      back_off_ = 1;
    if (wants_rebuild(static_cast<double>(unproven.size())))
      return rebuild(w, b, gradient);
    counts_.n_examined += static_cast<std::int64_t>(unproven.size());
    counts_.n_pruned += n - static_cast<std::int64_t>(unproven.size());
    const auto [hot, cold] = hot_.split(unproven);
    std::fill_n(gradient, linear_sum_.size(), 0.0);
    const double value = examine(hot, w, b, gradient) + examine(cold, w, b, gradient);
    return value + add_lines(w, b, gradient);
  }

private:
  /// Plain passes. Once enough of them are over, a sample of the rows gets references; where these
  /// prove enough at the next evaluation, all rows do.
  double evaluate_unbounded(const double* w, double b, double* gradient) {
    probe_.bounds().move_to(w, b);
    if (n_plain_ > 0) {
      --n_plain_;
    } else if (!is_probing_) {
      probe_.take_references(w, b);
      counts_.n_examined += static_cast<std::int64_t>(probe_.size());
      is_probing_ = true;
    } else {
      is_probing_ = false;
      if (probe_.share_unproven() <= max_unproven) {
        if (!bounds_)
          bounds_ = std::make_unique<MarginBounds>(task_.rows, has_clusters_);
        bounds_->follow(probe_.bounds());
        spared_ = 0;
        return rebuild(w, b, gradient);
      }
      back_off();
    }
    return evaluate_plainly(w, b, gradient);
  }

  double evaluate_plainly(const double* w, double b, double* gradient) {
    counts_.n_examined += static_cast<std::int64_t>(task_.rows.size());
    return pass_(w, b, gradient);
  }

  void back_off() {
    n_plain_ = back_off_ - 1;
    back_off_ = std::min(back_off_growth * back_off_, max_back_off);
  }

  /// The paper's rule for sorting again: what was examined beyond the best since the last rebuild
  /// has come to cost as much as a rebuild.
  bool wants_rebuild(double n_unproven) {
    best_ = std::min(best_, n_unproven);
    excess_ += n_unproven - best_;
    return excess_ > rebuild_cost * static_cast<double>(task_.rows.size());
  }

  /// Every row gets a reference; the sums are made anew, without the rounding of past updates.
  double rebuild(const double* w, double b, double* gradient) {
    ++counts_.n_sorts;
    counts_.n_examined += static_cast<std::int64_t>(task_.rows.size());
    segment_.assign(task_.rows.size(), Segment::absent);
    std::fill(linear_sum_.begin(), linear_sum_.end(), 0.0);
    linear_weight_ = 0.0;
    is_built_ = true;
    excess_ = 0.0;
    best_ = static_cast<double>(task_.rows.size());
    plane_ = bounds_->begin_plane();
    std::fill_n(gradient, linear_sum_.size(), 0.0);
    const double value = examine({&task_.rows, all_rows(0, task_.rows.size()), {}}, w, b, gradient);
    plane_ = {nullptr, nullptr};
    return value + add_lines(w, b, gradient);
  }

  /// The rows on the straight line: their loss, and their part of the gradient.
  double add_lines(const double* w, double b, double* gradient) const {
    const std::size_t d = task_.rows.n_columns();
    for (std::size_t j = 0; j <= d; ++j)
      gradient[j] -= linear_sum_[j];
    return linear_weight_ - dot_product(w, linear_sum_.data(), d) - b * linear_sum_[d];
  }

  /// New references for the rows of `part`; adds the gradient of those on the parabola and
  /// returns their loss. No ids: row k of the store is row k of the data.
  double examine(const HotRows::Part& part, const double* w, double b, double* gradient) {
    double value = 0.0;
    for (std::size_t k = 0; k < part.rows.count; k += margin_block) {
      const std::size_t count = std::min(margin_block, part.rows.count - k);
      const RowList rows =
          part.rows.list != nullptr ? RowList{part.rows.list + k, 0, count} : all_rows(k, count);
      const auto ids = part.ids.empty() ? part.ids : part.ids.subspan(k, count);
      value += examine_block({part.store, rows, ids}, w, b, gradient);
    }
    return value;
  }

  double examine_block(const HotRows::Part& part, const double* w, double b, double* gradient) {
    const std::size_t d = task_.rows.n_columns();
    double value = 0.0;
    double dots[margin_block];
    double enters[margin_block]; // with which coefficient a row joins or leaves S
    double coef[margin_block];
    bool has_entries = false;
    part.store->dots(part.rows, w, dots);
    if (plane_.v != nullptr)
      set_plane(part.rows);
    for (std::size_t k = 0; k < part.rows.count; ++k) {
      const std::size_t i =
          part.ids.empty() ? part.rows.first + k : static_cast<std::size_t>(part.ids[k]);
      const double s = task_.weights[i];
      const double y = task_.labels[i];
      const double m = y * (dots[k] + b);
      const Segment now = s > 0.0 ? task_.loss.segment(m) : Segment::absent;
      const int change = (now == Segment::linear) - (segment_[i] == Segment::linear);
      segment_[i] = now;
      enters[k] = change * s * y;
      coef[k] = 0.0;
      if (change != 0) {
        has_entries = true;
        linear_weight_ += change * s;
        linear_sum_[d] += enters[k];
      }
      if (now == Segment::quadratic) {
        value += s * task_.loss.value(m);
        coef[k] = s * y * task_.loss.slope(m);
        gradient[d] += coef[k];
      }
      set_reference(*bounds_, i, task_.loss, now, m, y);
    }
    if (has_entries)
      part.store->add_rows(part.rows, enters, linear_sum_.data());
    part.store->add_rows(part.rows, coef, gradient);
    return value;
  }

  void set_plane(const RowList& rows) {
    double along[margin_block];
    double across[margin_block];
    task_.rows.dots(rows, plane_.v, along);
    task_.rows.dots(rows, plane_.u, across);
    for (std::size_t k = 0; k < rows.count; ++k)
      bounds_->set_along(rows.first + k, along[k], across[k]);
  }

  bool has_clusters_;
  FullPass pass_;
  BoundsProbe probe_;
  std::unique_ptr<MarginBounds> bounds_; // null until they first promised to pay
  HotRows hot_;
  std::vector<Segment> segment_;
  std::vector<double> linear_sum_; // S, and last sum s_i y_i
  double linear_weight_ = 0.0;     // sum s_i
  bool is_built_ = false;
  bool is_probing_ = false;                     // the sample has references
  MarginBounds::Plane plane_{nullptr, nullptr}; // not null while it is being taken up
  double best_ = 0.0;       // fewest rows examined at once since the last rebuild
  double excess_ = 0.0;     // rows examined beyond that
  std::int64_t spared_ = 0; // margins, since the bounds were last taken up
  std::int64_t n_plain_ = 0;
  std::int64_t back_off_ = 1;
};

} // namespace

std::unique_ptr<MarginSums> make_lazy_sums(const MarginTask& task, std::size_t n_threads,
                                           bool has_clusters) {
  return std::make_unique<LazySums>(task, n_threads, has_clusters);
}

} // namespace alphapath
