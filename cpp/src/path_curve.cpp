#include "path_curve.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace alphapath {

namespace {

/// A sum of many small terms whose rounding is kept (Neumaier): equal errors must stay equal.
class Sum {
public:
  void add(double term) {
    const double next = sum_ + term;
    lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  double value() const { return sum_ + lost_; }

private:
  double sum_ = 0, lost_ = 0;
};

struct Crossing {
  double time;
  double change;
};

constexpr std::size_t block_size = 32;

/// Whether all of a block stay strictly on their sides over a piece, as nearly all do; without
/// branches, so that compilers make vectors of it.
bool keeps_sides(std::size_t from, std::size_t to, double length, const double* residual,
                 const double* rate, const double* targets, const double* side) {
  std::int64_t changes = 0;
  for (std::size_t j = from; j < to; ++j) {
    const double first = residual[j] + targets[j];
    const double last = first + length * rate[j];
    changes |= static_cast<std::int64_t>(!(side[j] * first > 0));
    changes |= static_cast<std::int64_t>(!(side[j] * last > 0));
  }
  return changes == 0;
}

} // namespace

Steps sum_errors(const PieceValues& values, std::span<const double> shares) {
  const std::size_t n = values.targets.size();
  Steps steps;
  Sum error;
  // Nobody is above at first: the positive rows are wrong.
  for (std::size_t j = 0; j < n; ++j)
    if (values.targets[j] > 0)
      error.add(shares[j]);
  std::vector<double> side(n, -1.0); // +1 where f was above
  std::vector<Crossing> crossings;
  for (std::size_t k = 0; k < values.starts.size(); ++k) {
    const double* residual = values.residual.data() + k * n;
    const double* rate = values.rate.data() + k * n;
    const double start = values.starts[k], end = values.ends[k], length = end - start;
    crossings.clear();
    for (std::size_t from = 0; from < n; from += block_size) {
      const std::size_t to = std::min(n, from + block_size);
      if (keeps_sides(from, to, length, residual, rate, values.targets.data(), side.data()))
        continue;
      for (std::size_t j = from; j < to; ++j) {
        const double first = residual[j] + values.targets[j];
        const double last = first + length * rate[j];
        const double cost_above = values.targets[j] > 0 ? -shares[j] : shares[j];
        const bool ends_above = last >= 0;
        const bool is_above = first > 0 || (first == 0 && ends_above);
        if (is_above != (side[j] > 0)) // the bias jumped between two pieces
          error.add(is_above ? cost_above : -cost_above);
        if (is_above != ends_above)
          crossings.push_back({std::clamp(start + first / (first - last) * length, start, end),
                               ends_above ? cost_above : -cost_above});
        side[j] = ends_above ? 1.0 : -1.0;
      }
    }
    steps.where.push_back(start);
    steps.value.push_back(error.value());
    std::stable_sort(crossings.begin(), crossings.end(),
                     [](const Crossing& a, const Crossing& b) { return a.time < b.time; });
    for (const Crossing& crossing : crossings) {
      error.add(crossing.change);
      steps.where.push_back(crossing.time);
      steps.value.push_back(error.value());
    }
  }
  return steps;
}

} // namespace alphapath
