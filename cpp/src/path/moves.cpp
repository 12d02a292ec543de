// The moves of a path at one place: in and out of the margin set, and what ties ask for.

#include "base/dispatch.hpp"
#include "path/walker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A new member whose pivot, relative to its diagonal, is below this depends on the others. (Much
// larger values exchange what should have entered, and the path leaves the optimum.)
constexpr double least_pivot = 1e-13;
// Below this the kernel is not positive semi-definite.
constexpr double negative_pivot = -1e-8;
// What the parts of a null vector sum to beside their sizes, where that is rounding.
constexpr double null_share = 1e-6;
// Parts of a null vector that are rounding, relative to its largest.
constexpr double null_noise = 1e-11;
// Where one instance of so many was driven, their weights may well be moved next.
constexpr std::size_t many_driven = 8;
// The random slack that breaks ties, relative to the scale of the targets.
constexpr double ramp_slack = 1e-9;

} // namespace

double PathWalker::random() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return static_cast<double>(random_ >> 11) * 0x1p-53;
}

PathStatus PathWalker::enter(std::size_t i, bool at_hi) {
  switch (place_[i]) {
  case Place::outside:
    side_[i] = at_hi ? -1 : 1;
    beta_[i] = 0;
    break;
  case Place::above:
    side_[i] = 1;
    beta_[i] = upper_scale_[i] * weight(i);
    break;
  case Place::below:
    side_[i] = -1;
    beta_[i] = lower_scale_[i] * weight(i);
    break;
  default: // driven
    beta_[i] = driven_beta(i);
    break;
  }
  const double change = set_rate(i, 0);
  residuals_.e[i] = margin_of(i);
  residuals_.rate[i] = 0;
  set_place(i, Place::margin);
  return insert(i, !at_hi, change);
}

/// `change`: of the rate of instance i, not in what the factor carries yet.
PathStatus PathWalker::insert(std::size_t i, bool goes_up, double change) {
  while (true) {
    KernelRow pin = kernel_.row(i);
    const double* row = static_cast<const double*>(pin.data);
    const double pivot = margin_.try_insert(i, row);
    if (pivot > least_pivot) {
      if (margin_.is_carried && change != 0) {
        margin_.factor.add_tried(-change, margin_.carried_shift(i, change));
        margin_.carried_total -= model_.has_equality ? change : 0.0;
      }
      margin_.factor.insert_tried(-rates_.h[i] - residuals_.give_back[i] -
                                  margin_.origin[i] * margin_.carried_total);
      margin_.append(i, std::move(pin));
      ++counts_.n_updates;
      return PathStatus::arrived;
    }
    if (pivot < negative_pivot || !is_null_balanced(margin_.block_value(row, i, i)))
      return PathStatus::not_definite;
    if (!exchange(i, row, goes_up)) {
      margin_.is_carried = false;
      return PathStatus::arrived;
    }
  }
}

/// Whether the null vector of the instance just tried sums to 0, as it does where the kernel is
/// positive semi-definite: of K + sigma 11', which is factored, K is then 0 there too.
bool PathWalker::is_null_balanced(double own) const {
  if (!model_.has_equality)
    return true;
  std::vector<double> z(margin_.members.size());
  margin_.factor.null_direction(z);
  double sum = 1, size = 1;
  for (const double value : z) {
    sum += value;
    size += std::abs(value);
  }
  return std::abs(sum) <= null_share * size || -margin_.sigma * sum * sum >= negative_pivot * own;
}

/// Moves instance i and the margin set along the null vector, at fixed tau, until a member meets a
/// bound and leaves (true: i may be tried again) or i meets one itself.
bool PathWalker::exchange(std::size_t i, const double* row, bool goes_up) {
  residuals_.settle();
  const std::size_t m = margin_.members.size();
  std::vector<double> z(m);
  margin_.factor.null_direction(z);
  const double sign = goes_up ? 1.0 : -1.0;
  double largest = 1;
  for (double& value : z) {
    value *= sign;
    largest = std::max(largest, std::abs(value));
  }
  const Bounds own = bounds_of(i, side_[i]);
  double step = std::max(goes_up ? own.upper - beta_[i] : beta_[i] - own.lower, 0.0);
  std::size_t blocking = m;
  for (std::size_t k = 0; k < m; ++k) {
    if (std::abs(z[k]) <= null_noise * largest)
      continue;
    const Bounds b = bounds_of(margin_.members[k], side_[margin_.members[k]]);
    const double beta = beta_[margin_.members[k]];
    const double room = std::max(z[k] > 0 ? b.upper - beta : beta - b.lower, 0.0);
    if (room < step * std::abs(z[k])) {
      step = room / std::abs(z[k]);
      blocking = k;
    }
  }
  ++counts_.n_exchanges;
  if (step > 0) {
    for (std::size_t k = 0; k < m; ++k) {
      z[k] *= step;
      beta_[margin_.members[k]] += z[k];
      moved_ += std::abs(z[k]) * scale_;
    }
    beta_[i] += sign * step;
    moved_ += step * scale_;
    for (std::size_t at = 0; at < m; at += simd::max_rows_at_once)
      add_rows<double>(margin_.pointers.data() + at, z.data() + at,
                       std::min(simd::max_rows_at_once, m - at), residuals_.n_followed,
                       residuals_.e.data());
    const double own_step = sign * step;
    add_rows<double>(&row, &own_step, 1, residuals_.n_followed, residuals_.e.data());
    if (model_.has_equality)
      recentre_bias();
  }
  if (blocking < m) {
    leave(blocking, z[blocking] > 0);
    return true;
  }
  settle_at_bound(i, goes_up);
  return false;
}

/// The null vector moves all residuals by one number; the bias takes it back.
void PathWalker::recentre_bias() {
  if (margin_.members.empty())
    return;
  double shift = 0, n_seen = 0;
  for (const std::uint32_t k : margin_.members)
    if (k < residuals_.n_followed) {
      shift += margin_of(k) - residuals_.e[k];
      ++n_seen;
    }
  if (n_seen == 0) {
    near_.is_lost = true;
    return;
  }
  shift /= n_seen;
  bias_ += shift;
  for (std::size_t k = 0; k < residuals_.n_followed; ++k)
    residuals_.e[k] += shift;
}

/// beta_i exactly on a bound, its residual exactly on the margin, and no longer a member.
void PathWalker::settle_at_bound(std::size_t i, bool at_upper) {
  const Bounds b = bounds_of(i, side_[i]);
  beta_[i] = at_upper ? b.upper : b.lower;
  residuals_.e[i] = margin_of(i);
  residuals_.rate[i] = 0;
  const bool at_zero = !is_one_piece(i) && at_upper == (side_[i] < 0);
  set_place(i, at_zero ? Place::outside : at_upper ? Place::above : Place::below);
  set_rate(i, rate_at_bound(i, at_upper));
}

double PathWalker::rate_at_bound(std::size_t i, bool at_upper) const {
  const Bounds b = bounds_of(i, side_[i]);
  return at_upper ? b.upper_rate : b.lower_rate;
}

void PathWalker::take_out(std::size_t position) {
  margin_.take_out(position);
  ++counts_.n_updates;
}

void PathWalker::leave(std::size_t position, bool at_upper) {
  const std::size_t i = follow(margin_.members[position]);
  const double rate = rate_at_bound(i, at_upper);
  if (margin_.is_carried && rate != 0) {
    margin_.factor.add_column(position, -rate, margin_.carried_shift(i, rate));
    margin_.carried_total -= model_.has_equality ? rate : 0.0;
  }
  take_out(position);
  settle_at_bound(i, at_upper);
}

/// With no margin member and a sum to keep, the bias moves at fixed tau until somebody meets the
/// margin who can balance the bounded rates: upwards where these raise the sum (equation 3.14, with
/// argmin over U and argmax over L). False where there is nobody.
bool PathWalker::jump_bias(PathStatus& status) {
  residuals_.settle();
  const double excess = sum_of_rates() - sum_return_;
  const bool is_balanced = std::abs(excess) <= relative_noise * rates_.size;
  double up = infinity, down = infinity;
  std::size_t at_up = 0, at_down = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    if (residuals_.hi[i] - residuals_.e[i] < up) {
      up = residuals_.hi[i] - residuals_.e[i];
      at_up = i;
    }
    if (residuals_.e[i] - residuals_.lo[i] < down) {
      down = residuals_.e[i] - residuals_.lo[i];
      at_down = i;
    }
  }
  const bool goes_up = is_balanced ? up < down : excess > 0;
  const double room = goes_up ? up : down;
  if (room == infinity)
    return is_balanced; // nobody ever: the bias may stay where it is
  const double step = goes_up ? std::max(room, 0.0) : -std::max(room, 0.0);
  bias_ += step;
  for (double& e : residuals_.e)
    e += step;
  ++counts_.n_jumps;
  status = enter(goes_up ? at_up : at_down, goes_up);
  return true;
}

/// Breaks ties: members on a bound leave, and everybody at an end of its interval gets a random
/// slack through the targets, which return to the true ones by the end of the walk.
void PathWalker::ramp() {
  residuals_.settle();
  ++counts_.n_ramps;
  n_idle_ = 0;
  for (std::size_t k = margin_.members.size(); k-- > 0;) {
    const Bounds b = bounds_of(margin_.members[k], side_[margin_.members[k]]);
    const double beta = beta_[margin_.members[k]];
    if (beta <= b.lower || beta >= b.upper)
      leave(k, beta >= b.upper);
  }
  const double slack = ramp_slack * target_scale_;
  const double time_left = walk_end_ - tau_;
  for (std::size_t i = 0; i < n_; ++i) {
    double shift = 0;
    if (residuals_.e[i] - residuals_.lo[i] < slack)
      shift = (1 + random()) * slack;
    if (residuals_.hi[i] - residuals_.e[i] < slack)
      shift = shift > 0 ? 0 : -(1 + random()) * slack;
    residuals_.e[i] += shift;
    residuals_.give_back[i] -= shift / time_left;
  }
  has_return_ = true;
  margin_.is_carried = false;
}

/// The end of a walk: what was driven is there, and what has no weight left is absent.
void PathWalker::arrive() {
  std::fill(residuals_.give_back.begin(), residuals_.give_back.end(), 0.0);
  has_return_ = margin_.is_carried = false;
  sum_return_ = 0;
  if (many_driven * driven_.size() > n_)
    rates_.keep();
  std::erase_if(driven_, [&](std::size_t i) { return place_[i] != Place::driven; });
  set_rates(driven_, std::vector<double>(driven_.size(), 0.0));
  for (const std::size_t i : driven_) {
    beta_[i] = drive_end_[i];
    if (drive_end_[i] == 0)
      set_place(i, Place::absent);
    else
      set_place(i, side_[i] > 0 ? Place::above : Place::below);
  }
  driven_.clear();
  for (std::size_t k = margin_.members.size(); k-- > 0;)
    if (!(weight(margin_.members[k]) > 0))
      leave(k, true);
  for (std::size_t i = 0; i < n_; ++i)
    if (place_[i] != Place::absent && !(weight(i) > 0)) {
      set_rate(i, 0);
      beta_[i] = 0;
      set_place(i, Place::absent);
    }
  measure_scales();
}

} // namespace alphapath
