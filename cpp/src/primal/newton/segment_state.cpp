#include "primal/newton/segment_state.hpp"

#include "base/isa.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Lists of rows that crossed are kept no longer than this.
constexpr std::size_t many_crossings = 32768;

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  return ALPHAPATH_DISPATCH(squared_distance)(a.data(), 1.0, b.data(), 0.0, b.data(), a.size());
}

std::size_t row_at(const RowList& rows, std::size_t k) {
  return rows.list != nullptr ? static_cast<std::size_t>(rows.list[k]) : rows.first + k;
}

} // namespace

void ParabolaMoments::reset(std::size_t size, bool keeps_gram) {
  weight = 0.0;
  sum.assign(size, 0.0);
  gram.assign(keeps_gram ? size * size : 0, 0.0);
}

void ParabolaMoments::add(const MarginTask& task, const std::vector<std::int32_t>& rows,
                          const std::vector<double>& weights) {
  const RowList list = listed_rows(rows);
  const bool has_bias = sum.size() > task.rows.n_columns();
  std::vector<double> signed_weights(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k)
    signed_weights[k] = weights[k] * task.labels[static_cast<std::size_t>(rows[k])];
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  weight += total;
  task.rows.add_rows(list, signed_weights.data(), sum.data());
  if (has_bias)
    sum.back() += std::accumulate(signed_weights.begin(), signed_weights.end(), 0.0);
  if (gram.empty())
    return;
  const std::size_t ld = sum.size();
  task.rows.add_outer(list, weights.data(), {gram.data(), ld});
  if (has_bias) { // the last row of G: the column of ones against all others
    double* last = gram.data() + (ld - 1) * ld;
    task.rows.add_rows(list, weights.data(), last);
    last[ld - 1] += total;
  }
}

void ParabolaMoments::add(const ParabolaMoments& other, double sign) {
  weight += sign * other.weight;
  for (std::size_t j = 0; j < sum.size(); ++j)
    sum[j] += sign * other.sum[j];
  const std::size_t ld = sum.size();
  for (std::size_t i = 0; i < ld && !gram.empty(); ++i)
    for (std::size_t k = i * ld; k <= i * ld + i; ++k)
      gram[k] += sign * other.gram[k];
}

SegmentState::SegmentState(const MarginTask& task, bool has_bias, bool keeps_gram,
                           const double* gram)
    : task_(task), has_bias_(has_bias), keeps_gram_(keeps_gram),
      sums_rows_(!keeps_gram || is_narrow()),
      bounds_(std::make_unique<LengthBounds>(task.rows, has_bias)),
      segment_(task.rows.size(), Segment::absent), theta_(task.rows.n_columns() + has_bias),
      line_sum_(theta_.size()), parabola_gradient_(theta_.size()) {
  rebuild(gram);
}

SegmentState::SegmentState(const MarginTask& task, bool has_bias, ParabolaMoments start)
    : task_(task), has_bias_(has_bias), keeps_gram_(true), sums_rows_(false),
      segment_(task.rows.size()), theta_(start.sum.size()), line_sum_(theta_.size()),
      parabola_(std::move(start)), parabola_gradient_(theta_.size()) {
  for (std::size_t i = 0; i < segment_.size(); ++i)
    segment_[i] = task.weights[i] > 0.0 ? Segment::quadratic : Segment::absent;
}

void SegmentState::set_loss(const MarginLoss& loss) {
  task_.loss = loss;
  sums_rows_ = !keeps_gram_ || is_narrow();
  rebuild(nullptr);
}

void SegmentState::rebuild(const double* gram) {
  line_weight_ = 0.0;
  std::fill(line_sum_.begin(), line_sum_.end(), 0.0);
  parabola_.reset(size(), keeps_gram_);
  // At theta = 0 every margin is 0: all rows are on the same segment.
  const bool skips_gram = gram != nullptr && task_.loss.segment(0.0) == Segment::quadratic;
  if (skips_gram)
    parabola_.gram.clear();
  if (!bounds_) { // who moves a joint state decides on the segments
    add_parabola_moments();
  } else {
    std::fill(segment_.begin(), segment_.end(), Segment::absent);
    clear_parabola();
    Change change;
    examine(all_rows(0, task_.rows.size()), change);
    apply(change);
  }
  if (skips_gram)
    parabola_.gram.assign(gram, gram + size() * size());
}

void SegmentState::add_parabola_moments() {
  Change change;
  for (std::size_t i = 0; i < segment_.size(); ++i) {
    if (segment_[i] != Segment::quadratic)
      continue;
    change.rows.push_back(static_cast<std::int32_t>(i));
    change.line.push_back(0.0);
    change.parabola.push_back(task_.weights[i]);
    if (change.rows.size() >= many_crossings)
      apply(change);
  }
  apply(change);
}

/// What is computed at every move where the rows are summed.
void SegmentState::clear_parabola() {
  parabola_rows_.clear();
  parabola_weights_.clear();
  parabola_value_ = 0.0;
  std::fill(parabola_gradient_.begin(), parabola_gradient_.end(), 0.0);
}

std::size_t SegmentState::move_to(const std::vector<double>& theta) {
  bounds_->move_by(std::sqrt(squared_distance(theta, theta_)));
  theta_ = theta;
  const auto unproven = bounds_->find_unproven();
  clear_parabola();
  Change change;
  // Rows in their order stream from memory: a third of them scattered costs as much as all.
  const bool takes_all = 3 * unproven.size() > task_.rows.size();
  examine(takes_all ? all_rows(0, task_.rows.size()) : listed_rows(unproven), change);
  const std::size_t n_crossed = apply(change);
  ++counts_.n_moves;
  counts_.n_examined += static_cast<std::int64_t>(unproven.size());
  counts_.n_pruned += static_cast<std::int64_t>(task_.rows.size() - unproven.size());
  counts_.n_crossings += static_cast<std::int64_t>(n_crossed);
  return n_crossed;
}

void SegmentState::begin_joint_move(const std::vector<double>& theta) {
  theta_ = theta;
  joint_ = Change{};
  n_joint_ = 0;
}

void SegmentState::cross_alone(std::size_t i, bool is_below) {
  const Segment now = is_below ? Segment::quadratic : Segment::flat;
  if (now != segment_[i])
    cross(i, now, joint_);
}

void SegmentState::mark_crossed(std::size_t i, bool is_below) {
  segment_[i] = is_below ? Segment::quadratic : Segment::flat;
  ++n_joint_;
}

std::size_t SegmentState::end_joint_move() {
  n_joint_ += apply(joint_);
  ++counts_.n_moves;
  counts_.n_examined += static_cast<std::int64_t>(task_.rows.size());
  counts_.n_crossings += static_cast<std::int64_t>(n_joint_);
  return n_joint_;
}

void SegmentState::examine(const RowList& rows, Change& change) {
  for (std::size_t k = 0; k < rows.count; k += margin_block) {
    const std::size_t count = std::min(margin_block, rows.count - k);
    examine_block(rows.list != nullptr ? RowList{rows.list + k, 0, count}
                                       : all_rows(rows.first + k, count),
                  change);
    if (change.rows.size() >= many_crossings)
      apply(change);
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
    if (bounds_)
      set_bound(i, now, margins[k]);
  }
  if (sums_rows_)
    add_parabola(rows, margins);
}

void SegmentState::cross(std::size_t i, Segment now, Change& change) {
  const double s = task_.weights[i];
  const Segment before = segment_[i];
  segment_[i] = now;
  const int line = (now == Segment::linear) - (before == Segment::linear);
  const int parabola = (now == Segment::quadratic) - (before == Segment::quadratic);
  if (line == 0 && parabola == 0)
    return;
  line_weight_ += line * s;
  change.rows.push_back(static_cast<std::int32_t>(i));
  change.line.push_back(line * s * task_.labels[i]);
  change.parabola.push_back(parabola * s);
}

/// Loss, gradient and list of the rows on the parabola, where they are summed.
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
    return bounds_->set(i, m - loss.high);
  case Segment::linear:
    return bounds_->set(i, loss.low - m);
  case Segment::quadratic:
    return bounds_->set(i, sums_rows_ ? -infinity : std::min(loss.high - m, m - loss.low));
  case Segment::absent:
    return bounds_->set(i, infinity);
  }
}

/// Takes the rows of `change` into the moments and empties it; returns how many crossed in all.
std::size_t SegmentState::apply(Change& change) {
  if (!change.rows.empty()) {
    task_.rows.add_rows(listed_rows(change.rows), change.line.data(), line_sum_.data());
    if (has_bias_)
      line_sum_.back() += std::accumulate(change.line.begin(), change.line.end(), 0.0);
    parabola_.add(task_, change.rows, change.parabola);
  }
  change.n_applied += change.rows.size();
  change.rows.clear();
  change.line.clear();
  change.parabola.clear();
  return change.n_applied;
}

double SegmentState::evaluate(std::vector<double>& gradient) const {
  const double q = task_.loss.curvature;
  const double high = task_.loss.high;
  double value = line_weight_ - dot_product(theta_.data(), line_sum_.data(), size());
  gradient.resize(size());
  if (sums_rows_) {
    for (std::size_t j = 0; j < size(); ++j)
      gradient[j] = parabola_gradient_[j] - line_sum_[j];
    return value + parabola_value_;
  }
  multiply_gram(theta_, gradient);
  value += q * (high * high * parabola_.weight -
                2.0 * high * dot_product(theta_.data(), parabola_.sum.data(), size()) +
                dot_product(theta_.data(), gradient.data(), size()));
  for (std::size_t j = 0; j < size(); ++j)
    gradient[j] = 2.0 * q * (gradient[j] - high * parabola_.sum[j]) - line_sum_[j];
  return value;
}

void SegmentState::multiply_gram(const std::vector<double>& v, std::vector<double>& out) const {
  out.assign(size(), 0.0);
  if (keeps_gram_)
    return ALPHAPATH_DISPATCH(multiply_symmetric)(parabola_.gram.data(), size(), size(), v.data(),
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
