#include "path/followers.hpp"

#include "base/dispatch.hpp"
#include "path/near_kernel.hpp"
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
void Followers::list_movers(const PieceCounts& begin, PartMoves& moves) const {
  moves.clear();
  std::vector<std::int8_t> is_listed(all_.n_, 0);
  const auto list = [&](std::uint32_t i) {
    if (!std::exchange(is_listed[i], 1))
      moves.who.push_back(i);
  };
  for (std::size_t c = begin.n_changes; c < all_.recorder_.pieces().change_instance.size(); ++c)
    list(all_.recorder_.pieces().change_instance[c]);
  moves.n_changed = moves.who.size();
  for (std::uint32_t i = 0; i < all_.n_; ++i) // in the order of memory
    if (all_.place_[i] == Place::margin)
      list(i);
}

/// The points of a part.
void Followers::list_moves(const PathWalker& part, const PieceCounts& begin,
                           PartMoves& moves) const {
  list_movers(begin, moves);
  const std::size_t n_pieces = all_.recorder_.pieces().tau.size() - begin.n_pieces,
                    n_who = moves.who.size();
  std::vector<std::uint32_t> position(all_.n_, nobody), slot(all_.n_, nobody);
  std::vector<Place> place;
  for (const std::uint32_t i : moves.who) {
    position[i] = static_cast<std::uint32_t>(place.size());
    place.push_back(all_.place_[i]);
  }
  const auto which = part.near_.kernel->which();
  for (std::uint32_t k = 0; k < which.size(); ++k)
    if (which[k] != nobody)
      slot[which[k]] = k;
  moves.by.assign((n_pieces + 1) * n_who, 0.0);
  std::size_t change = begin.n_changes;
  for (std::size_t k = 0; k <= n_pieces; ++k) {
    const std::size_t piece = begin.n_pieces + k;
    const bool is_end = k == n_pieces;
    const double tau = is_end ? part.tau_ : all_.recorder_.pieces().tau[piece];
    moves.time.push_back(tau - all_.tau_);
    moves.shift.push_back((is_end ? part.bias_ : all_.recorder_.pieces().bias[piece]) - all_.bias_);
    const auto set = [&](std::uint32_t i, double beta) {
      moves.by[k * n_who + position[i]] =
          beta - all_.beta_[i] - (tau - all_.tau_) * all_.rates_.rate[i];
    };
    for (; change < all_.recorder_.pieces().change_piece.size() &&
           static_cast<std::size_t>(all_.recorder_.pieces().change_piece[change]) <= piece;
         ++change)
      place[position[all_.recorder_.pieces().change_instance[change]]] =
          static_cast<Place>(all_.recorder_.pieces().change_place[change]);
    const double* e = is_end ? part.residuals_.e.data() : part.near_.followed.at(k);
    for (std::size_t u = 0; u < moves.n_changed; ++u) {
      const std::uint32_t i = moves.who[u];
      moves.e.push_back(e[slot[i]]);
      if (place[u] != all_.place_[i] && place[u] != Place::margin) // else as before, or below
        set(i, all_.bounded_beta(i, place[u], tau));
    }
    if (is_end) {
      for (const std::uint32_t m : part.margin_.members)
        set(which[m], part.beta_[m]);
    } else {
      const auto [first, last] = all_.recorder_.pieces().members_of(piece);
      for (std::size_t at = first; at < last; ++at)
        set(all_.recorder_.pieces().members[at], all_.recorder_.pieces().beta[at]);
    }
  }
}

/// out[k] = the residuals of all at points[k].
void Followers::multiply_moves(const PartMoves& moves, std::span<const std::size_t> points,
                               double* out) const {
  std::vector<KernelRow> pins;
  std::vector<const double*> rows;
  for (const std::uint32_t i : moves.who) {
    pins.push_back(all_.kernel_.row(i));
    rows.push_back(static_cast<const double*>(pins.back().data));
  }
  std::vector<double> coefs;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const double time = moves.time[points[k]], shift = moves.shift[points[k]];
    double* e = out + k * all_.width_;
    for (std::size_t i = 0; i < all_.width_; ++i)
      e[i] =
          all_.residuals_.e[i] + time * (all_.rates_.h[i] + all_.residuals_.give_back[i]) + shift;
    coefs.insert(coefs.end(), moves.by_at(points[k]), moves.by_at(points[k]) + rows.size());
  }
  ALPHAPATH_DISPATCH(combine_few)
  ({rows.data(), rows.size(), all_.width_}, coefs.data(), points.size(), out);
}

/// Where everybody who is not near has to stay, and how far from the margin set they are.
FarRows Followers::describe_far(const PartMoves& moves) const {
  FarRows far;
  far.rounding = all_.rounding_floor();
  far.lo.resize(all_.width_, -infinity);
  far.hi.resize(all_.width_, infinity);
  if (all_.recorder_.has_errors())
    far.side = all_.recorder_.scores().side;
  else
    far.side.resize(all_.width_, 0.0);
  for (std::size_t i = 0; i < all_.n_; ++i)
    set_far_interval(i, far);
  const auto diagonal = all_.kernel_.diagonal();
  far.distance.assign(all_.width_, infinity);
  far.copy.assign(all_.n_, nobody);
  const std::size_t n_stayed = moves.who.size() - moves.n_changed;
  const std::size_t stride = std::max<std::size_t>(1, n_stayed / n_references);
  for (std::size_t u = moves.n_changed; u < moves.who.size(); u += stride) {
    const std::size_t r = moves.who[u];
    const KernelRow pin = all_.kernel_.row(r);
    ALPHAPATH_DISPATCH(take_nearer)
    (diagonal[r], static_cast<const double*>(pin.data), all_.width_, far.distance.data());
  }
  // Beyond the last instance, and where there is nothing between points, no distance counts.
  for (std::size_t i = 0; i < all_.width_; ++i)
    far.distance[i] =
        i < all_.n_ && n_stayed > 0
            ? std::sqrt(std::max(far.distance[i] + diagonal[i], 0.0) + sum_noise * all_.scale_)
            : 0.0;
  return far;
}

void Followers::set_far_interval(std::size_t i, FarRows& far) const {
  far.lo[i] = is_near_[i] ? -infinity : all_.residuals_.lo[i];
  far.hi[i] = is_near_[i] ? infinity : all_.residuals_.hi[i];
  if (far.side[i] > 0)
    far.lo[i] = std::max(far.lo[i], -all_.target_[i]);
  else if (far.side[i] < 0)
    far.hi[i] = std::min(far.hi[i], -all_.target_[i]);
}

/// Instance i, whose residuals at the points from `a` on are e: near from now on where it left its
/// interval (then false), and `passages` gets the pieces on which a scored row changes its sign.
bool Followers::look_at_far(std::size_t i, std::size_t a, std::span<const double> e, double floor,
                            FarRows& far, Passages& passages) {
  double& side = far.side[i];
  if (side != 0) {
    for (std::size_t k = 0; k + 1 < e.size(); ++k) {
      const bool is_above = side > 0;
      const bool ends_above = e[k + 1] + all_.target_[i] >= 0;
      if ((e[k] + all_.target_[i] >= 0) != is_above || ends_above != is_above)
        passages[a + k].push_back({all_.recorder_.scores().position[i], e[k], e[k + 1]});
      side = ends_above ? 1.0 : -1.0;
    }
    set_far_interval(i, far);
  }
  const auto [least, most] = std::minmax_element(e.begin(), e.end());
  if (is_near_[i] ||
      (*least >= all_.residuals_.lo[i] - floor && *most <= all_.residuals_.hi[i] + floor))
    return true;
  is_near_[i] = 1;
  return false;
}

/// The kernel values of these instances with all that moved; most are asked for again and again.
std::vector<const double*> Followers::copy_rows(const PartMoves& moves,
                                                std::span<const std::uint32_t> instances,
                                                FarRows& far) {
  const std::size_t n_who = moves.who.size();
  std::vector<double>& values = memory_.open_rows;
  for (const std::uint32_t i : instances) {
    if (far.copy[i] != nobody)
      continue;
    far.copy[i] = far.n_copied++;
    if (values.size() < far.n_copied * n_who)
      values.resize(2 * far.n_copied * n_who);
    const KernelRow pin = all_.kernel_.row(i);
    const double* row = static_cast<const double*>(pin.data);
    prefetch_row(row, all_.width_);
    ALPHAPATH_DISPATCH(pick)(row, moves.who.data(), n_who, values.data() + far.copy[i] * n_who);
  }
  std::vector<const double*> rows;
  for (const std::uint32_t i : instances)
    rows.push_back(values.data() + far.copy[i] * n_who);
  return rows;
}

/// Everybody between the points a and b, where residuals are e_a and e_b.
bool Followers::look_between(const PartMoves& moves, std::size_t a, std::size_t b,
                             const double* e_a, const double* e_b, FarRows& far,
                             Passages& passages) {
  const double floor = std::min(far.rounding, most_outside * all_.target_scale_);
  const double sag = std::sqrt(squared_sag(moves, a, b, far.rounding)) * (1 + sum_noise);
  std::vector<std::uint32_t> open(all_.width_);
  open.resize(ALPHAPATH_DISPATCH(find_open)(
      {e_a, e_b, far.lo.data(), far.hi.data(), far.distance.data(), sag, floor}, all_.width_,
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
      e[p + 1] = all_.residuals_.e[i] +
                 moves.time[a + 1 + p] * (all_.rates_.h[i] + all_.residuals_.give_back[i]) +
                 moves.shift[a + 1 + p] + sums[p * open.size() + k];
    is_good &= look_at_far(i, a, e, floor, far, passages);
  }
  return is_good;
}

/// Whether nobody left its interval on a part that was recorded from `begin` on. If so, far_e are
/// the residuals at its end, and scores are summed along it.
bool Followers::follow(const PathWalker& part, const PieceCounts& begin,
                       AlignedVector<double>& far_e) {
  PartMoves& moves = memory_.moves;
  list_moves(part, begin, moves);
  const std::size_t last = moves.n_points() - 1;
  const bool needs_all = moves.n_changed == moves.who.size() || all_.recorder_.has_squares();
  std::vector<std::size_t> points;
  for (std::size_t k = 0; k < last; k += needs_all ? 1 : pieces_between)
    points.push_back(k);
  points.push_back(last);
  AlignedVector<double>& panel = memory_.panel;
  panel.resize(points.size() * all_.width_);
  std::copy(all_.residuals_.e.begin(), all_.residuals_.e.end(), panel.begin());
  multiply_moves(moves, std::span(points).subspan(1), panel.data() + all_.width_);
  FarRows far = describe_far(moves);
  Passages passages(last);
  bool is_good = true;
  for (std::size_t k = 0; k + 1 < points.size(); ++k)
    is_good &= look_between(moves, points[k], points[k + 1], panel.data() + k * all_.width_,
                            panel.data() + (k + 1) * all_.width_, far, passages);
  if (!is_good)
    return false;
  far_e.assign(panel.end() - static_cast<std::ptrdiff_t>(all_.width_), panel.end());
  const std::size_t before = points[points.size() - 2];
  const double time = moves.time[last] - moves.time[before];
  for (std::size_t i = 0; i < all_.width_; ++i)
    all_.residuals_.rate[i] = (far_e[i] - panel[panel.size() - 2 * all_.width_ + i]) / time;
  if (!all_.recorder_.has_scores())
    return true;
  for (std::size_t k = 0; k < last; ++k) {
    const double start = all_.tau_ + moves.time[k], end = all_.tau_ + moves.time[k + 1];
    if (all_.recorder_.has_squares())
      all_.recorder_.write_chord(start, end, panel.data() + k * all_.width_,
                                 panel.data() + (k + 1) * all_.width_);
    else if (!passages[k].empty())
      all_.recorder_.scores().sums.pass(start, end, passages[k]);
  }
  if (all_.recorder_.has_errors())
    all_.recorder_.scores().side = far.side;
  return true;
}

} // namespace alphapath
