// The pieces of a recorded path.
//
// Where every member of the margin set sits on a bound, the bias is not unique. A fit takes the
// middle of what the instances allow (LIBSVM's rule), and so does a piece: the ends of that
// interval are envelopes of lines in tau, hence it is written in parts between their corners.

#include "dispatch.hpp"
#include "near_kernel.hpp"
#include "path_walker.hpp"

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
    return std::abs(dbeta_[k] - rate) <= beta_noise_;
  };
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const Bounds b = bounds_of(members_[k], side_[members_[k]]);
    if (!rides(k, b.upper_rate) && !rides(k, b.lower_rate))
      return false;
  }
  const BoxRounding rounding = rounding_of_betas();
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const std::size_t i = members_[k];
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
  if (!is_recording_ || is_paused_)
    return;
  if (!model_.has_equality || !are_members_bounded())
    return write_part(0, step, 0, 0);
  // The bias may be raised by s in [max(lo - e), min(hi - e)]; a member has the interval of its
  // bound.
  const BoxRounding rounding = rounding_of_betas();
  std::vector<double> low(n_), low_rate(n_), high(n_), high_rate(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    double lo = lo_[i], hi = hi_[i];
    if (place_[i] == Place::margin) {
      const double beta = rounding.snap(boxed(i));
      const bool may_rise = beta < upper_scale_[i] * weight(i);
      const bool may_fall = beta > lower_scale_[i] * weight(i);
      const double kink = beta > 0 ? -model_.epsilon : beta < 0 ? model_.epsilon : 0;
      lo = may_rise ? (kink == 0 ? -model_.epsilon : kink) : -infinity;
      hi = may_fall ? (kink == 0 ? model_.epsilon : kink) : infinity;
    }
    low[i] = lo - e_[i];
    low_rate[i] = -de_[i];
    high[i] = e_[i] - hi; // minus the end, so that both are upper envelopes
    high_rate[i] = de_[i];
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
  pieces_.tau.push_back(tau_ + at);
  pieces_.bias.push_back(bias_ + at * dbias_ + shift);
  pieces_.bias_rate.push_back(dbias_ + shift_rate);
  pieces_.first.push_back(static_cast<std::int64_t>(pieces_.members.size()));
  const std::size_t first = pieces_.beta.size();
  pieces_.reserve(first + members_.size());
  pieces_.members.insert(pieces_.members.end(), members_.begin(), members_.end());
  if (near_kernel_ != nullptr)
    for (auto i = pieces_.members.end() - static_cast<std::ptrdiff_t>(members_.size());
         i != pieces_.members.end(); ++i)
      *i = near_kernel_->which()[*i];
  pieces_.beta.resize(first + members_.size());
  for (std::size_t k = 0; k < members_.size(); ++k)
    pieces_.beta[first + k] = beta_[members_[k]] + at * dbeta_[k];
  if (keeps_pieces_)
    pieces_.beta_rate.insert(pieces_.beta_rate.end(), dbeta_.begin(), dbeta_.end());
  if (near_kernel_ != nullptr)
    followed_e_.add(e_.data(), followed_);
  if (scored_)
    write_scores(at, end, shift, shift_rate);
}

/// The scores of a part, but for errors where no sign changes, as on most.
void PathWalker::write_scores(double at, double end, double shift, double shift_rate) {
  Scored& scored = *scored_;
  if (at == 0 && shift == 0 && shift_rate == 0 && !scored.side.empty() &&
      ALPHAPATH_DISPATCH(keeps_sides)(e_.data(), de_.data(), target_.data(), scored.side.data(),
                                      width_, end))
    return;
  for (std::size_t k = 0; k < scored.rows.size(); ++k) {
    const std::size_t i = scored.rows[k];
    scored.residual[k] = e_[i] + at * de_[i] + shift;
    scored.rate[k] = de_[i] + shift_rate;
  }
  scored.sums.add(tau_ + at, tau_ + end, scored.residual.data(), scored.rate.data());
  if (!keeps_errors_)
    return;
  scored.side.resize(width_, 0.0);
  for (std::size_t k = 0; k < scored.rows.size(); ++k)
    scored.side[scored.rows[k]] = scored.sums.sides()[k];
}

} // namespace alphapath
