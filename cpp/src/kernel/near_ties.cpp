#include "kernel/near_ties.hpp"

#include "base/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace alphapath {

namespace {

// Of the largest partial sum: what the gradients of long solves may be off by, and far less than
// values that differ are apart.
constexpr double resolution = 0x1p-42;

// Rows asked for at once: enough for a row cache to compute them together.
constexpr std::size_t rows_ahead = 32;

double largest_value(const KernelRows& kernel) {
  double largest = 0;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    largest = std::max(largest, std::abs(kernel.diagonal()[i] + 2 * kernel.offset()[i]));
  return largest;
}

double length(std::span<const double> beta) {
  double sum = 0;
  for (const double b : beta)
    sum += std::abs(b);
  return sum;
}

/// Finds the values that are not alone.
class NearTies {
public:
  /// Their places, in no order; valid until the next call.
  std::span<const std::size_t> find(std::span<const double> values, double gap) {
    found_.clear();
    sorted_.assign(values.begin(), values.end());
    std::ranges::sort(sorted_);
    const auto is_near = [&](double a, double b) { return b - a <= gap; };
    if (std::ranges::adjacent_find(sorted_, is_near) == sorted_.end())
      return found_;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto at = std::ranges::lower_bound(sorted_, values[k]);
      const auto next = at + 1;
      const bool is_tie = (next != sorted_.end() && is_near(*at, *next)) ||
                          (at != sorted_.begin() && is_near(*(at - 1), *at));
      if (is_tie)
        found_.push_back(k);
    }
    return found_;
  }

private:
  std::vector<double> sorted_;
  std::vector<std::size_t> found_;
};

struct Sum {
  std::size_t row, part, place;
};

template <class T>
void sum_again(const KernelRows& kernel, std::span<const RankedRows> parts,
               std::vector<Sum>& sums) {
  // Row after row: a row is read once for all betas.
  std::ranges::stable_sort(sums, {}, &Sum::row);
  std::vector<std::size_t> rows;
  for (const Sum& sum : sums)
    if (rows.empty() || rows.back() != sum.row)
      rows.push_back(sum.row);
  const std::size_t n = kernel.size(), stride = kernel.stride();
  std::vector<double> offsets(stride), betas(parts.size() * stride);
  std::ranges::copy(kernel.offset(), offsets.begin());
  for (std::size_t p = 0; p < parts.size(); ++p)
    std::copy_n(parts[p].beta.begin(), n, betas.begin() + static_cast<std::ptrdiff_t>(p * stride));
  KernelRow row;
  std::size_t n_rows = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const Sum& sum = sums[k];
    if (k == 0 || sums[k - 1].row != sum.row) {
      if (n_rows % rows_ahead == 0)
        kernel.prefetch(
            std::span(rows).subspan(n_rows, std::min(rows_ahead, rows.size() - n_rows)));
      ++n_rows;
      row = kernel.row(sum.row);
    }
    parts[sum.part].products[sum.place] =
        dot_true(static_cast<const T*>(row.data), offsets.data(), kernel.offset()[sum.row],
                 betas.data() + sum.part * stride, stride);
  }
}

} // namespace

void read_products(const KernelRows& kernel, std::span<const double> targets,
                   std::span<const RankedRows> parts) {
  double largest_target = 0;
  for (const double r : targets)
    largest_target = std::max(largest_target, std::abs(r));
  const double largest = largest_value(kernel);
  NearTies ties;
  std::vector<Sum> sums;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const RankedRows& part = parts[p];
    for (std::size_t k = 0; k < part.rows.size(); ++k) {
      const auto i = static_cast<std::size_t>(part.rows[k]);
      part.products[k] = part.gradient[i] + targets[i];
    }
    const double size = std::isfinite(part.size) ? part.size : length(part.beta);
    const double gap = resolution * (part.growth * largest_target + largest * size);
    for (const std::size_t place : ties.find(part.products, gap))
      sums.push_back({static_cast<std::size_t>(part.rows[place]), p, place});
  }
  if (sums.empty())
    return;
  if (kernel.precision() == Precision::float32)
    sum_again<float>(kernel, parts, sums);
  else
    sum_again<double>(kernel, parts, sums);
}

} // namespace alphapath
