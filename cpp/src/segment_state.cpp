#include "segment_state.hpp"

#include "simd/isa.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

std::vector<double> extended_norms(const MarginRows& rows, bool has_bias) {
  std::vector<double> norms(rows.norms().begin(), rows.norms().end());
  if (has_bias)
    for (double& norm : norms)
      norm = std::sqrt(norm * norm + 1.0);
  return norms;
}

std::size_t row_at(const RowList& rows, std::size_t k) {
  return rows.list != nullptr ? static_cast<std::size_t>(rows.list[k]) : rows.first + k;
}

} // namespace

SegmentState::SegmentState(const MarginTask& task, bool has_bias, bool keeps_gram,
                           const double* gram)
    : task_(task), has_bias_(has_bias), keeps_gram_(keeps_gram),
      norms_(extended_norms(task.rows, has_bias)),
      bounds_(norms_, task.rows.n_columns() + has_bias),
      segment_(task.rows.size(), Segment::absent), theta_(task.rows.n_columns() + has_bias),
      line_sum_(theta_.size()), parabola_sum_(theta_.size()) {
  if (keeps_gram)
    gram_.resize(theta_.size() * theta_.size());
  else
    parabola_gradient_.resize(theta_.size());
  rebuild(gram);
}

void SegmentState::set_loss(const MarginLoss& loss) {
  task_.loss = loss;
  rebuild(nullptr);
}

void SegmentState::rebuild(const double* gram) {
  std::fill(segment_.begin(), segment_.end(), Segment::absent);
  line_weight_ = parabola_weight_ = 0.0;
  for (auto* sum : {&line_sum_, &parabola_sum_, &gram_})
    std::fill(sum->begin(), sum->end(), 0.0);
  Change change;
  // At theta = 0 every margin is 0: all rows are on the same segment.
  change.skips_gram = gram != nullptr && task_.loss.segment(0.0) == Segment::quadratic;
  if (change.skips_gram)
    std::copy_n(gram, gram_.size(), gram_.begin());
  parabola_rows_.clear();
  parabola_weights_.clear();
  parabola_value_ = 0.0;
  std::fill(parabola_gradient_.begin(), parabola_gradient_.end(), 0.0);
  examine(all_rows(0, task_.rows.size()), change);
  apply(change);
}

std::size_t SegmentState::move_to(const std::vector<double>& theta) {
  theta_ = theta;
  bounds_.move_to(theta_.data(), 0.0);
  const auto unproven = bounds_.find_unproven();
  if (!has_bounds_) {
    has_bounds_ = true;
    ++counts_.n_moves;
    counts_.n_examined += static_cast<std::int64_t>(task_.rows.size());
    Change change;
    examine(all_rows(0, task_.rows.size()), change);
    apply(change);
    counts_.n_crossings += static_cast<std::int64_t>(change.rows.size());
    return change.rows.size();
  }
  ++counts_.n_moves;
  counts_.n_examined += static_cast<std::int64_t>(unproven.size());
  counts_.n_pruned += static_cast<std::int64_t>(task_.rows.size() - unproven.size());
  parabola_rows_.clear();
  parabola_weights_.clear();
  parabola_value_ = 0.0;
  std::fill(parabola_gradient_.begin(), parabola_gradient_.end(), 0.0);
  Change change;
  // Rows in their order stream from memory: a third of them scattered costs as much as all.
  const bool takes_all = 3 * unproven.size() > task_.rows.size();
  examine(takes_all ? all_rows(0, task_.rows.size()) : listed_rows(unproven), change);
  apply(change);
  counts_.n_crossings += static_cast<std::int64_t>(change.rows.size());
  return change.rows.size();
}

void SegmentState::begin_joint_move(const std::vector<double>& theta) {
  theta_ = theta;
  joint_ = Change{};
}

void SegmentState::take_products(std::size_t first, std::size_t count, const double* dots,
                                 std::size_t stride) {
  const double bias = has_bias_ ? theta_.back() : 0.0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = first + k;
    const Segment before = segment_[i];
    const Segment now = task_.loss.segment(task_.labels[i] * (dots[k * stride] + bias));
    if (now != before && before != Segment::absent)
      cross(i, now, joint_);
  }
}

std::size_t SegmentState::end_joint_move() {
  apply(joint_);
  ++counts_.n_moves;
  counts_.n_examined += static_cast<std::int64_t>(task_.rows.size());
  counts_.n_crossings += static_cast<std::int64_t>(joint_.rows.size());
  // What the bounds knew holds no longer.
  has_bounds_ = false;
  return joint_.rows.size();
}

void SegmentState::examine(const RowList& rows, Change& change) {
  for (std::size_t k = 0; k < rows.count; k += margin_block) {
    const std::size_t count = std::min(margin_block, rows.count - k);
    examine_block(rows.list != nullptr ? RowList{rows.list + k, 0, count}
                                       : all_rows(rows.first + k, count),
                  change);
  }
}

void SegmentState::examine_block(const RowList& rows, Change& change) {
  double margins[margin_block];
  const double bias = has_bias_ ? theta_.back() : 0.0;
  task_.rows.dots(rows, theta_.data(), margins);
  for (std::size_t k = 0; k < rows.count; ++k) {
    const std::size_t i = row_at(rows, k);
    margins[k] = task_.labels[i] * (margins[k] + bias);
    const Segment now = task_.weights[i] > 0.0 ? task_.loss.segment(margins[k]) : Segment::absent;
    if (now != segment_[i])
      cross(i, now, change);
    set_bound(i, now, margins[k]);
  }
  if (!keeps_gram_)
    add_parabola(rows, margins);
}

void SegmentState::cross(std::size_t i, Segment now, Change& change) {
  const double s = task_.weights[i];
  const double y = task_.labels[i];
  const Segment before = segment_[i];
  segment_[i] = now;
  const int line = (now == Segment::linear) - (before == Segment::linear);
  const int parabola = (now == Segment::quadratic) - (before == Segment::quadratic);
  if (line == 0 && parabola == 0)
    return;
  line_weight_ += line * s;
  parabola_weight_ += parabola * s;
  change.rows.push_back(static_cast<std::int32_t>(i));
  change.line.push_back(line * s * y);
  change.parabola.push_back(parabola * s * y);
  change.outer.push_back(parabola * s);
}

/// Loss, gradient and list of the rows on the parabola, for a state without G.
void SegmentState::add_parabola(const RowList& rows, const double* margins) {
  double coef[margin_block];
  for (std::size_t k = 0; k < rows.count; ++k) {
    const std::size_t i = row_at(rows, k);
    coef[k] = 0.0;
    if (segment_[i] != Segment::quadratic)
      continue;
    const double s = task_.weights[i];
    coef[k] = s * task_.labels[i] * task_.loss.slope(margins[k]);
    parabola_value_ += s * task_.loss.value(margins[k]);
    parabola_rows_.push_back(static_cast<std::int32_t>(i));
    parabola_weights_.push_back(s);
    if (has_bias_)
      parabola_gradient_.back() += coef[k];
  }
  task_.rows.add_rows(rows, coef, parabola_gradient_.data());
}

void SegmentState::set_bound(std::size_t i, Segment now, double m) {
  const MarginLoss& loss = task_.loss;
  switch (now) {
  case Segment::flat:
    return bounds_.set(i, m - loss.high, 1.0);
  case Segment::linear:
    return bounds_.set(i, loss.low - m, 1.0);
  case Segment::quadratic:
    return bounds_.set(i, keeps_gram_ ? std::min(loss.high - m, m - loss.low) : MarginBounds::never,
                       1.0);
  case Segment::absent:
    return bounds_.set(i, MarginBounds::always, 1.0);
  }
}

void SegmentState::apply(const Change& change) {
  const RowList rows = listed_rows(change.rows);
  task_.rows.add_rows(rows, change.line.data(), line_sum_.data());
  task_.rows.add_rows(rows, change.parabola.data(), parabola_sum_.data());
  const bool updates_gram = keeps_gram_ && !change.skips_gram;
  const std::size_t ld = size();
  if (updates_gram)
    task_.rows.add_outer(rows, change.outer.data(), {gram_.data(), ld});
  if (!has_bias_)
    return;
  for (std::size_t k = 0; k < change.rows.size(); ++k) {
    line_sum_.back() += change.line[k];
    parabola_sum_.back() += change.parabola[k];
  }
  if (updates_gram) { // the last row of G: the column of ones against all others
    double* last = gram_.data() + (ld - 1) * ld;
    task_.rows.add_rows(rows, change.outer.data(), last);
    for (double s : change.outer)
      last[ld - 1] += s;
  }
}

double SegmentState::evaluate(std::vector<double>& gradient) const {
  const double q = task_.loss.curvature;
  const double high = task_.loss.high;
  double value = line_weight_ - dot_product(theta_.data(), line_sum_.data(), size());
  gradient.resize(size());
  if (!keeps_gram_) {
    for (std::size_t j = 0; j < size(); ++j)
      gradient[j] = parabola_gradient_[j] - line_sum_[j];
    return value + parabola_value_;
  }
  multiply_gram(theta_, gradient);
  value += q * (high * high * parabola_weight_ -
                2.0 * high * dot_product(theta_.data(), parabola_sum_.data(), size()) +
                dot_product(theta_.data(), gradient.data(), size()));
  for (std::size_t j = 0; j < size(); ++j)
    gradient[j] = 2.0 * q * (gradient[j] - high * parabola_sum_[j]) - line_sum_[j];
  return value;
}

void SegmentState::multiply_gram(const std::vector<double>& v, std::vector<double>& out) const {
  out.assign(size(), 0.0);
  if (keeps_gram_)
    return ALPHAPATH_DISPATCH(multiply_symmetric)(gram_.data(), size(), size(), v.data(),
                                                  out.data());
  double coef[margin_block];
  const double bias = has_bias_ ? v.back() : 0.0;
  for (std::size_t k = 0; k < parabola_rows_.size(); k += margin_block) {
    const RowList rows{parabola_rows_.data() + k, 0,
                       std::min(margin_block, parabola_rows_.size() - k)};
    task_.rows.dots(rows, v.data(), coef);
    for (std::size_t r = 0; r < rows.count; ++r) {
      coef[r] = parabola_weights_[k + r] * (coef[r] + bias);
      if (has_bias_)
        out.back() += coef[r];
    }
    task_.rows.add_rows(rows, coef, out.data());
  }
}

} // namespace alphapath
