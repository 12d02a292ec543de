#include "simd/triangular.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t lanes = Vec<double>::width;
// Columns that are taken together. The first n % width go singly, so that below every block of
// them there is a multiple of `width` rows.
constexpr std::size_t width = 8;

/// 1 / L_cc of the columns of a block, before the chain of dependent steps needs them.
struct Inverses {
  double of[width];

  Inverses(const double* block, std::size_t ld) {
    for (std::size_t c = 0; c < width; ++c)
      of[c] = 1 / block[c * ld + c];
  }
};

/// x -= L_c * x_c on `n` rows below a block, for its columns c.
void subtract_columns(const double* l, std::size_t ld, std::size_t n, const double* own,
                      double* x) {
  for (std::size_t r = 0; r < n; r += lanes) {
    vdouble even = load<vdouble>(x + r), odd{};
    for (std::size_t c = 0; c < width; c += 2) {
      even -= own[c] * load<vdouble>(l + c * ld + r);
      odd -= own[c + 1] * load<vdouble>(l + (c + 1) * ld + r);
    }
    store(x + r, even + odd);
  }
}

/// Lane l of the result is lane l of a, or lane l - step of b, in turns of `step` lanes; `is_odd`:
/// the other lanes of both.
template <std::size_t step> inline vdouble interleave(vdouble a, vdouble b, bool is_odd) {
  vint64 from;
  for (std::size_t l = 0; l < lanes; ++l) {
    const bool is_b = (l / step) % 2 == 1;
    const std::size_t own = is_b ? l - step : l;
    from[l] = static_cast<std::int64_t>(own + (is_odd ? step : 0) + (is_b ? lanes : 0));
  }
  return __builtin_shuffle(a, b, from);
}

/// Halves the number of vectors: each of the new ones holds the sums of two neighbours.
template <std::size_t step> inline void add_pairs(vdouble (&v)[width]) {
  if constexpr (step < lanes) {
    for (std::size_t k = 0; k < width / (2 * step); ++k)
      v[k] = interleave<step>(v[2 * k], v[2 * k + 1], false) +
             interleave<step>(v[2 * k], v[2 * k + 1], true);
    add_pairs<2 * step>(v);
  }
}

/// x_c -= L_c' y over `n` rows y below a block, for its columns c.
inline void subtract_products(const double* l, std::size_t ld, std::size_t n, const double* y,
                              double* x) {
  vdouble partial[width] = {};
  for (std::size_t r = 0; r < n; r += lanes) {
    const vdouble own = load<vdouble>(y + r);
    for (std::size_t c = 0; c < width; ++c)
      partial[c] += own * load<vdouble>(l + c * ld + r);
  }
  add_pairs<1>(partial);
  for (std::size_t c = 0; c < width; c += lanes)
    store(x + c, load<vdouble>(x + c) - partial[c / lanes]);
}

/// The sum of l_r y_r over n rows, a multiple of `width`.
inline double multiply_column(const double* l, std::size_t n, const double* y) {
  vdouble sums{};
  for (std::size_t r = 0; r < n; r += lanes)
    sums += load<vdouble>(y + r) * load<vdouble>(l + r);
  double sum = 0;
  for (std::size_t k = 0; k < lanes; ++k)
    sum += sums[k];
  return sum;
}

/// One row of the right-hand sides that are solved for together.
struct Row {
  static constexpr std::size_t n_parts = right_sides / lanes;
  vdouble parts[n_parts];

  static Row read(const double* from) {
    Row row;
    for (std::size_t k = 0; k < n_parts; ++k)
      row.parts[k] = load<vdouble>(from + k * lanes);
    return row;
  }
  void write(double* to) const {
    for (std::size_t k = 0; k < n_parts; ++k)
      store(to + k * lanes, parts[k]);
  }
  void subtract(double a, const Row& other) {
    for (std::size_t k = 0; k < n_parts; ++k)
      parts[k] -= a * other.parts[k];
  }
  void scale(double a) {
    for (std::size_t k = 0; k < n_parts; ++k)
      parts[k] *= a;
  }
};

/// Solves for `count` rows of x and takes them out of the `n_below` rows below.
template <std::size_t count>
inline void solve_rows_together(const double* block, std::size_t ld, std::size_t n_below,
                                double* x) {
  Row own[count];
  for (std::size_t c = 0; c < count; ++c) {
    own[c] = Row::read(x + c * right_sides);
    for (std::size_t k = 0; k < c; ++k)
      own[c].subtract(block[k * ld + c], own[k]);
    own[c].scale(1 / block[c * ld + c]);
    own[c].write(x + c * right_sides);
  }
  const double* l = block + count;
  double* below = x + count * right_sides;
  for (std::size_t r = 0; r < n_below; ++r) {
    Row row = Row::read(below + r * right_sides);
    for (std::size_t c = 0; c < count; ++c)
      row.subtract(l[c * ld + r], own[c]);
    row.write(below + r * right_sides);
  }
}

/// `count` vectors of rows at a time, so that the chains of sums overlap.
template <std::size_t count>
inline void reflect_vectors(double u0, const double* u, double scale, double* x, double* v,
                            std::size_t ld, std::size_t n_v) {
  vdouble own[count], sums[count];
  for (std::size_t k = 0; k < count; ++k) {
    own[k] = load<vdouble>(x + k * lanes);
    sums[k] = u0 * own[k];
  }
  for (std::size_t c = 0; c < n_v; ++c)
    for (std::size_t k = 0; k < count; ++k)
      sums[k] += u[c] * load<vdouble>(v + c * ld + k * lanes);
  for (std::size_t k = 0; k < count; ++k) {
    sums[k] *= scale;
    store(x + k * lanes, own[k] - u0 * sums[k]);
  }
  for (std::size_t c = 0; c < n_v; ++c)
    for (std::size_t k = 0; k < count; ++k) {
      double* at = v + c * ld + k * lanes;
      store(at, load<vdouble>(at) - u[c] * sums[k]);
    }
}

} // namespace

void reflect_rows(double u0, const double* u, double scale, double* x, double* v, std::size_t ld,
                  std::size_t n_v, std::size_t n) {
  std::size_t r = 0;
  for (; r + 4 * lanes <= n; r += 4 * lanes)
    reflect_vectors<4>(u0, u, scale, x + r, v + r, ld, n_v);
  for (; r + lanes <= n; r += lanes)
    reflect_vectors<1>(u0, u, scale, x + r, v + r, ld, n_v);
  for (; r < n; ++r) {
    double sum = u0 * x[r];
    for (std::size_t c = 0; c < n_v; ++c)
      sum += u[c] * v[c * ld + r];
    sum *= scale;
    x[r] -= u0 * sum;
    for (std::size_t c = 0; c < n_v; ++c)
      v[c * ld + r] -= u[c] * sum;
  }
}

void solve_lower(const double* l, std::size_t ld, std::size_t n, double* x) {
  const std::size_t n_single = n % width;
  for (std::size_t c = 0; c < n_single; ++c) {
    x[c] /= l[c * ld + c];
    for (std::size_t r = c + 1; r < n; ++r)
      x[r] -= x[c] * l[c * ld + r];
  }
  for (std::size_t start = n_single; start < n; start += width) {
    const double* block = l + start * ld + start;
    const Inverses inverses(block, ld);
    double* own = x + start;
    for (std::size_t c = 0; c < width; ++c) {
      own[c] *= inverses.of[c];
      for (std::size_t r = c + 1; r < width; ++r)
        own[r] -= own[c] * block[c * ld + r];
    }
    subtract_columns(block + width, ld, n - start - width, own, own + width);
  }
}

void solve_lower_together(const double* l, std::size_t ld, std::size_t n, double* x) {
  std::size_t start = 0;
  for (; start + width <= n; start += width)
    solve_rows_together<width>(l + start * ld + start, ld, n - start - width,
                               x + start * right_sides);
  for (; start < n; ++start)
    solve_rows_together<1>(l + start * ld + start, ld, n - start - 1, x + start * right_sides);
}

void solve_lower_transposed(const double* l, std::size_t ld, std::size_t n, double* x) {
  const std::size_t n_single = n % width;
  for (std::size_t start = n; start > n_single;) {
    start -= width;
    const double* block = l + start * ld + start;
    const Inverses inverses(block, ld);
    double* own = x + start;
    subtract_products(block + width, ld, n - start - width, own + width, own);
    for (std::size_t c = width; c-- > 0;) {
      own[c] *= inverses.of[c];
      for (std::size_t k = 0; k < c; ++k)
        own[k] -= own[c] * block[k * ld + c];
    }
  }
  for (std::size_t c = n_single; c-- > 0;) {
    double sum = multiply_column(l + c * ld + n_single, n - n_single, x + n_single);
    for (std::size_t r = c + 1; r < n_single; ++r)
      sum += l[c * ld + r] * x[r];
    x[c] = (x[c] - sum) / l[c * ld + c];
  }
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
