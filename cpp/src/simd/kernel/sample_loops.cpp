#include "simd/kernel/sample_loops.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t lanes = Vec<double>::width;
constexpr double all_whole = 0x1p52; // from here on; and below, adding it rounds to a whole number

/// All bits set where x is not an integer; an infinity is taken for one, a NaN is none.
template <class V> inline auto is_broken(V x) {
  const V size = x < 0.0 ? -x : x;
  const V rounded = size + all_whole - all_whole;
  return (size < all_whole) & (rounded != size);
}

template <class V> inline V round_whole(V x) {
  constexpr double shift = 1.5 * all_whole;
  return x + shift - shift;
}

template <class V> double sum_of(V values) {
  double sum = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    sum += values[lane];
  return sum;
}

/// Of what `change` makes of the values from x[k] on.
template <class Change> double sum_squares(const double* x, std::size_t d, Change change) {
  vdouble squares[2] = {};
  std::size_t k = 0;
  for (; k + 2 * lanes <= d; k += 2 * lanes)
    for (std::size_t half = 0; half < 2; ++half) {
      const std::size_t at = k + half * lanes;
      const vdouble value = change(load<vdouble>(x + at), at);
      squares[half] += value * value;
    }
  double sum = sum_of(squares[0] + squares[1]);
  for (; k < d; ++k) {
    const double value = change(x[k], k);
    sum += value * value;
  }
  return sum;
}

} // namespace

RowFacts look_at_row(const double* x, std::size_t d, double* sums) {
  vdouble squares[2] = {};
  vdouble smallest = x[0] + vdouble{}, largest = smallest;
  vint64 n_nonzero = {}, broken = {};
  std::size_t k = 0;
  for (; k + 2 * lanes <= d; k += 2 * lanes)
    for (std::size_t half = 0; half < 2; ++half) {
      const std::size_t at = k + half * lanes;
      const vdouble values = load<vdouble>(x + at);
      squares[half] += values * values;
      n_nonzero -= values != 0.0; // true is -1
      broken |= is_broken(values);
      smallest = values < smallest ? values : smallest;
      largest = values > largest ? values : largest;
      store(sums + at, load<vdouble>(sums + at) + values);
    }
  RowFacts facts{sum_of(squares[0] + squares[1]), 0, true, x[0], x[0]};
  const auto widen = [&facts](double low, double high) {
    facts.smallest = low < facts.smallest ? low : facts.smallest;
    facts.largest = high > facts.largest ? high : facts.largest;
  };
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    facts.n_nonzero += static_cast<std::size_t>(n_nonzero[lane]);
    facts.is_integer &= broken[lane] == 0;
    widen(smallest[lane], largest[lane]);
  }
  for (; k < d; ++k) {
    facts.squared_norm += x[k] * x[k];
    facts.n_nonzero += x[k] != 0.0;
    facts.is_integer &= !is_broken(x[k]);
    widen(x[k], x[k]);
    sums[k] += x[k];
  }
  return facts;
}

std::uint64_t hash_row(const double* x, const std::uint64_t* multipliers, std::size_t d) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < d; ++k) {
    const double value = x[k] + 0.0; // -0 becomes 0
    std::uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof(bits));
    bits ^= bits >> 32;
    bits *= 0x9E3779B97F4A7C15u;
    bits ^= bits >> 29;
    sum += bits * multipliers[k];
  }
  return sum;
}

double round_to_grid(const double* x, std::size_t d, double step, double* out) {
  vdouble most = {};
  std::size_t k = 0;
  for (; k + lanes <= d; k += lanes) {
    const vdouble values = load<vdouble>(x + k);
    const vdouble whole = round_whole(values / step);
    const vdouble away = values - step * whole;
    const vdouble size = away < 0.0 ? -away : away;
    most = size > most ? size : most;
    store(out + k, whole);
  }
  double largest = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    largest = most[lane] > largest ? most[lane] : largest;
  for (; k < d; ++k) {
    out[k] = round_whole(x[k] / step);
    const double away = __builtin_fabs(x[k] - step * out[k]);
    largest = away > largest ? away : largest;
  }
  return largest;
}

void look_at_pairs(const double* a, const double* b, std::size_t n, PairFacts& facts) {
  vdouble low = facts.lowest + vdouble{}, high = facts.highest + vdouble{};
  vdouble gaps = facts.widest_gap + vdouble{}, zeros = {};
  const auto add = [&](vdouble x, vdouble y) {
    low = x < low ? x : low;
    low = y < low ? y : low;
    high = x > high ? x : high;
    high = y > high ? y : high;
    const vdouble gap = x > y ? x - y : y - x;
    gaps = gap > gaps ? gap : gaps;
    zeros += (x - x) + (y - y); // NaN for what is not finite
  };
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes)
    add(load<vdouble>(a + k), load<vdouble>(b + k));
  for (; k < n; ++k)
    add(a[k] + vdouble{}, b[k] + vdouble{});
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    facts.lowest = low[lane] < facts.lowest ? low[lane] : facts.lowest;
    facts.highest = high[lane] > facts.highest ? high[lane] : facts.highest;
    facts.widest_gap = gaps[lane] > facts.widest_gap ? gaps[lane] : facts.widest_gap;
    facts.is_finite &= zeros[lane] == 0;
  }
}

double squared_norm(const double* x, std::size_t d) {
  return sum_squares(x, d, [](auto value, std::size_t) { return value; });
}

double squared_distance(const double* x, const double* centre, std::size_t d) {
  return sum_squares(x, d, [centre](auto value, std::size_t k) {
    return value - load<decltype(value)>(centre + k);
  });
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
