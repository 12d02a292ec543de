#include "simd/triangular.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t lanes = Vec<double>::width;
// Columns that are taken together, from the first on: where columns begin on lines of the cache, so
// do the rows below a block. The last n % width go singly.
constexpr std::size_t width = 8;

/// A block on the diagonal, its columns (or rows) divided by their diagonal elements beforehand: a
/// step of the chain that a solve is then takes one multiplication with addition.
struct DiagonalBlock {
  double inverse[width];
  double scaled[width][width]; // L_rc / L_cc at [c][r]; of the transposed L_ck / L_cc at [c][k]

  void invert(const double* block, std::size_t ld) {
    for (std::size_t c = 0; c < width; ++c)
      inverse[c] = 1 / block[c * ld + c];
  }
  void read(const double* block, std::size_t ld) {
    invert(block, ld);
    for (std::size_t c = 0; c < width; ++c)
      for (std::size_t r = 0; r < width; ++r)
        scaled[c][r] = block[c * ld + r] * inverse[c];
  }
  void read_transposed(const double* block, std::size_t ld) {
    invert(block, ld);
    for (std::size_t k = 0; k < width; ++k)
      for (std::size_t c = 0; c < width; ++c)
        scaled[c][k] = block[k * ld + c] * inverse[c];
  }

  /// x <- L^-1 x
  void solve(double* x) const {
    double v[width];
    __builtin_memcpy(v, x, sizeof v);
#pragma GCC unroll 8
    for (std::size_t c = 0; c < width; ++c)
#pragma GCC unroll 8
      for (std::size_t r = c + 1; r < width; ++r)
        v[r] -= v[c] * scaled[c][r];
    for (std::size_t c = 0; c < width; ++c)
      x[c] = v[c] * inverse[c];
  }
  /// x <- L'^-1 x
  void solve_transposed(double* x) const {
    double v[width];
    __builtin_memcpy(v, x, sizeof v);
#pragma GCC unroll 8
    for (std::size_t c = width; c-- > 1;)
#pragma GCC unroll 8
      for (std::size_t k = 0; k < c; ++k)
        v[k] -= v[c] * scaled[c][k];
    for (std::size_t c = 0; c < width; ++c)
      x[c] = v[c] * inverse[c];
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

/// The last `width` of n rows as vectors; with fewer of them left over than that, the others count
/// for nothing.
struct LastRows {
  static constexpr std::size_t n_parts = width / lanes;
  vdouble parts[n_parts] = {};

  /// parts += a * (the last rows of a column that ends at `end`)
  void add(double a, const double* end) {
    for (std::size_t k = 0; k < n_parts; ++k)
      parts[k] += a * load<vdouble>(end - width + k * lanes);
  }
  /// parts times the last rows of a column that ends at `end`, lane by lane.
  vdouble times(const double* end) const {
    vdouble sum = parts[0] * load<vdouble>(end - width);
    for (std::size_t k = 1; k < n_parts; ++k)
      sum += parts[k] * load<vdouble>(end - width + k * lanes);
    return sum;
  }
  double& row(std::size_t r) { return reinterpret_cast<double*>(parts)[r]; }
};

/// x_c -= L_c' y over `n` rows y below a block, for its columns c; and over the last rows, where
/// the first column ends at `end` (nullptr: without them).
inline void subtract_products(const double* l, std::size_t ld, std::size_t n, const double* y,
                              double* x, const LastRows& last, const double* end) {
  vdouble partial[width] = {};
  if (end != nullptr)
    for (std::size_t c = 0; c < width; ++c)
      partial[c] = last.times(end + c * ld);
  for (std::size_t r = 0; r < n; r += lanes) {
    const vdouble own = load<vdouble>(y + r);
    for (std::size_t c = 0; c < width; ++c)
      partial[c] += own * load<vdouble>(l + c * ld + r);
  }
  add_pairs<1>(partial);
  for (std::size_t c = 0; c < width; c += lanes)
    store(x + c, load<vdouble>(x + c) - partial[c / lanes]);
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
  const std::size_t n_left = n % width, whole = n - n_left;
  LastRows sums; // what the blocks take from the rows left over
  for (std::size_t start = 0; start < whole; start += width) {
    const double* block = l + start * ld + start;
    double* own = x + start;
    DiagonalBlock diagonal;
    diagonal.read(block, ld);
    diagonal.solve(own);
    subtract_columns(block + width, ld, whole - start - width, own, own + width);
    if (n_left > 0)
      for (std::size_t c = 0; c < width; ++c)
        sums.add(own[c], l + (start + c) * ld + n);
  }
  for (std::size_t r = whole; r < n; ++r)
    x[r] -= sums.row(r + width - n);
  for (std::size_t c = whole; c < n; ++c) {
    x[c] /= l[c * ld + c];
    for (std::size_t r = c + 1; r < n; ++r)
      x[r] -= x[c] * l[c * ld + r];
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
  const std::size_t n_left = n % width, whole = n - n_left;
  LastRows last;
  for (std::size_t c = n; c-- > whole;) {
    double sum = 0;
    for (std::size_t r = c + 1; r < n; ++r)
      sum += l[c * ld + r] * x[r];
    x[c] = (x[c] - sum) / l[c * ld + c];
    last.row(c + width - n) = x[c];
  }
  for (std::size_t start = whole; start > 0;) {
    start -= width;
    const double* block = l + start * ld + start;
    double* own = x + start;
    DiagonalBlock diagonal;
    diagonal.read_transposed(block, ld);
    // Beside the last block are values above the diagonal, which may be anything.
    const bool is_last = start + width == whole;
    if (is_last)
      for (std::size_t c = 0; c < width; ++c)
        for (std::size_t r = whole; r < n; ++r)
          own[c] -= l[(start + c) * ld + r] * x[r];
    subtract_products(block + width, ld, whole - start - width, own + width, own, last,
                      is_last || n_left == 0 ? nullptr : l + start * ld + n);
    diagonal.solve_transposed(own);
  }
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
