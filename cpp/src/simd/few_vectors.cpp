#include "simd/few_vectors.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t lanes = Vec<double>::width;
// Rows of a product in registers, and vectors: what is left of these goes together if it can.
constexpr std::size_t group = 4;
constexpr std::size_t max_together = 6;
// Values of a row at a time: those of a group stay in the first-level cache for all vectors.
constexpr std::size_t block = 1024;
// Vectors of one pass over the rows.
constexpr std::size_t max_vectors = 16;

/// sums[g * group + r] += rows[r]' vectors[g] over n values, n a multiple of the lanes.
template <std::size_t R, std::size_t G>
void add_products(const double* const* rows, const double* vectors, std::size_t ld, std::size_t n,
                  vdouble* sums) {
  vdouble sum[G][R];
  for (std::size_t g = 0; g < G; ++g)
    for (std::size_t r = 0; r < R; ++r)
      sum[g][r] = sums[g * group + r];
  for (std::size_t j = 0; j < n; j += lanes) {
    vdouble x[R];
    for (std::size_t r = 0; r < R; ++r)
      x[r] = load<vdouble>(rows[r] + j);
    for (std::size_t g = 0; g < G; ++g) {
      const vdouble v = load<vdouble>(vectors + g * ld + j);
      for (std::size_t r = 0; r < R; ++r)
        sum[g][r] += x[r] * v;
    }
  }
  for (std::size_t g = 0; g < G; ++g)
    for (std::size_t r = 0; r < R; ++r)
      sums[g * group + r] = sum[g][r];
}

/// out[g] += sum_r coefs[g * ld_coefs + r] rows[r] over n values.
template <std::size_t R, std::size_t G>
void add_sums(const double* const* rows, const double* coefs, std::size_t ld_coefs, std::size_t n,
              double* out, std::size_t ld) {
  double c[G][R];
  for (std::size_t g = 0; g < G; ++g)
    for (std::size_t r = 0; r < R; ++r)
      c[g][r] = coefs[g * ld_coefs + r];
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    vdouble x[R];
    for (std::size_t r = 0; r < R; ++r)
      x[r] = load<vdouble>(rows[r] + j);
    for (std::size_t g = 0; g < G; ++g) {
      vdouble sum = load<vdouble>(out + g * ld + j);
      for (std::size_t r = 0; r < R; ++r)
        sum += x[r] * c[g][r];
      store(out + g * ld + j, sum);
    }
  }
  for (; j < n; ++j)
    for (std::size_t g = 0; g < G; ++g)
      for (std::size_t r = 0; r < R; ++r)
        out[g * ld + j] += rows[r][j] * c[g][r];
}

/// Calls use.run<G>(first) for the vectors in groups.
template <class Use> void for_each_group(std::size_t n_vectors, Use use) {
  std::size_t first = 0;
  for (; first + max_together < n_vectors; first += group)
    use.template run<group>(first);
  switch (n_vectors - first) {
  case 6:
    return use.template run<6>(first);
  case 5:
    return use.template run<5>(first);
  case 4:
    return use.template run<4>(first);
  case 3:
    return use.template run<3>(first);
  case 2:
    return use.template run<2>(first);
  case 1:
    return use.template run<1>(first);
  default:
    return;
  }
}

template <std::size_t R> struct Multiply {
  const LongRows& x;
  const double* const* rows; // from value j on
  const double* vectors;
  std::size_t j, n;
  vdouble* sums;

  template <std::size_t G> void run(std::size_t first) const {
    add_products<R, G>(rows, vectors + first * x.length + j, x.length, n, sums + first * group);
  }
};

/// The products of R rows, from `at` on, with at most max_vectors vectors.
template <std::size_t R>
void multiply_rows(const LongRows& x, std::size_t at, const double* vectors, std::size_t n_vectors,
                   double* out) {
  vdouble sums[max_vectors * group] = {};
  const double* rows[R];
  const std::size_t whole = x.length / lanes * lanes;
  for (std::size_t j = 0; j < whole; j += block) {
    for (std::size_t r = 0; r < R; ++r)
      rows[r] = x.rows[at + r] + j;
    const std::size_t n = whole - j < block ? whole - j : block;
    for_each_group(n_vectors, Multiply<R>{x, rows, vectors, j, n, sums});
  }
  for (std::size_t a = 0; a < n_vectors; ++a)
    for (std::size_t r = 0; r < R; ++r) {
      double total = 0.0;
      for (std::size_t lane = 0; lane < lanes; ++lane)
        total += sums[a * group + r][lane];
      for (std::size_t j = whole; j < x.length; ++j)
        total += x.rows[at + r][j] * vectors[a * x.length + j];
      out[a * x.n_rows + at + r] = total;
    }
}

template <std::size_t R> struct Combine {
  const LongRows& x;
  const double* coefs;
  double* out;
  std::size_t at, j;

  template <std::size_t G> void run(std::size_t first) const {
    const std::size_t n = x.length - j < block ? x.length - j : block;
    const double* rows[R];
    for (std::size_t r = 0; r < R; ++r)
      rows[r] = x.rows[at + r] + j;
    add_sums<R, G>(rows, coefs + first * x.n_rows + at, x.n_rows, n, out + first * x.length + j,
                   x.length);
  }
};

} // namespace

void multiply_few(const LongRows& x, const double* vectors, std::size_t n_vectors, double* out) {
  for (std::size_t first = 0; first < n_vectors; first += max_vectors) {
    const std::size_t n = n_vectors - first < max_vectors ? n_vectors - first : max_vectors;
    const double* some = vectors + first * x.length;
    double* to = out + first * x.n_rows;
    std::size_t i = 0;
    for (; i + group <= x.n_rows; i += group)
      multiply_rows<group>(x, i, some, n, to);
    for (; i < x.n_rows; ++i)
      multiply_rows<1>(x, i, some, n, to);
  }
}

void combine_few(const LongRows& x, const double* coefs, std::size_t n_vectors, double* out) {
  for (std::size_t j = 0; j < x.length; j += block) {
    std::size_t i = 0;
    for (; i + group <= x.n_rows; i += group)
      for_each_group(n_vectors, Combine<group>{x, coefs, out, i, j});
    for (; i < x.n_rows; ++i)
      for_each_group(n_vectors, Combine<1>{x, coefs, out, i, j});
  }
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
