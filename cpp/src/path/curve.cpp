#include "path/curve.hpp"

#include "base/isa.hpp"
#include "simd/path_loops.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

constexpr std::size_t block_size = 64;

} // namespace

void CurveSums::Sum::add(double term) {
  const double next = sum_ + term;
  lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - next) + term : (term - next) + sum_;
  sum_ = next;
}

CurveSums::CurveSums(Metric metric, std::span<const double> targets, std::span<const double> shares)
    : metric_(metric), targets_(targets.begin(), targets.end()),
      shares_(shares.begin(), shares.end()), side_(targets.size(), -1.0) {
  // Nobody is above at first: the positive rows are wrong.
  for (std::size_t j = 0; j < targets_.size(); ++j)
    if (targets_[j] > 0)
      error_.add(shares_[j]);
}

void CurveSums::add(double start, double end, const double* residual, const double* rate) {
  if (metric_ == Metric::error)
    add_errors(start, end, residual, rate);
  else
    add_squares(start, residual, rate);
}

void CurveSums::add_errors(double start, double end, const double* residual, const double* rate) {
  const std::size_t n = targets_.size();
  const double length = end - start;
  const auto keeps_sides = ALPHAPATH_DISPATCH(keeps_sides);
  crossings_.clear();
  for (std::size_t from = 0; from < n; from += block_size) {
    const std::size_t to = std::min(n, from + block_size);
    // As nearly all do.
    if (keeps_sides(residual + from, rate + from, targets_.data() + from, side_.data() + from,
                    to - from, length))
      continue;
    for (std::size_t j = from; j < to; ++j) {
      const double first = residual[j] + targets_[j];
      look_at(j, start, end, first, first + length * rate[j]);
    }
  }
  add_crossings(start);
}

void CurveSums::pass(double start, double end, std::span<const Passage> some) {
  crossings_.clear();
  for (const Passage& p : some)
    look_at(p.row, start, end, p.first + targets_[p.row], p.last + targets_[p.row]);
  add_crossings(start);
}

/// Notes where the row, whose value goes from first to last, changes its sign.
void CurveSums::look_at(std::size_t j, double start, double end, double first, double last) {
  const double cost_above = targets_[j] > 0 ? -shares_[j] : shares_[j];
  const bool ends_above = last >= 0;
  const bool is_above = first > 0 || (first == 0 && ends_above);
  if (is_above != (side_[j] > 0)) // the bias jumped between two pieces
    error_.add(is_above ? cost_above : -cost_above);
  if (is_above != ends_above)
    crossings_.push_back({std::clamp(start + first / (first - last) * (end - start), start, end),
                          ends_above ? cost_above : -cost_above});
  side_[j] = ends_above ? 1.0 : -1.0;
}

void CurveSums::add_crossings(double start) {
  add_step(start);
  std::stable_sort(crossings_.begin(), crossings_.end(),
                   [](const Crossing& a, const Crossing& b) { return a.time < b.time; });
  for (const Crossing& crossing : crossings_) {
    error_.add(crossing.change);
    add_step(crossing.time);
  }
}

/// The present error from `time` on, if it changed.
void CurveSums::add_step(double time) {
  const double value = error_.value();
  if (!curve_.where.empty() && curve_.where.back() == time) {
    curve_.value.back() = value;
  } else if (curve_.where.empty() || curve_.value.back() != value) {
    curve_.where.push_back(time);
    curve_.value.push_back(value);
  }
}

void CurveSums::add_squares(double start, const double* residual, const double* rate) {
  double value = 0, slope = 0, curvature = 0;
  for (std::size_t j = 0; j < targets_.size(); ++j) {
    const double weighted = shares_[j] * residual[j];
    value += weighted * residual[j];
    slope += 2 * weighted * rate[j];
    curvature += shares_[j] * rate[j] * rate[j];
  }
  curve_.where.push_back(start);
  curve_.value.push_back(value);
  curve_.slope.push_back(slope);
  curve_.curvature.push_back(curvature);
}

} // namespace alphapath
