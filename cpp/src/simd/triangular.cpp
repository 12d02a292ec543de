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

/// sums[c] = L_c' x over `n` rows below a block, for its columns c.
void multiply_columns(const double* l, std::size_t ld, std::size_t n, const double* x,
                      double* sums) {
  vdouble partial[width] = {};
  for (std::size_t r = 0; r < n; r += lanes) {
    const vdouble own = load<vdouble>(x + r);
    for (std::size_t c = 0; c < width; ++c)
      partial[c] += own * load<vdouble>(l + c * ld + r);
  }
  for (std::size_t c = 0; c < width; ++c) {
    sums[c] = 0;
    for (std::size_t k = 0; k < lanes; ++k)
      sums[c] += partial[c][k];
  }
}

} // namespace

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

void solve_lower_transposed(const double* l, std::size_t ld, std::size_t n, double* x) {
  const std::size_t n_single = n % width;
  for (std::size_t start = n; start > n_single;) {
    start -= width;
    const double* block = l + start * ld + start;
    const Inverses inverses(block, ld);
    double* own = x + start;
    double sums[width];
    multiply_columns(block + width, ld, n - start - width, own + width, sums);
    for (std::size_t c = 0; c < width; ++c)
      own[c] -= sums[c];
    for (std::size_t c = width; c-- > 0;) {
      own[c] *= inverses.of[c];
      for (std::size_t k = 0; k < c; ++k)
        own[k] -= own[c] * block[k * ld + c];
    }
  }
  for (std::size_t c = n_single; c-- > 0;) {
    double sum = 0;
    for (std::size_t r = c + 1; r < n; ++r)
      sum += l[c * ld + r] * x[r];
    x[c] = (x[c] - sum) / l[c * ld + c];
  }
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
