#include "simd/path_loops.hpp"

#include "simd/row_sums.hpp"
#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t lanes = Vec<double>::width;

// Rates computed before they are looked at: they are still in the nearest cache then.
constexpr std::size_t block_size = 512;

// What stands for no room at all: of several without room the fastest is then the first.
constexpr double no_room = 1e-200;
// Candidates side by side, which hide the latency of the blends.
constexpr std::size_t n_chains = 4;

double add_lanes(vdouble v) {
  double sum = 0;
  for (std::size_t l = 0; l < lanes; ++l)
    sum += v[l];
  return sum;
}

/// The least left / speed of a lane so far as a fraction, so that comparing takes no division.
struct RunningLeast {
  vdouble left = vdouble{} + __builtin_inf(), speed = vdouble{} + 1.0;
  vint64 at{};

  /// Looks at the elements from k on, one a lane.
  void look(const Intervals& all, const double* de, std::size_t k, double noise) {
    const vdouble rate = load<vdouble>(de + k), e = load<vdouble>(all.e + k);
    const vdouble room = rate > 0.0 ? load<vdouble>(all.hi + k) - e : e - load<vdouble>(all.lo + k);
    const vdouble own_speed = rate > 0.0 ? rate : -rate;
    const vdouble own_left = larger_of(room, vdouble{} + no_room);
    const vdouble counted = own_speed > noise ? own_left : vdouble{} + __builtin_inf();
    keep_earlier(counted, own_speed, vint64{} + static_cast<std::int64_t>(k));
  }

  void keep_earlier(vdouble own_left, vdouble own_speed, vint64 own_at) {
    const vint64 is_earlier = own_left * speed < left * own_speed;
    left = is_earlier ? own_left : left;
    speed = is_earlier ? own_speed : speed;
    at = is_earlier ? own_at : at;
  }
};

/// Looks at elements first to first + n (a multiple of 16).
void look(const Intervals& at, const double* de, std::size_t first, std::size_t n, double noise,
          RunningLeast (&all)[n_chains]) {
  RunningLeast least[n_chains]; // a copy, which stays in registers
  for (std::size_t u = 0; u < n_chains; ++u)
    least[u] = all[u];
  std::size_t i = first;
  for (; i + n_chains * lanes <= first + n; i += n_chains * lanes)
    for (std::size_t u = 0; u < n_chains; ++u)
      least[u].look(at, de, i + u * lanes, noise);
  for (; i < first + n; i += lanes)
    least[0].look(at, de, i, noise);
  for (std::size_t u = 0; u < n_chains; ++u)
    all[u] = least[u];
}

Crossing reduce_least(const RunningLeast (&least)[n_chains], double limit) {
  RunningLeast one = least[0];
  for (std::size_t u = 1; u < n_chains; ++u)
    one.keep_earlier(least[u].left, least[u].speed, least[u].at);
  Crossing found{limit, __builtin_inf(), 0};
  for (std::size_t l = 0; l < lanes; ++l) {
    const double step = one.left[l] / one.speed[l], speed = one.speed[l];
    const std::size_t k = static_cast<std::size_t>(one.at[l]) + l;
    const bool is_faster = speed > found.speed || (speed == found.speed && k < found.index);
    if (step < found.step || (step == found.step && is_faster))
      found = {step, speed, k};
  }
  return found;
}

/// From `first` on: e += step de, and then de is written from its terms, of the rows the first
/// `n_rows` only.
template <std::size_t n_rows>
void begin_rates(const RateTerms& terms, double step, double* e, std::size_t first,
                 std::size_t count, double* de) {
  const double* rows[n_rows + 1];
  double coef[n_rows + 1];
  __builtin_memcpy(rows, terms.rows, n_rows * sizeof(double*));
  __builtin_memcpy(coef, terms.coef, n_rows * sizeof(double));
  for (std::size_t i = first; i < first + count; i += lanes) {
    vdouble rate = load<vdouble>(terms.fixed + i) + terms.constant;
    if (terms.returned != nullptr)
      rate += load<vdouble>(terms.returned + i);
    for (std::size_t r = 0; r < n_rows; ++r)
      rate += coef[r] * load<vdouble>(rows[r] + i);
    store(e + i, load<vdouble>(e + i) + step * load<vdouble>(de + i));
    store(de + i, rate);
  }
}

using BeginRates = void (*)(const RateTerms&, double, double*, std::size_t, std::size_t, double*);
constexpr BeginRates begin_with[max_rows_at_once] = {begin_rates<0>, begin_rates<1>, begin_rates<2>,
                                                     begin_rates<3>, begin_rates<4>, begin_rates<5>,
                                                     begin_rates<6>, begin_rates<7>};
static_assert(max_rows_at_once == 8);

/// de[first ...] += the rest of the rows' part, a multiple of max_rows_at_once rows.
void add_block(const RateTerms& terms, std::size_t n_done, std::size_t first, std::size_t n,
               double* de) {
  for (std::size_t r = n_done; r < terms.n_rows; r += max_rows_at_once) {
    const double* rows[max_rows_at_once];
    for (std::size_t k = 0; k < max_rows_at_once; ++k)
      rows[k] = terms.rows[r + k] + first;
    add_rows_f64(rows, terms.coef + r, max_rows_at_once, n, de + first);
  }
}

} // namespace

Crossing first_crossing(const Intervals& at, const double* de, std::size_t n, double noise,
                        double limit) {
  RunningLeast least[n_chains];
  look(at, de, 0, n, noise, least);
  return reduce_least(least, limit);
}

Crossing sweep(const RateTerms& terms, double step, const Intervals& at, std::size_t n,
               double noise, double limit, double* de) {
  RunningLeast least[n_chains];
  const std::size_t n_begun = terms.n_rows % max_rows_at_once;
  for (std::size_t first = 0; first < n; first += block_size) {
    const std::size_t count = n - first < block_size ? n - first : block_size;
    begin_with[n_begun](terms, step, at.e, first, count, de);
    add_block(terms, n_begun, first, count, de);
    look(at, de, first, count, noise, least);
  }
  return reduce_least(least, limit);
}

bool keeps_sides(const double* residual, const double* rate, const double* target,
                 const double* side, std::size_t n, double length) {
  vdouble least = vdouble{} + 1.0;
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    const vdouble first = load<vdouble>(residual + j) + load<vdouble>(target + j);
    const vdouble last = first + length * load<vdouble>(rate + j);
    const vdouble own = load<vdouble>(side + j);
    least = smaller_of(smaller_of(own * first, own * last), least);
  }
  bool keeps = true;
  for (std::size_t l = 0; l < lanes; ++l)
    keeps &= least[l] >= 0;
  for (; j < n; ++j) {
    const double first = residual[j] + target[j], last = first + length * rate[j];
    keeps &= side[j] * first >= 0 && side[j] * last >= 0;
  }
  return keeps;
}

std::size_t find_open(const Chords& at, std::size_t n, std::uint32_t* out) {
  std::size_t n_open = 0;
  for (std::size_t i = 0; i < n; i += lanes) {
    const vdouble first = load<vdouble>(at.first + i), last = load<vdouble>(at.last + i);
    const vdouble above = load<vdouble>(at.hi + i) - larger_of(first, last);
    const vdouble below = smaller_of(first, last) - load<vdouble>(at.lo + i);
    const vdouble left =
        smaller_of(above, below) - (at.sag * load<vdouble>(at.distance + i) + at.floor);
    // Where sag * distance is not a number, nothing is known.
    const vint64 is_kept = left > 0.0;
    std::int64_t all = -1;
    for (std::size_t l = 0; l < lanes; ++l)
      all &= is_kept[l];
    if (all != 0)
      continue;
    for (std::size_t l = 0; l < lanes; ++l)
      if (is_kept[l] == 0)
        out[n_open++] = static_cast<std::uint32_t>(i + l);
  }
  return n_open;
}

void take_nearer(double own, const double* row, std::size_t n, double* nearest) {
  for (std::size_t i = 0; i < n; i += lanes)
    store(nearest + i, smaller_of(load<vdouble>(nearest + i), own - 2.0 * load<vdouble>(row + i)));
}

void pick(const double* values, const std::uint32_t* at, std::size_t n, double* out) {
  for (std::size_t k = 0; k < n; ++k)
    out[k] = values[at[k]];
}

void pick_eight(const double* const* rows, const std::uint32_t* at, std::size_t n, double* out,
                std::size_t ld) {
  const double* row[8];
  __builtin_memcpy(row, rows, sizeof row);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t r = 0; r < 8; ++r)
      out[k * ld + r] = row[r][at[k]];
}

void add_scaled(double a, const double* x, std::size_t n, double* y) {
  for (std::size_t i = 0; i < n; i += lanes)
    store(y + i, load<vdouble>(y + i) + a * load<vdouble>(x + i));
}

double sum_of(const double* x, std::size_t n) {
  vdouble sums[2] = {};
  for (std::size_t i = 0; i < n; i += 2 * lanes)
    for (std::size_t u = 0; u < 2; ++u)
      sums[u] += load<vdouble>(x + i + u * lanes);
  return add_lanes(sums[0] + sums[1]);
}

PickedSums sum_picked(const double* values, const std::uint32_t* at, const double* x,
                      std::size_t n) {
  vdouble products{}, sizes{};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    vdouble picked;
    for (std::size_t l = 0; l < lanes; ++l)
      picked[l] = values[at[i + l]];
    const vdouble own = load<vdouble>(x + i);
    products += picked * own;
    sizes += own > 0.0 ? own : -own;
  }
  PickedSums sums{add_lanes(products), add_lanes(sizes)};
  for (; i < n; ++i) {
    sums.product += values[at[i]] * x[i];
    sums.size += x[i] > 0 ? x[i] : -x[i];
  }
  return sums;
}

double largest_picked(const double* values, const std::uint32_t* at, std::size_t n) {
  vdouble largest{};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    vdouble picked;
    for (std::size_t l = 0; l < lanes; ++l)
      picked[l] = values[at[i + l]];
    largest = larger_of(larger_of(picked, -picked), largest);
  }
  double found = 0;
  for (std::size_t l = 0; l < lanes; ++l)
    found = larger_of(found, largest[l]);
  for (; i < n; ++i)
    found = larger_of(found, larger_of(values[at[i]], -values[at[i]]));
  return found;
}

double dot_twice(const double* x, const double* y, std::size_t n, double more) {
  // Sums side by side, which hide the latency of the additions.
  vdouble sums[2] = {}, lost[2] = {};
  sums[0][0] = more;
  for (std::size_t i = 0; i < n; i += 2 * lanes)
    for (std::size_t u = 0; u < 2; ++u) {
      const vdouble a = load<vdouble>(x + i + u * lanes), b = load<vdouble>(y + i + u * lanes);
      const vdouble product = a * b;
      vdouble rest;
      for (std::size_t l = 0; l < lanes; ++l)
        rest[l] = __builtin_fma(a[l], b[l], -product[l]);
      const vdouble next = sums[u] + product, back = next - sums[u];
      lost[u] += rest + ((sums[u] - (next - back)) + (product - back));
      sums[u] = next;
    }
  double total = 0, rest = 0;
  for (std::size_t u = 0; u < 2; ++u)
    for (std::size_t l = 0; l < lanes; ++l) {
      const double next = total + sums[u][l], back = next - total;
      rest += lost[u][l] + ((total - (next - back)) + (sums[u][l] - back));
      total = next;
    }
  return total + rest;
}

void move_up(double* first, std::size_t ld, std::size_t n_columns, std::size_t n) {
  for (std::size_t c = 0; c < n_columns; ++c) {
    double* column = first + c * ld;
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
      store(column + i, load<vdouble>(column + i + 1));
    for (; i < n; ++i)
      column[i] = column[i + 1];
  }
}

void rotate_into(double c, double s, const double* x, double* v, double* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const vdouble a = load<vdouble>(x + i), b = load<vdouble>(v + i);
    store(out + i, c * a + s * b);
    store(v + i, c * b - s * a);
  }
  for (; i < n; ++i) {
    const double a = x[i], b = v[i];
    out[i] = c * a + s * b;
    v[i] = c * b - s * a;
  }
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
