#include "primal/pegasos.hpp"

#include "base/isa.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace alphapath {

namespace {

// Rows in which the columns are counted.
constexpr std::size_t n_counted = 4096;

/// The bounds of Algorithm 3: margins of all rows under a stored w', b'.
///
/// A step of Pegasos shrinks w as a whole, which changes all margins in proportion: so w is
/// compared with the nearest multiple of w'. The weights of frequent columns move otherwise than
/// those of rare ones, so each of a few groups of columns has a length of x and a distance from w'
/// of its own. What a sampled row needs lies side by side, since the samples are scattered: reading
/// it must cost less than the row.
class StoredMargins {
public:
  StoredMargins(const MarginTask& task) : task_(task), w_(task.rows.n_columns()), moved_(w_) {}

  void store(const std::vector<double>& theta);

  /// Only the place, to see later how far w went.
  void remember(const std::vector<double>& theta);

  /// w moved to theta.
  void move_to(const std::vector<double>& theta);

  /// How far the margin of row i can have gone from what it was, but for the bias and the scale.
  double reach_of(std::size_t i) const { return reach_of(signed_norms(i)); }

  /// +1: surely beyond 1; -1: surely before it; 0: not known. Floats are rounded against the proof.
  int side_of(std::size_t i) const {
    const Row& row = rows_[i];
    const float m = scale_ * row.margin;
    const float away = m - 1.0f + std::copysign(bias_, bias_ * row.norms[0]);
    const float reach = reach_of(row.norms) + 1e-6f * (2.0f + std::abs(m) + std::abs(bias_));
    return static_cast<int>(away > reach) - static_cast<int>(away < -reach);
  }

private:
  static constexpr std::size_t n_groups = 3;
  // The share of the columns, the most frequent first, at which the next group begins.
  static constexpr double begins[n_groups - 1] = {1.0 / 6.0, 1.0 / 2.0};

  using Norms = std::array<float, n_groups>;

  struct alignas(16) Row {
    float margin = 0.0f; // y w'x, without the bias
    Norms norms{};       // the sign of the first is y
  };

  float reach_of(const Norms& norms) const {
    return std::abs(norms[0]) * reach_[0] + norms[1] * reach_[1] + norms[2] * reach_[2];
  }

  Norms signed_norms(std::size_t i) const;

  /// The weights of theta, group by group.
  void arrange(const std::vector<double>& theta, std::vector<double>& to);

  /// Columns by the squares that they hold.
  void choose_groups();

  const MarginTask& task_;
  std::vector<double> w_, moved_; // w' and w, group by group
  double squares_ = 0.0;
  std::vector<std::int32_t> order_, group_; // columns by group; the group of each
  std::size_t ends_[n_groups + 1] = {};
  std::vector<Row> rows_;
  float reach_[n_groups] = {};
  float scale_ = 0.0f;
  float bias_ = 0.0f;
};

void StoredMargins::store(const std::vector<double>& theta) {
  remember(theta);
  const std::size_t n = task_.rows.size();
  if (rows_.empty()) {
    rows_.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      rows_[i].norms = signed_norms(i);
  }
  std::vector<double> dots(margin_block);
  for (std::size_t first = 0; first < n; first += margin_block) {
    const RowList rows = all_rows(first, std::min(margin_block, n - first));
    task_.rows.dots(rows, theta.data(), dots.data());
    for (std::size_t k = 0; k < rows.count; ++k)
      rows_[first + k].margin = static_cast<float>(task_.labels[first + k] * dots[k]);
  }
}

void StoredMargins::remember(const std::vector<double>& theta) {
  arrange(theta, w_);
  squares_ = dot_product(w_.data(), w_.data(), w_.size());
}

void StoredMargins::move_to(const std::vector<double>& theta) {
  arrange(theta, moved_);
  const double common = dot_product(moved_.data(), w_.data(), w_.size());
  const double scale = squares_ > 0.0 ? common / squares_ : 0.0;
  for (std::size_t g = 0; g < n_groups; ++g) {
    const double* own = w_.data() + ends_[g];
    const double squares = ALPHAPATH_DISPATCH(squared_distance)(
        moved_.data() + ends_[g], scale, own, 0.0, own, ends_[g + 1] - ends_[g]);
    reach_[g] = static_cast<float>(std::sqrt(squares) * (1.0 + 1e-6));
  }
  scale_ = static_cast<float>(scale);
  bias_ = static_cast<float>(theta.back());
}

auto StoredMargins::signed_norms(std::size_t i) const -> Norms {
  double squares[n_groups] = {};
  task_.rows.add_squares(i, group_.data(), squares);
  Norms norms;
  for (std::size_t g = 0; g < n_groups; ++g)
    norms[g] = static_cast<float>(std::sqrt(squares[g]) * (1.0 + 1e-6));
  norms[0] = std::copysign(norms[0], static_cast<float>(task_.labels[i]));
  return norms;
}

void StoredMargins::arrange(const std::vector<double>& theta, std::vector<double>& to) {
  if (order_.empty())
    choose_groups();
  for (std::size_t k = 0; k < to.size(); ++k)
    to[k] = theta[static_cast<std::size_t>(order_[k])];
}

void StoredMargins::choose_groups() {
  const std::size_t d = w_.size(), n = task_.rows.size();
  std::vector<double> squares(d);
  order_.resize(d);
  std::iota(order_.begin(), order_.end(), 0);
  const std::size_t every = (n + n_counted - 1) / n_counted;
  for (std::size_t i = 0; i < n; i += every)
    task_.rows.add_squares(i, order_.data(), squares.data());
  std::stable_sort(order_.begin(), order_.end(), [&](std::int32_t a, std::int32_t b) {
    return squares[static_cast<std::size_t>(a)] > squares[static_cast<std::size_t>(b)];
  });
  group_.resize(d);
  for (std::size_t g = 0; g < n_groups; ++g) {
    ends_[g + 1] = g + 1 < n_groups ? static_cast<std::size_t>(begins[g] * double(d)) : d;
    for (std::size_t k = ends_[g]; k < ends_[g + 1]; ++k)
      group_[static_cast<std::size_t>(order_[k])] = static_cast<std::int32_t>(g);
  }
}

// The bounds are worth taking up where they would spare this share of the margins ...
constexpr double least_promise = 0.4;
// ... and dropped when they spare less than this.
constexpr double least_pruned = 0.2;
// Margins of all rows cost as much as this many steps; how many such costs between two looks.
constexpr double patience = 2.0;
// By how much longer the next look is put off after bounds that did not pay.
constexpr std::int64_t back_off = 4;

class Pegasos {
public:
  Pegasos(const MarginTask& task, const PegasosOptions& options)
      : task_(task), options_(options), d_(task.rows.n_columns()), stored_(task), sum_(d_ + 1),
        wanted_(options.n_sampled + 1), coef_(options.n_sampled), dots_(options.n_sampled),
        sample_(options.n_sampled) {
    double total = 0.0;
    for (std::size_t i = 0; i < task.rows.size(); ++i)
      total += task.weights[i];
    mean_ = total / static_cast<double>(task.rows.size());
    result_.theta.assign(d_ + 1, 0.0);
    random_ = options.seed;
    const double pass =
        static_cast<double>(task.rows.size()) / static_cast<double>(options.n_sampled);
    // The distance from w' costs as much as the margins of d / (stored values a row) rows.
    options_.uses_bounds =
        options.uses_bounds &&
        static_cast<double>(options.n_sampled) * task.rows.row_length() > static_cast<double>(d_);
    period_ = std::max<std::int64_t>(16, static_cast<std::int64_t>(patience * pass));
  }

  PegasosResult run(Watch& watch) {
    Status status = Status::solved;
    for (std::int64_t t = 1; t <= options_.n_steps; ++t) {
      if (watch.should_stop()) {
        status = watch.is_interrupted() ? Status::interrupted : Status::time_limit;
        break;
      }
      draw();
      std::fill(sum_.begin(), sum_.end(), 0.0);
      if (is_bounding_)
        add_bounded();
      else
        add_plainly(sample_.data(), sample_.size());
      if (options_.uses_bounds)
        is_bounding_ ? judge_bounds() : consider_bounds(t);
      step(t);
      ++result_.n_steps;
    }
    result_.status = status;
    return std::move(result_);
  }

private:
  void draw() {
    const std::uint64_t n = task_.rows.size();
    // Multiplying beats the remainder; the bias of 2^-32 n is far below the noise of sampling.
    for (std::int32_t& i : sample_)
      i = static_cast<std::int32_t>(((next_random(random_) >> 32) * n) >> 32);
  }

  /// Lines 7-16: flat rows are skipped, those surely on the line added without their margin.
  void add_bounded() {
    stored_.move_to(result_.theta);
    std::size_t n_wanted = 0;
    std::size_t n_lines = 0;
    // Without branches: nobody can predict on which side a sample lies.
    for (const std::int32_t i : sample_) {
      const int side = stored_.side_of(static_cast<std::size_t>(i));
      wanted_[n_wanted] = i;
      n_wanted += side == 0;
      sample_[n_lines] = i;
      n_lines += side < 0;
    }
    for (std::size_t k = 0; k < n_lines; ++k) {
      coef_[k] = coef_of(static_cast<std::size_t>(sample_[k]));
      sum_[d_] += coef_[k];
    }
    task_.rows.add_rows({sample_.data(), 0, n_lines}, coef_.data(), sum_.data());
    pruned_last_ = static_cast<double>(sample_.size() - n_wanted);
    pruned_since_ += pruned_last_;
    earned_ += pruned_last_;
    ++steps_since_;
    result_.n_pruned += static_cast<std::int64_t>(sample_.size() - n_wanted);
    add_plainly(wanted_.data(), n_wanted);
  }

  void add_plainly(const std::int32_t* rows, std::size_t count) {
    const RowList list{rows, 0, count};
    const double bias = result_.theta[d_];
    task_.rows.dots(list, result_.theta.data(), dots_.data());
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = static_cast<std::size_t>(rows[k]);
      const bool is_linear = task_.labels[i] * (dots_[k] + bias) < 1.0;
      coef_[k] = is_linear ? coef_of(i) : 0.0;
      sum_[d_] += coef_[k];
    }
    task_.rows.add_rows(list, coef_.data(), sum_.data());
    result_.n_examined += static_cast<std::int64_t>(count);
  }

  double coef_of(std::size_t i) const { return task_.weights[i] * task_.labels[i] / mean_; }

  void step(std::int64_t t) {
    std::vector<double>& theta = result_.theta;
    const double shrink = 1.0 - 1.0 / static_cast<double>(t);
    const double rate =
        1.0 / (options_.lam * static_cast<double>(t) * static_cast<double>(options_.n_sampled));
    if (!options_.has_bias)
      sum_[d_] = 0.0;
    for (std::size_t j = 0; j <= d_; ++j)
      theta[j] = shrink * theta[j] + rate * sum_[j];
    const double squares = dot_product(theta.data(), theta.data(), d_ + 1);
    if (squares * options_.lam > 1.0) {
      const double scale = 1.0 / std::sqrt(squares * options_.lam);
      for (double& x : theta)
        x *= scale;
    }
  }

  /// Plain steps: once a period, see how far w went in it, and which share of the last sample a
  /// bound of that size would have spared; where it promises enough, take the margins of all rows.
  void consider_bounds(std::int64_t t) {
    if (t % period_ != 0)
      return;
    stored_.move_to(result_.theta);
    const double bias = result_.theta[d_];
    std::size_t n_spared = 0;
    for (std::size_t k = 0; k < sample_.size(); ++k) {
      const std::size_t i = static_cast<std::size_t>(sample_[k]);
      const double m = task_.labels[i] * (dots_[k] + bias);
      n_spared += std::abs(m - 1.0) > stored_.reach_of(i);
    }
    stored_.remember(result_.theta);
    if (static_cast<double>(n_spared) > least_promise * static_cast<double>(sample_.size())) {
      earned_ = 0.0;
      take_margins();
    }
  }

  void take_margins() {
    stored_.store(result_.theta);
    result_.n_examined += static_cast<std::int64_t>(task_.rows.size());
    pruned_since_ = pruned_last_ = 0.0;
    steps_since_ = 0;
    is_bounding_ = true;
  }

  /// Bounded steps: the paper's rule for taking the margins anew, and an end where they spare
  /// too little.
  void judge_bounds() {
    const double n = static_cast<double>(task_.rows.size());
    const double best = pruned_since_ - static_cast<double>(steps_since_) * pruned_last_;
    if (pruned_last_ < least_pruned * static_cast<double>(options_.n_sampled)) {
      is_bounding_ = false;
      period_ *= earned_ < n ? back_off : 1; // the margins of all rows did not pay
      stored_.remember(result_.theta);
    } else if (best > n) {
      take_margins();
    }
  }

  const MarginTask& task_;
  PegasosOptions options_;
  std::size_t d_;
  StoredMargins stored_;
  std::vector<double> sum_;
  std::vector<std::int32_t> wanted_;
  std::vector<double> coef_, dots_;
  std::vector<std::int32_t> sample_;
  double mean_ = 1.0;
  std::uint64_t random_ = 0;
  std::int64_t period_ = 16;
  bool is_bounding_ = false;
  double earned_ = 0.0;       // margins spared since the bounds were taken up
  double pruned_since_ = 0.0; // since the margins of all rows were taken
  double pruned_last_ = 0.0;
  std::int64_t steps_since_ = 0;
  PegasosResult result_;
};

} // namespace

PegasosResult run_pegasos(const MarginTask& task, const PegasosOptions& options, Watch& watch) {
  return Pegasos(task, options).run(watch);
}

} // namespace alphapath
