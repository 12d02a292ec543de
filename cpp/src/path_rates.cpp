// The rates of betas that are not on the margin, and h = K rates.

#include "dispatch.hpp"
#include "path_walker.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

// h is computed anew where rates have fallen below this share of what went through it: the rounding
// of large rates that are gone would move everybody along small ones that are left.
constexpr double least_share = 1.0 / 16;

} // namespace

/// Returns by how much the rate changed, which the factor's right-hand side does not know yet.
double PathWalker::set_rate(std::size_t i, double rate) {
  const double change = count_rate(i, rate);
  if (change == 0 || stand_still())
    return change;
  const KernelRow pin = kernel_.row(i);
  const double* row = static_cast<const double*>(pin.data);
  add_rows<double>(&row, &change, 1, width_, h_.data());
  renew_rates();
  return change;
}

/// What goes into every entry of the right-hand side where the rate of i changes, beside -change
/// times its column of the factored matrix: h and the sum of rates move together.
double PathWalker::carried_shift(std::size_t i, double change) const {
  return change * (sigma_ - origin_[i]);
}

/// The same for several, whose kernel rows are read together.
void PathWalker::set_rates(std::span<const std::size_t> instances, std::span<const double> rates) {
  std::vector<double> changes;
  for (std::size_t k = 0; k < instances.size(); ++k)
    changes.push_back(count_rate(instances[k], rates[k]));
  is_carried_ = false;
  if (stand_still())
    return;
  multiply_add(kernel_, instances, changes, std::span(h_).first(n_));
  renew_rates();
}

/// h without the rounding of rates that are gone. A part does not know all rates: its walk ends.
void PathWalker::renew_rates() {
  if (rates_size_ >= least_share * largest_rates_)
    return;
  if (near_kernel_ != nullptr)
    needs_all_ = true;
  else
    multiply_rates();
}

/// Takes note of a rate; what it adds to the present one is still to go into h.
double PathWalker::count_rate(std::size_t i, double rate) {
  const double change = rate - rate_[i];
  if (change == 0)
    return 0;
  n_moving_ += static_cast<std::size_t>(rate != 0);
  n_moving_ -= static_cast<std::size_t>(rate_[i] != 0);
  rates_size_ += std::abs(rate) - std::abs(rate_[i]);
  largest_rates_ = std::max(largest_rates_, rates_size_);
  rate_[i] = rate;
  return change;
}

/// Where nobody moves, h is 0 exactly, not to rounding. Returns whether that is so.
bool PathWalker::stand_still() {
  if (n_moving_ > 0)
    return false;
  rates_size_ = largest_rates_ = 0;
  is_carried_ = false;
  std::fill(h_.begin(), h_.end(), 0.0);
  return true;
}

/// For scale_rates.
void PathWalker::keep_rates() {
  last_rate_ = rate_;
  last_h_ = h_;
}

/// h = K rates; kept up to date by set_rate, whose rounding adds up.
void PathWalker::multiply_rates() {
  std::vector<std::size_t> moving;
  std::vector<double> rates;
  rates_size_ = 0;
  for (std::size_t i = 0; i < n_; ++i)
    if (rate_[i] != 0) {
      moving.push_back(i);
      rates.push_back(rate_[i]);
      rates_size_ += std::abs(rate_[i]);
    }
  n_moving_ = moving.size();
  largest_rates_ = rates_size_;
  is_carried_ = false;
  std::fill(h_.begin(), h_.end(), 0.0);
  multiply_add(kernel_, moving, rates, std::span(h_).first(n_));
}

/// h from that of the last walk, where most rates are exactly one multiple of what they were then:
/// weights that are doubled again and again. False where K rates is to be computed.
bool PathWalker::scale_rates() {
  if (last_h_.size() != width_)
    return false;
  double scale = 0;
  for (std::size_t i = 0; i < n_ && scale == 0; ++i)
    if (last_rate_[i] != 0)
      scale = rate_[i] / last_rate_[i];
  std::vector<std::size_t> others;
  std::vector<double> changes;
  std::size_t n_moving = 0;
  double size = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    const double change = rate_[i] - scale * last_rate_[i];
    n_moving += static_cast<std::size_t>(rate_[i] != 0);
    size += std::abs(rate_[i]);
    if (change != 0) {
      others.push_back(i);
      changes.push_back(change);
    }
  }
  if (2 * others.size() >= n_moving)
    return false;
  n_moving_ = n_moving;
  rates_size_ = largest_rates_ = size;
  is_carried_ = false;
  for (std::size_t i = 0; i < width_; ++i)
    h_[i] = scale * last_h_[i];
  multiply_add(kernel_, others, changes, std::span(h_).first(n_));
  return true;
}

} // namespace alphapath
