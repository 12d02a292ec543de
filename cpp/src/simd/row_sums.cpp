#include "simd/row_sums.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

// Rows are padded with zeros to a multiple of 16, the output is not: its last vector goes
// through a copy.
template <std::size_t n_rows, class T>
void add_rows(const T* const* first_row, const double* first_coef, std::size_t n, double* out) {
  const T* rows[n_rows];
  double coef[n_rows];
  __builtin_memcpy(rows, first_row, sizeof rows);
  __builtin_memcpy(coef, first_coef, sizeof coef);
  constexpr std::size_t lanes = Vec<double>::width;
  typedef T vrow __attribute__((vector_size(lanes * sizeof(T))));
  const auto sum_at = [&](std::size_t j) {
    vdouble sum{};
    for (std::size_t r = 0; r < n_rows; ++r)
      sum += coef[r] * __builtin_convertvector(load<vrow>(rows[r] + j), vdouble);
    return sum;
  };
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes)
    store(out + j, load<vdouble>(out + j) + sum_at(j));
  if (j == n)
    return;
  double last[lanes] = {};
  __builtin_memcpy(last, out + j, (n - j) * sizeof(double));
  store(last, load<vdouble>(last) + sum_at(j));
  __builtin_memcpy(out + j, last, (n - j) * sizeof(double));
}

template <class T>
void add_rows_any(const T* const* rows, const double* coef, std::size_t n_rows, std::size_t n,
                  double* out) {
  if (n_rows == max_rows_at_once)
    return add_rows<max_rows_at_once>(rows, coef, n, out);
  if (n_rows >= 4) {
    add_rows<4>(rows, coef, n, out);
    n_rows -= 4, rows += 4, coef += 4;
  }
  if (n_rows >= 2) {
    add_rows<2>(rows, coef, n, out);
    n_rows -= 2, rows += 2, coef += 2;
  }
  if (n_rows == 1)
    add_rows<1>(rows, coef, n, out);
}

template <class T>
double dot_true(const T* row, const double* offsets, double own, const double* beta,
                std::size_t n) {
  constexpr std::size_t lanes = Vec<double>::width, n_sums = 16 / lanes;
  typedef T vrow __attribute__((vector_size(lanes * sizeof(T))));
  vdouble sums[n_sums] = {};
  for (std::size_t j = 0; j < n; j += 16)
    for (std::size_t s = 0; s < n_sums; ++s) {
      const std::size_t at = j + s * lanes;
      const vdouble value = __builtin_convertvector(load<vrow>(row + at), vdouble) +
                            (own + load<vdouble>(offsets + at));
      sums[s] += value * load<vdouble>(beta + at);
    }
  double total = 0;
  for (std::size_t s = 0; s < n_sums; ++s)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      total += sums[s][lane];
  return total;
}

} // namespace

double dot_true_f32(const float* row, const double* offsets, double own, const double* beta,
                    std::size_t n) {
  return dot_true(row, offsets, own, beta, n);
}

double dot_true_f64(const double* row, const double* offsets, double own, const double* beta,
                    std::size_t n) {
  return dot_true(row, offsets, own, beta, n);
}

void add_rows_f32(const float* const* rows, const double* coef, std::size_t n_rows, std::size_t n,
                  double* out) {
  add_rows_any(rows, coef, n_rows, n, out);
}

void add_rows_f64(const double* const* rows, const double* coef, std::size_t n_rows, std::size_t n,
                  double* out) {
  add_rows_any(rows, coef, n_rows, n, out);
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
