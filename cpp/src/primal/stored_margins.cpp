#include "primal/stored_margins.hpp"

#include "base/isa.hpp"

#include <algorithm>
#include <numeric>

namespace alphapath {

namespace {

// Rows in which the columns are counted.
constexpr std::size_t n_counted = 4096;

} // namespace

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

} // namespace alphapath
