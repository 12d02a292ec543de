// Everybody else along a recorded part of a walk.
//
// A recorded path must be optimal at every breakpoint, and a score needs every change of sign. So
// the residuals of all instances are computed at some points of the part, in one product, and
// between two of them bounded: with d the difference of the betas from their chord,
//   |e_i - chord of e_i| <= |x_i - x_r| sqrt(d'K d)   for any r that stays on the margin,
// and d'K d = sum_j d_j (e_j - chord of e_j) over the few j that came or went, because for all
// others one factor is 0. The few instances that this leaves open are computed at every point.

#include "path/followers.hpp"

#include "base/dispatch.hpp"
#include "path/local_walk.hpp"
#include "path/walker.hpp"
#include "simd/few_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace alphapath {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Pieces from one point at which all are computed to the next.
constexpr std::size_t pieces_between = 8;
// Members that distances are taken from.
constexpr std::size_t n_references = 16;
// What a residual may be outside of its interval, relative to the targets: less than is asked of a
// path, but no rounding where betas are small.
constexpr double most_outside = 1e-10;
// Relative rounding of a sum of a few products, generously.
constexpr double sum_noise = 1e-10;

constexpr std::uint32_t nobody = NearKernel::nobody;

} // namespace

double squared_sag(const PartMoves& moves, std::size_t a, std::size_t b, double floor) {
  double largest = 0;
  for (std::size_t k = a + 1; k < b; ++k) {
    const double share = (moves.time[k] - moves.time[a]) / (moves.time[b] - moves.time[a]);
    const auto sag = [&](const double* at, const double* first, const double* last, std::size_t u) {
      return at[u] - first[u] - share * (last[u] - first[u]);
    };
    double sum = 0, slack = 0;
    for (std::size_t u = 0; u < moves.n_changed; ++u) {
      const double d = sag(moves.by_at(k), moves.by_at(a), moves.by_at(b), u);
      const double e = sag(moves.e_at(k), moves.e_at(a), moves.e_at(b), u);
      sum += d * e;
      slack += std::abs(d) * (floor + sum_noise * std::abs(e));
    }
    largest = std::max(largest, sum + slack);
  }
  return largest;
}

/// Who moved on the part whose pieces and changes begin at `begin`; without its points.
void PathWalker::list_movers(const PieceCounts& begin, PartMoves& moves) const {
  moves.clear();
  std::vector<std::int8_t> is_listed(n_, 0);
  const auto list = [&](std::uint32_t i) {
    if (!std::exchange(is_listed[i], 1))
      moves.who.push_back(i);
  };
  for (std::size_t c = begin.n_changes; c < pieces_.change_instance.size(); ++c)
    list(pieces_.change_instance[c]);
  moves.n_changed = moves.who.size();
  for (std::uint32_t i = 0; i < n_; ++i) // in the order of memory
    if (place_[i] == Place::margin)
      list(i);
}

/// The points of a part.
void PathWalker::list_moves(const PathWalker& part, const PieceCounts& begin,
                            PartMoves& moves) const {
  list_movers(begin, moves);
  const std::size_t n_pieces = pieces_.tau.size() - begin.n_pieces, n_who = moves.who.size();
  std::vector<std::uint32_t> position(n_, nobody), slot(n_, nobody);
  std::vector<Place> place;
  for (const std::uint32_t i : moves.who) {
    position[i] = static_cast<std::uint32_t>(place.size());
    place.push_back(place_[i]);
  }
  const auto which = part.near_kernel_->which();
  for (std::uint32_t k = 0; k < which.size(); ++k)
    if (which[k] != nobody)
      slot[which[k]] = k;
  moves.by.assign((n_pieces + 1) * n_who, 0.0);
  std::size_t change = begin.n_changes;
  for (std::size_t k = 0; k <= n_pieces; ++k) {
    const std::size_t piece = begin.n_pieces + k;
    const bool is_end = k == n_pieces;
    const double tau = is_end ? part.tau_ : pieces_.tau[piece];
    moves.time.push_back(tau - tau_);
    moves.shift.push_back((is_end ? part.bias_ : pieces_.bias[piece]) - bias_);
    const auto set = [&](std::uint32_t i, double beta) {
      moves.by[k * n_who + position[i]] = beta - beta_[i] - (tau - tau_) * rate_[i];
    };
    for (; change < pieces_.change_piece.size() &&
           static_cast<std::size_t>(pieces_.change_piece[change]) <= piece;
         ++change)
      place[position[pieces_.change_instance[change]]] =
          static_cast<Place>(pieces_.change_place[change]);
    const double* e = is_end ? part.e_.data() : part.followed_e_.at(k);
    for (std::size_t u = 0; u < moves.n_changed; ++u) {
      const std::uint32_t i = moves.who[u];
      moves.e.push_back(e[slot[i]]);
      if (place[u] != place_[i] && place[u] != Place::margin) // else as before, or below
        set(i, bounded_beta(i, place[u], tau));
    }
    if (is_end) {
      for (const std::uint32_t m : part.members_)
        set(which[m], part.beta_[m]);
    } else {
      const auto [first, last] = pieces_.members_of(piece);
      for (std::size_t at = first; at < last; ++at)
        set(pieces_.members[at], pieces_.beta[at]);
    }
  }
}

/// out[k] = the residuals of all at points[k].
void PathWalker::multiply_moves(const PartMoves& moves, std::span<const std::size_t> points,
                                double* out) const {
  std::vector<KernelRow> pins;
  std::vector<const double*> rows;
  for (const std::uint32_t i : moves.who) {
    pins.push_back(kernel_.row(i));
    rows.push_back(static_cast<const double*>(pins.back().data));
  }
  std::vector<double> coefs;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const double time = moves.time[points[k]], shift = moves.shift[points[k]];
    double* e = out + k * width_;
    for (std::size_t i = 0; i < width_; ++i)
      e[i] = e_[i] + time * (h_[i] + return_[i]) + shift;
    coefs.insert(coefs.end(), moves.by_at(points[k]), moves.by_at(points[k]) + rows.size());
  }
  ALPHAPATH_DISPATCH(combine_few)
  ({rows.data(), rows.size(), width_}, coefs.data(), points.size(), out);
}

/// Where everybody who is not near has to stay, and how far from the margin set they are.
FarRows PathWalker::describe_far(const PartMoves& moves) const {
  FarRows far;
  far.rounding = rounding_floor();
  far.lo.resize(width_, -infinity);
  far.hi.resize(width_, infinity);
  if (scored_ && keeps_errors_)
    far.side = scored_->side;
  else
    far.side.resize(width_, 0.0);
  for (std::size_t i = 0; i < n_; ++i)
    set_far_interval(i, far);
  const auto diagonal = kernel_.diagonal();
  far.distance.assign(width_, infinity);
  far.copy.assign(n_, nobody);
  const std::size_t n_stayed = moves.who.size() - moves.n_changed;
  const std::size_t stride = std::max<std::size_t>(1, n_stayed / n_references);
  for (std::size_t u = moves.n_changed; u < moves.who.size(); u += stride) {
    const std::size_t r = moves.who[u];
    const KernelRow pin = kernel_.row(r);
    ALPHAPATH_DISPATCH(take_nearer)
    (diagonal[r], static_cast<const double*>(pin.data), width_, far.distance.data());
  }
  // Beyond the last instance, and where there is nothing between points, no distance counts.
  for (std::size_t i = 0; i < width_; ++i)
    far.distance[i] =
        i < n_ && n_stayed > 0
            ? std::sqrt(std::max(far.distance[i] + diagonal[i], 0.0) + sum_noise * scale_)
            : 0.0;
  return far;
}

void PathWalker::set_far_interval(std::size_t i, FarRows& far) const {
  far.lo[i] = is_near_[i] ? -infinity : lo_[i];
  far.hi[i] = is_near_[i] ? infinity : hi_[i];
  if (far.side[i] > 0)
    far.lo[i] = std::max(far.lo[i], -target_[i]);
  else if (far.side[i] < 0)
    far.hi[i] = std::min(far.hi[i], -target_[i]);
}

/// Instance i, whose residuals at the points from `a` on are e: near from now on where it left its
/// interval (then false), and `passages` gets the pieces on which a scored row changes its sign.
bool PathWalker::look_at_far(std::size_t i, std::size_t a, std::span<const double> e, double floor,
                             FarRows& far, Passages& passages) {
  double& side = far.side[i];
  if (side != 0) {
    for (std::size_t k = 0; k + 1 < e.size(); ++k) {
      const bool is_above = side > 0;
      const bool ends_above = e[k + 1] + target_[i] >= 0;
      if ((e[k] + target_[i] >= 0) != is_above || ends_above != is_above)
        passages[a + k].push_back({scored_->position[i], e[k], e[k + 1]});
      side = ends_above ? 1.0 : -1.0;
    }
    set_far_interval(i, far);
  }
  const auto [least, most] = std::minmax_element(e.begin(), e.end());
  if (is_near_[i] || (*least >= lo_[i] - floor && *most <= hi_[i] + floor))
    return true;
  is_near_[i] = 1;
  return false;
}

/// The kernel values of these instances with all that moved; most are asked for again and again.
std::vector<const double*> PathWalker::copy_rows(const PartMoves& moves,
                                                 std::span<const std::uint32_t> instances,
                                                 FarRows& far) {
  const std::size_t n_who = moves.who.size();
  std::vector<double>& values = scratch_.open_rows;
  for (const std::uint32_t i : instances) {
    if (far.copy[i] != nobody)
      continue;
    far.copy[i] = far.n_copied++;
    if (values.size() < far.n_copied * n_who)
      values.resize(2 * far.n_copied * n_who);
    const KernelRow pin = kernel_.row(i);
    const double* row = static_cast<const double*>(pin.data);
    prefetch_row(row, width_);
    ALPHAPATH_DISPATCH(pick)(row, moves.who.data(), n_who, values.data() + far.copy[i] * n_who);
  }
  std::vector<const double*> rows;
  for (const std::uint32_t i : instances)
    rows.push_back(values.data() + far.copy[i] * n_who);
  return rows;
}

/// Everybody between the points a and b, where residuals are e_a and e_b.
bool PathWalker::look_between(const PartMoves& moves, std::size_t a, std::size_t b,
                              const double* e_a, const double* e_b, FarRows& far,
                              Passages& passages) {
  const double floor = std::min(far.rounding, most_outside * target_scale_);
  const double sag = std::sqrt(squared_sag(moves, a, b, far.rounding)) * (1 + sum_noise);
  std::vector<std::uint32_t> open(width_);
  open.resize(ALPHAPATH_DISPATCH(find_open)(
      {e_a, e_b, far.lo.data(), far.hi.data(), far.distance.data(), sag, floor}, width_,
      open.data()));
  // Their residuals at the points between.
  const std::size_t n_who = moves.who.size(), n_points = b - a - 1;
  std::vector<double> sums(open.size() * n_points), e(b - a + 1);
  const auto rows = n_points > 0 ? copy_rows(moves, open, far) : std::vector<const double*>{};
  ALPHAPATH_DISPATCH(multiply_few)
  ({rows.data(), rows.size(), n_who}, moves.by_at(a + 1), n_points, sums.data());
  bool is_good = true;
  for (std::size_t k = 0; k < open.size(); ++k) {
    const std::size_t i = open[k];
    e.front() = e_a[i];
    e.back() = e_b[i];
    for (std::size_t p = 0; p < n_points; ++p)
      e[p + 1] = e_[i] + moves.time[a + 1 + p] * (h_[i] + return_[i]) + moves.shift[a + 1 + p] +
                 sums[p * open.size() + k];
    is_good &= look_at_far(i, a, e, floor, far, passages);
  }
  return is_good;
}

/// Whether nobody left its interval on a part that was recorded from `begin` on. If so, far_e_ are
/// the residuals at its end, and scores are summed along it.
bool PathWalker::follow_far(const PathWalker& part, const PieceCounts& begin) {
  PartMoves& moves = scratch_.moves;
  list_moves(part, begin, moves);
  const std::size_t last = moves.n_points() - 1;
  const bool needs_all = moves.n_changed == moves.who.size() || (scored_ && !keeps_errors_);
  std::vector<std::size_t> points;
  for (std::size_t k = 0; k < last; k += needs_all ? 1 : pieces_between)
    points.push_back(k);
  points.push_back(last);
  AlignedVector<double>& panel = scratch_.panel;
  panel.resize(points.size() * width_);
  std::copy(e_.begin(), e_.end(), panel.begin());
  multiply_moves(moves, std::span(points).subspan(1), panel.data() + width_);
  FarRows far = describe_far(moves);
  Passages passages(last);
  bool is_good = true;
  for (std::size_t k = 0; k + 1 < points.size(); ++k)
    is_good &= look_between(moves, points[k], points[k + 1], panel.data() + k * width_,
                            panel.data() + (k + 1) * width_, far, passages);
  if (!is_good)
    return false;
  far_e_.assign(panel.end() - static_cast<std::ptrdiff_t>(width_), panel.end());
  const std::size_t before = points[points.size() - 2];
  const double time = moves.time[last] - moves.time[before];
  for (std::size_t i = 0; i < width_; ++i)
    de_[i] = (far_e_[i] - panel[panel.size() - 2 * width_ + i]) / time;
  if (!scored_)
    return true;
  for (std::size_t k = 0; k < last; ++k) {
    const double start = tau_ + moves.time[k], end = tau_ + moves.time[k + 1];
    if (!keeps_errors_)
      score_chord(start, end, panel.data() + k * width_, panel.data() + (k + 1) * width_);
    else if (!passages[k].empty())
      scored_->sums.pass(start, end, passages[k]);
  }
  if (keeps_errors_)
    scored_->side = far.side;
  return true;
}

/// Scores where residuals go straight from one to the other.
void PathWalker::score_chord(double start, double end, const double* first, const double* last) {
  for (std::size_t k = 0; k < scored_->rows.size(); ++k) {
    const std::size_t i = scored_->rows[k];
    scored_->residual[k] = first[i];
    scored_->rate[k] = (last[i] - first[i]) / (end - start);
  }
  scored_->sums.add(start, end, scored_->residual.data(), scored_->rate.data());
}

} // namespace alphapath
