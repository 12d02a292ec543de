#include "ranking/ndcg_walk.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace alphapath {

NdcgWalk::NdcgWalk(std::span<const double> gains, std::span<const std::int64_t> first_row,
                   std::size_t k)
    : gains_(gains.begin(), gains.end()), n_rows_(gains.size()) {
  discounts_.assign(n_rows_ + 1, 0.0);
  for (std::size_t r = 0; r < n_rows_; ++r)
    discounts_[r + 1] = discounts_[r] + (r < k ? 1.0 / std::log2(static_cast<double>(r) + 2.0) : 0);
  std::vector<double> falling;
  for (std::size_t q = 0; q + 1 < first_row.size(); ++q) {
    Query query;
    query.first = static_cast<std::size_t>(first_row[q]);
    query.n = static_cast<std::size_t>(first_row[q + 1]) - query.first;
    query.order.resize(query.n);
    std::iota(query.order.begin(), query.order.end(), 0u);
    falling.assign(gains_.begin() + static_cast<std::ptrdiff_t>(query.first),
                   gains_.begin() + static_cast<std::ptrdiff_t>(query.first + query.n));
    std::sort(falling.begin(), falling.end(), std::greater<>());
    query.best = 0;
    for (std::size_t r = 0; r < query.n; ++r)
      query.best += falling[r] * (discounts_[r + 1] - discounts_[r]);
    queries_.push_back(std::move(query));
  }
}

namespace {

/// Scores that differ by no more are equal.
double tie_width(const double* scores, std::size_t n) {
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i)
    largest = std::max(largest, std::abs(scores[i]));
  return tie_share * largest;
}

} // namespace

/// Notes which neighbours of the order are tied; whether that changed.
bool NdcgWalk::find_ties(Query& query, const double* scores) {
  const double width = tie_width(scores, query.n);
  bool has_changed = query.ties.size() != query.n;
  query.ties.resize(query.n);
  for (std::size_t r = 1; r < query.n; ++r) {
    const char is_tied = std::abs(scores[query.order[r - 1]] - scores[query.order[r]]) <= width;
    has_changed |= is_tied != query.ties[r];
    query.ties[r] = is_tied;
  }
  return has_changed;
}

double NdcgWalk::evaluate(const Query& query, const double* scores) {
  if (!(query.best > 0))
    return 0;
  sorted_ = query.order;
  // Nearly sorted already, most often.
  std::sort(sorted_.begin(), sorted_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
  const double* gains = gains_.data() + query.first;
  const double past = discounts_.back(), width = tie_width(scores, query.n);
  double sum = 0;
  for (std::size_t r = 0; r < query.n && discounts_[r] < past;) {
    std::size_t end = r;
    double total = 0;
    do
      total += gains[sorted_[end++]];
    while (end < query.n && scores[sorted_[end - 1]] - scores[sorted_[end]] <= width);
    sum += total / static_cast<double>(end - r) * (discounts_[end] - discounts_[r]);
    r = end;
  }
  return sum / query.best;
}

void NdcgWalk::pass(std::size_t q, std::span<const double> times, const double* from,
                    const double* to, NdcgChanges& changes) {
  Query& query = queries_[q];
  const double *start = from + query.first, *end = to + query.first;
  const double* gains = gains_.data() + query.first;
  std::vector<std::uint32_t>& order = query.order;
  crossings_.clear();
  bool has_moved = query.now < 0 || query.is_stale;
  // Insertion sort by the scores at the end: every exchange is a pair that crosses.
  for (std::size_t r = 1; r < query.n; ++r) {
    const std::uint32_t row = order[r];
    std::size_t at = r;
    for (; at > 0 && end[order[at - 1]] < end[row]; --at) {
      const std::uint32_t other = order[at - 1];
      const double before = std::max(start[other] - start[row], 0.0);
      if (gains[other] != gains[row])
        crossings_.push_back(before / (before + (end[row] - end[other])));
      has_moved = true;
      order[at] = other;
    }
    order[at] = row;
  }
  middle_.resize(query.n);
  for (std::size_t i = 0; i < query.n; ++i)
    middle_[i] = start[i] + (end[i] - start[i]) / 2;
  has_moved |= find_ties(query, middle_.data());
  if (!has_moved)
    return;
  crossings_.push_back(0);
  crossings_.push_back(1);
  std::sort(crossings_.begin(), crossings_.end());
  // Rows that meet where they meet others in truth do so a little earlier or later, by rounding:
  // what lies between is not looked at.
  const double shortest = shortest_stretch * std::max(std::abs(times[0]), std::abs(times[1]));
  for (std::size_t c = 0; c + 1 < crossings_.size(); ++c) {
    query.is_stale = !((crossings_[c + 1] - crossings_[c]) * (times[1] - times[0]) > shortest);
    if (query.is_stale)
      continue;
    const double share = (crossings_[c] + crossings_[c + 1]) / 2;
    for (std::size_t i = 0; i < query.n; ++i)
      middle_[i] = start[i] + share * (end[i] - start[i]);
    const double value = evaluate(query, middle_.data());
    if (value == query.now)
      continue;
    query.now = value;
    changes.times.push_back(times[0] + crossings_[c] * (times[1] - times[0]));
    changes.queries.push_back(static_cast<std::int64_t>(q));
    changes.values.push_back(value);
  }
  if (!query.is_stale)
    find_ties(query, middle_.data()); // of the last stretch, with which the next one is compared
}

NdcgChanges NdcgWalk::run(std::span<const double> times, const double* values) {
  NdcgChanges changes;
  for (std::size_t q = 0; q < queries_.size(); ++q) {
    Query& query = queries_[q];
    if (query.now < 0) {
      const double* scores = values + query.first;
      std::sort(query.order.begin(), query.order.end(),
                [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
    }
    for (std::size_t a = 0; a + 1 < times.size(); ++a)
      pass(q, times.subspan(a, 2), values + a * n_rows_, values + (a + 1) * n_rows_, changes);
  }
  return changes;
}

} // namespace alphapath
