#include "path/rates.hpp"

#include "base/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace alphapath {

namespace {

// The share of the rates that went through h below which h is worn.
constexpr double least_share = 1.0 / 16;

} // namespace

bool Rates::is_worn() const {
  return size < least_share * largest_size;
}

void Rates::clear() {
  std::fill(rate.begin(), rate.end(), 0.0);
  std::fill(h.begin(), h.end(), 0.0);
  size = largest_size = 0;
  n_moving = 0;
}

double Rates::count(std::size_t i, double to) {
  const double change = to - rate[i];
  if (change == 0)
    return 0;
  n_moving += static_cast<std::size_t>(to != 0);
  n_moving -= static_cast<std::size_t>(rate[i] != 0);
  size += std::abs(to) - std::abs(rate[i]);
  largest_size = std::max(largest_size, size);
  rate[i] = to;
  return change;
}

void Rates::add(const KernelRows& kernel, std::size_t i, double change) {
  const KernelRow pin = kernel.row(i);
  const double* row = static_cast<const double*>(pin.data);
  add_rows<double>(&row, &change, 1, h.size(), h.data());
}

bool Rates::stand_still() {
  if (n_moving > 0)
    return false;
  size = largest_size = 0;
  std::fill(h.begin(), h.end(), 0.0);
  return true;
}

void Rates::multiply(const KernelRows& kernel) {
  const std::size_t n = kernel.size();
  std::vector<std::size_t> moving;
  std::vector<double> rates;
  size = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (rate[i] != 0) {
      moving.push_back(i);
      rates.push_back(rate[i]);
      size += std::abs(rate[i]);
    }
  n_moving = moving.size();
  largest_size = size;
  std::fill(h.begin(), h.end(), 0.0);
  multiply_add(kernel, moving, rates, std::span(h).first(n));
}

void Rates::keep() {
  last_rate_ = rate;
  last_h_ = h;
}

bool Rates::scale(const KernelRows& kernel) {
  if (last_h_.size() != h.size())
    return false;
  const std::size_t n = kernel.size();
  double factor = 0;
  for (std::size_t i = 0; i < n && factor == 0; ++i)
    if (last_rate_[i] != 0)
      factor = rate[i] / last_rate_[i];
  std::vector<std::size_t> others;
  std::vector<double> changes;
  std::size_t n_now = 0;
  double size_now = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double change = rate[i] - factor * last_rate_[i];
    n_now += static_cast<std::size_t>(rate[i] != 0);
    size_now += std::abs(rate[i]);
    if (change != 0) {
      others.push_back(i);
      changes.push_back(change);
    }
  }
  if (2 * others.size() >= n_now)
    return false;
  n_moving = n_now;
  size = largest_size = size_now;
  for (std::size_t i = 0; i < h.size(); ++i)
    h[i] = factor * last_h_[i];
  multiply_add(kernel, others, changes, std::span(h).first(n));
  return true;
}

} // namespace alphapath
