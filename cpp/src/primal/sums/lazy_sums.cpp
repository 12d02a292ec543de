// Loss and gradient with lazy bounds (margin_bounds.hpp).
//
// S = sum s_i y_i x_i over the rows on the straight line of the loss changes only when a row enters
// or leaves it, and gives all their loss and gradient at once. Rows on the parabola are computed at
// every evaluation.

#include "primal/sums/loss_sums.hpp"
#include "primal/sums/margin_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace alphapath {

namespace {

// At most so many rows, and no more than one in `least_spacing`.
constexpr std::size_t max_sample = 2048, least_spacing = 16;

/// Whether bounds on margins would pay, tried out on a few rows.
///
/// References for all rows cost about three passes over the data. Where w jumps to and fro nothing
/// can be proven with them, so a sample of the rows gets its references first, and the share of it
/// that is proven at the next w is that of all rows.
class BoundsProbe {
public:
  explicit BoundsProbe(const MarginTask& task);

  std::size_t size() const { return ids_.size(); }
  MarginBounds& bounds() { return bounds_; }

  /// References for the sample at (w, b), to which its bounds have been moved.
  void take_references(const double* w, double b);
  /// The share of the sample that is not proven where its bounds are now.
  double share_unproven();

private:
  static std::vector<std::int32_t> choose_rows(std::size_t n);

  const MarginTask& task_;
  std::vector<std::int32_t> ids_;
  std::unique_ptr<MarginRows> rows_; // a copy of them
  MarginBounds bounds_;
  std::vector<double> dots_, along_, across_;
};

/// The reference of row i of `bounds`, which lies on the segment `now` of the loss with margin m.
void set_reference(MarginBounds& bounds, std::size_t i, const MarginLoss& loss, Segment now,
                   double m, double y);

std::vector<std::int32_t> BoundsProbe::choose_rows(std::size_t n) {
  const std::size_t spacing = std::max(least_spacing, (n + max_sample - 1) / max_sample);
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < n; i += spacing)
    rows.push_back(static_cast<std::int32_t>(i));
  return rows;
}

BoundsProbe::BoundsProbe(const MarginTask& task)
    : task_(task), ids_(choose_rows(task.rows.size())), rows_(task.rows.pack(ids_)),
      bounds_(*rows_, false), dots_(ids_.size()), along_(ids_.size()), across_(ids_.size()) {}

void BoundsProbe::take_references(const double* w, double b) {
  const RowList all = all_rows(0, ids_.size());
  const MarginBounds::Plane plane = bounds_.begin_plane();
  rows_->dots(all, w, dots_.data());
  rows_->dots(all, plane.v, along_.data());
  rows_->dots(all, plane.u, across_.data());
  for (std::size_t k = 0; k < ids_.size(); ++k) {
    const std::size_t i = static_cast<std::size_t>(ids_[k]);
    const double y = task_.labels[i], m = y * (dots_[k] + b);
    bounds_.set_along(k, along_[k], across_[k]);
    const Segment now = task_.weights[i] > 0.0 ? task_.loss.segment(m) : Segment::absent;
    set_reference(bounds_, k, task_.loss, now, m, y);
  }
}

double BoundsProbe::share_unproven() {
  return static_cast<double>(bounds_.find_unproven().size()) / static_cast<double>(ids_.size());
}

void set_reference(MarginBounds& bounds, std::size_t i, const MarginLoss& loss, Segment now,
                   double m, double y) {
  switch (now) {
  case Segment::flat:
    return bounds.set(i, m - loss.high, y);
  case Segment::linear:
    return bounds.set(i, loss.low - m, -y);
  case Segment::quadratic:
    return bounds.set(i, MarginBounds::never, y);
  case Segment::absent:
    return bounds.set(i, MarginBounds::always, y);
  }
}

// At most this share of the rows is copied: beyond it the copy neither fits a cache nor pays.
constexpr std::size_t max_share = 16;
constexpr std::size_t min_patience = 4;
constexpr std::size_t max_patience = 256;

/// The rows near a kink are computed again and again, but lie scattered over the data. A packed
/// copy of them stays in the cache; everything else is read where it is.
class HotRows {
public:
  explicit HotRows(const MarginRows& rows) : rows_(rows) {}

  /// Some rows of one store; `ids` are their numbers in the data.
  struct Part {
    const MarginRows* store;
    RowList rows;
    std::span<const std::int32_t> ids;
  };

  /// `wanted` (increasing row numbers), in two parts: packed ones first; the others take its
  /// place. Packs anew where that has become cheaper than to go on reading scattered rows.
  std::pair<Part, Part> split(std::span<std::int32_t> wanted);

private:
  void pack(std::span<const std::int32_t> wanted);

  const MarginRows& rows_;
  std::unique_ptr<MarginRows> packed_;
  std::vector<std::int32_t> place_; // of each row among the packed ones, or -1
  std::vector<std::int32_t> members_;
  std::vector<std::int32_t> hot_places_, hot_ids_; // one more than members
  std::size_t n_cold_reads_ = 0;                   // since the last packing
  std::size_t n_hot_reads_ = 0;
  std::size_t patience_ = 4;
};

std::pair<HotRows::Part, HotRows::Part> HotRows::split(std::span<std::int32_t> wanted) {
  if (n_cold_reads_ > patience_ * wanted.size() && wanted.size() * max_share <= rows_.size())
    pack(wanted);
  if (members_.empty()) {
    n_cold_reads_ += wanted.size();
    return {Part{&rows_, listed_rows({}), {}}, Part{&rows_, listed_rows(wanted), wanted}};
  }
  std::size_t n_hot = 0;
  std::size_t n_cold = 0;
  for (const std::int32_t i : wanted) {
    const std::int32_t place = place_[static_cast<std::size_t>(i)];
    hot_places_[n_hot] = place;
    hot_ids_[n_hot] = i;
    wanted[n_cold] = i;
    n_hot += place >= 0;
    n_cold += place < 0;
  }
  n_hot_reads_ += n_hot;
  n_cold_reads_ += n_cold;
  const auto cold = wanted.first(n_cold);
  return {Part{packed_.get(), {hot_places_.data(), 0, n_hot}, {hot_ids_.data(), n_hot}},
          Part{&rows_, listed_rows(cold), cold}};
}

void HotRows::pack(std::span<const std::int32_t> wanted) {
  // A copy that was hardly read did not pay: wait longer before the next.
  const bool has_paid = packed_ == nullptr || n_hot_reads_ > 2 * members_.size();
  patience_ = has_paid ? min_patience : std::min(2 * patience_, max_patience);
  n_cold_reads_ = n_hot_reads_ = 0;
  if (place_.empty())
    place_.assign(rows_.size(), -1);
  for (const std::int32_t i : members_)
    place_[static_cast<std::size_t>(i)] = -1;
  members_.assign(wanted.begin(), wanted.end());
  for (std::size_t k = 0; k < members_.size(); ++k)
    place_[static_cast<std::size_t>(members_[k])] = static_cast<std::int32_t>(k);
  hot_places_.resize(members_.size() + 1);
  hot_ids_.resize(members_.size() + 1);
  packed_.reset();
  packed_ = rows_.pack(members_);
}

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
