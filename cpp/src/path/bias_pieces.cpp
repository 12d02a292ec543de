// Into which pieces a step of a recorded walk is written.
//
// Where every member of the margin set sits on a bound, the bias is not unique. A fit takes the
// middle of what the instances allow (LIBSVM's rule), and so does a piece: the ends of that
// interval are envelopes of lines in tau, hence it is written in parts between their corners.

#include "base/dispatch.hpp"
#include "path/walker.hpp"
#include "problem/quality.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// One end of an interval from a time on: value + rate (s - time), until another line takes over.
struct End {
  double value, rate, until;
};

/// The upper envelope, at time s, of the lines start_i + s rate_i. `shortest`: no piece of it is
/// taken to be shorter, so that ties by rounding end.
End envelope_at(double s, const std::vector<double>& start, const std::vector<double>& rate,
                double shortest) {
  End end{-infinity, 0, infinity};
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double value = start[i] + s * rate[i];
    if (value > end.value || (value == end.value && rate[i] > end.rate))
      end = {value, rate[i], infinity};
  }
  if (end.value == -infinity)
    return end;
  for (std::size_t i = 0; i < start.size(); ++i)
    if (rate[i] > end.rate) {
      const double room = end.value - (start[i] + s * rate[i]);
      end.until = std::min(end.until, s + std::max(room / (rate[i] - end.rate), shortest));
    }
  return end;
}

} // namespace

bool PathWalker::are_members_bounded() const {
  // Hardly ever does a whole margin set move with its bounds: only then the betas are looked at.
  const auto rides = [this](std::size_t k, double rate) {
    return std::abs(direction_.beta[k] - rate) <= direction_.beta_noise;
  };
  for (std::size_t k = 0; k < margin_.members.size(); ++k) {
    const Bounds b = bounds_of(margin_.members[k], side_[margin_.members[k]]);
    if (!rides(k, b.upper_rate) && !rides(k, b.lower_rate))
      return false;
  }
  const BoxRounding rounding = rounding_of_betas();
  for (std::size_t k = 0; k < margin_.members.size(); ++k) {
    const std::size_t i = margin_.members[k];
    const Bounds b = bounds_of(i, side_[i]);
    const double beta = rounding.snap(boxed(i));
    if (!(beta == b.upper && rides(k, b.upper_rate)) &&
        !(beta == b.lower && rides(k, b.lower_rate)))
      return false;
  }
  return true;
}

/// The piece from here that `step` will end.
void PathWalker::write_piece(double step) {
  if (!recorder_.is_on() || is_paused_)
    return;
  if (!model_.has_equality || !are_members_bounded())
    return write_part(0, step, 0, 0);
  // The bias may be raised by s in [max(lo - e), min(hi - e)]; a member has the interval of its
  // bound.
  const BoxRounding rounding = rounding_of_betas();
  std::vector<double> low(n_), low_rate(n_), high(n_), high_rate(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    double lo = residuals_.lo[i], hi = residuals_.hi[i];
    if (place_[i] == Place::margin) {
      const double beta = rounding.snap(boxed(i));
      const bool may_rise = beta < upper_scale_[i] * weight(i);
      const bool may_fall = beta > lower_scale_[i] * weight(i);
      const double kink = beta > 0 ? -model_.epsilon : beta < 0 ? model_.epsilon : 0;
      lo = may_rise ? (kink == 0 ? -model_.epsilon : kink) : -infinity;
      hi = may_fall ? (kink == 0 ? model_.epsilon : kink) : infinity;
    }
    low[i] = lo - residuals_.e[i];
    low_rate[i] = -residuals_.rate[i];
    high[i] = residuals_.e[i] - hi; // minus the end, so that both are upper envelopes
    high_rate[i] = residuals_.rate[i];
  }
  const double shortest = 1e-12 * step;
  for (double at = 0; at < step;) {
    const End least = envelope_at(at, low, low_rate, shortest);
    const End most = envelope_at(at, high, high_rate, shortest);
    const double end = std::min({step, least.until, most.until});
    if (std::isinf(least.value) || std::isinf(most.value))
      write_part(at, end, 0, 0); // the bias of the walk is at the only end
    else
      write_part(at, end, (least.value - most.value) / 2, (least.rate - most.rate) / 2);
    at = end;
  }
}

/// From `at` to `end` of the step to come, with the bias moved by `shift` and its rate.
void PathWalker::write_part(double at, double end, double shift, double shift_rate) {
  const auto [members, beta] =
      recorder_.write_piece(tau_ + at, bias_ + at * direction_.bias + shift,
                            direction_.bias + shift_rate, direction_.beta);
  std::copy(margin_.members.begin(), margin_.members.end(), members);
  if (near_.kernel != nullptr) {
    for (std::size_t k = 0; k < margin_.members.size(); ++k)
      members[k] = near_.kernel->which()[members[k]];
    near_.followed.add(residuals_.e.data(), residuals_.n_followed);
  }
  for (std::size_t k = 0; k < margin_.members.size(); ++k)
    beta[k] = beta_[margin_.members[k]] + at * direction_.beta[k];
  if (recorder_.has_scores())
    recorder_.write_scores({tau_, at, end, shift, shift_rate},
                           {residuals_.e, residuals_.rate, target_});
}

} // namespace alphapath
