#include "primal/sums/row_clusters.hpp"

#include "primal/margin_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace alphapath {

namespace {

constexpr std::size_t lanes = simd::n_together;
constexpr std::size_t n_sampled = 2048;
constexpr int n_rounds = 3;

} // namespace

RowClusters::RowClusters(const MarginRows& rows)
    : d_(rows.n_columns()), centres_(count * d_), together_(centres_.size()),
      own_(padded(rows.size())) {
  const std::size_t n = rows.size(), m = std::min(n, n_sampled);
  std::vector<std::int32_t> sample(m);
  std::vector<std::uint8_t> nearest(m);
  for (std::size_t k = 0; k < m; ++k)
    sample[k] = static_cast<std::int32_t>(k * n / m);
  const double one = 1.0;
  for (std::size_t k = 0; k < count && m > 0; ++k)
    rows.add_rows({sample.data() + k * m / count, 0, 1}, &one, centres_.data() + k * d_);
  arrange();
  for (int round = 0; round < n_rounds; ++round) {
    take_nearest(rows, listed_rows(sample), nearest.data());
    std::array<double, count> sizes{};
    for (const std::uint8_t k : nearest)
      sizes[k] += 1.0;
    std::fill(centres_.begin(), centres_.end(), 0.0);
    for (std::size_t r = 0; r < m; ++r) {
      const double share = 1.0 / sizes[nearest[r]];
      rows.add_rows({sample.data() + r, 0, 1}, &share, centres_.data() + nearest[r] * d_);
    }
    arrange();
  }
  std::fill_n(own_.data(), own_.size(), std::uint8_t{0});
  take_nearest(rows, all_rows(0, n), own_.data());
}

void RowClusters::arrange() {
  for (std::size_t k = 0; k < count; ++k) {
    squares_[k] = dot_product(centre(k), centre(k), d_);
    for (std::size_t j = 0; j < d_; ++j)
      together_[k / lanes * lanes * d_ + j * lanes + k % lanes] = centre(k)[j];
  }
  longest_ = std::sqrt(*std::max_element(squares_.begin(), squares_.end()));
}

void RowClusters::take_nearest(const MarginRows& rows, const RowList& list,
                               std::uint8_t* out) const {
  alignas(64) double dots[count / lanes][margin_block * lanes];
  for (std::size_t first = 0; first < list.count; first += margin_block) {
    const std::size_t size = std::min(margin_block, list.count - first);
    const RowList part =
        list.list != nullptr ? RowList{list.list + first, 0, size} : all_rows(first, size);
    for (std::size_t g = 0; g < count / lanes; ++g)
      rows.dots_together(part, together_.data() + g * lanes * d_, dots[g]);
    for (std::size_t r = 0; r < size; ++r) {
      std::size_t best = 0;
      double nearest = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < count; ++k) {
        const double away = squares_[k] - 2.0 * dots[k / lanes][r * lanes + k % lanes];
        if (away < nearest) {
          nearest = away;
          best = k;
        }
      }
      out[first + r] = static_cast<std::uint8_t>(best);
    }
  }
}

double RowClusters::radius(const MarginRows& rows, std::size_t i, double norm) const {
  const std::size_t k = own_[i];
  double dot = 0.0;
  rows.dots(all_rows(i, 1), centre(k), &dot);
  const double longest = norm + std::sqrt(squares_[k]);
  const double rounding = std::numeric_limits<double>::epsilon() * static_cast<double>(d_ + 16);
  const double square = norm * norm - 2.0 * dot + squares_[k];
  return std::sqrt(std::max(square, 0.0) + rounding * longest * longest);
}

void RowClusters::move_by(const std::vector<double>& step, double ahead, double sideways) {
  for (std::size_t k = 0; k < count; ++k)
    moves_[k] +=
        dot_product(centre(k), step.data(), d_) - ahead * ahead_[k] - sideways * sideways_[k];
}

void RowClusters::set_plane(const std::vector<double>& v, const std::vector<double>& u) {
  for (std::size_t k = 0; k < count; ++k) {
    ahead_[k] = dot_product(centre(k), v.data(), d_);
    sideways_[k] = dot_product(centre(k), u.data(), d_);
  }
  reset();
}

std::array<float, simd::n_centres> RowClusters::moves() const {
  std::array<float, count> moves;
  std::copy(moves_.begin(), moves_.end(), moves.begin());
  return moves;
}

} // namespace alphapath
