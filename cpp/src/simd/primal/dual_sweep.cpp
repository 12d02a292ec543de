#include "simd/primal/dual_sweep.hpp"

#include "simd/primal/row_products.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

// Many times the rounding of a few floats: all that is compared is rounded by it against the proof.
constexpr double outward = 1e-6;

/// Never less than the squared distance of theta from the reference. With (x + y)^2 at most
/// (1 + e) x^2 + (1 + 1 / e) y^2 no root is needed.
float distance_bound(const DualSweep& s) {
  const double square = s.distance_square > 0.0 ? s.distance_square : 0.0;
  return static_cast<float>((square + s.path_rounding * s.path) * (1.0 + 4.0 * outward) +
                            s.drift * s.drift / outward);
}

/// How far theta can go from the reference before row i might move, squared; -1 where it is inside
/// its box, or might move at once.
void set_reach(std::size_t i, double square, DualSweep& s) {
  const bool is_zero = s.alpha[i] == 0.0;
  s.reach[i] = -1.0f;
  if (!is_zero && !(s.has_top && s.alpha[i] == s.upper[i]))
    return;
  // At the top the ridge takes its whole width.
  const double edge = is_zero ? s.high : s.high - s.ridge;
  const double beyond = is_zero ? s.reference[i] - edge : edge - s.reference[i];
  const double way = beyond / __builtin_sqrt(square) - s.reference_rounding;
  if (way > 0.0)
    s.reach[i] = static_cast<float>(way * way * (1.0 - 4.0 * outward));
}

double square_of(std::size_t i, const DualSweep& s) {
  return s.norms[i] * s.norms[i] + s.bias_square;
}

/// alpha_i, whose margin was m, becomes `best`; theta follows.
template <class Rows> void move(const Rows& x, std::size_t i, double m, double best, DualSweep& s) {
  const double change = best - s.alpha[i];
  const double coef = s.labels[i] * change;
  const double square = square_of(i, s);
  add_row(x, i, coef, s.theta);
  *s.bias += coef * s.bias_square;
  s.alpha_sum += change;
  s.theta_square += change * (2.0 * m + change * square);
  if (s.ridge > 0.0)
    s.ridge_square += s.ridge / s.upper[i] * change * (s.alpha[i] + best);
  s.alpha[i] = best;
  ++s.n_moved;
  if (s.reference != nullptr) {
    s.distance_square += change * (2.0 * (m - s.reference[i]) + change * square);
    s.path += __builtin_fabs(change) * (s.norms[i] + s.bias_square); // at least its length
    s.drift += s.step_rounding;
    set_reach(i, square, s);
  }
}

/// alpha_i to its best; whether it moved or is inside its box.
template <class Rows> bool visit(const Rows& x, std::size_t i, DualSweep& s) {
  const double m = s.labels[i] * (dot(x, i, s.theta) + *s.bias);
  const double alpha = s.alpha[i], upper = s.upper[i];
  const double ridge = s.ridge > 0.0 ? s.ridge / upper : 0.0;
  const double slope = m - s.high + ridge * alpha;
  s.gap += row_gap(s, alpha, upper, m);
  ++s.n_visited;
  const double square = square_of(i, s);
  const double wanted = alpha - slope / (square + ridge); // an empty row: perhaps infinite
  const double best = wanted < 0.0 ? 0.0 : s.has_top && wanted > upper ? upper : wanted;
  if (best != alpha) {
    move(x, i, m, best, s);
    return true;
  }
  const bool is_inside = alpha > 0.0 && !(s.has_top && alpha == upper);
  const double aside = s.promise * s.promise * square;
  s.n_promising += static_cast<std::int64_t>(!is_inside && slope * slope > aside);
  return is_inside;
}

template <class Rows> void sweep_rows(const Rows& x, const RowList& rows, DualSweep& s) {
  constexpr std::size_t ahead = 3;
  float distance = distance_bound(s);
  for (std::size_t k = 0; k < rows.count; ++k) {
    const std::size_t i = row_at(rows, k);
    if (rows.list != nullptr && k + ahead < rows.count)
      fetch_row(x, row_at(rows, k + ahead));
    if ((s.reference != nullptr && s.reach[i] > distance) || s.upper[i] == 0.0)
      continue;
    const std::int64_t n_moved = s.n_moved;
    const bool is_kept = visit(x, i, s);
    if (s.n_moved != n_moved)
      distance = distance_bound(s);
    if (s.kept != nullptr && is_kept)
      s.kept[s.n_kept++] = static_cast<std::int32_t>(i);
  }
}

} // namespace

void sweep_dual_dense_f32(const DenseRows<float>& x, const RowList& rows, DualSweep& sweep) {
  sweep_rows(x, rows, sweep);
}
void sweep_dual_dense_f64(const DenseRows<double>& x, const RowList& rows, DualSweep& sweep) {
  sweep_rows(x, rows, sweep);
}
void sweep_dual_csr_f32(const CsrRows<float>& x, const RowList& rows, DualSweep& sweep) {
  sweep_rows(x, rows, sweep);
}
void sweep_dual_csr_f64(const CsrRows<double>& x, const RowList& rows, DualSweep& sweep) {
  sweep_rows(x, rows, sweep);
}

void set_reaches(DualSweep& sweep, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    set_reach(i, square_of(i, sweep), sweep);
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
