// Products with one row, dense or CSR, float or double; only for the files of cpp/src/simd.
#pragma once

#include "simd/primal/margin_loops.hpp"
#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

constexpr std::size_t lanes = Vec<double>::width;

inline std::size_t row_at(const RowList& rows, std::size_t k) {
  return rows.list != nullptr ? static_cast<std::size_t>(rows.list[k]) : rows.first + k;
}

inline double sum_of(vdouble v) {
  double sum = 0.0;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    sum += v[lane];
  return sum;
}

template <class T> vdouble load_as_double(const T* from) {
  typedef T vrow __attribute__((vector_size(lanes * sizeof(T))));
  return __builtin_convertvector(load<vrow>(from), vdouble);
}

template <class T> double dot(const DenseRows<T>& x, std::size_t row, const double* w) {
  const T* v = x.values + row * x.n_columns;
  vdouble even{}, odd{};
  std::size_t j = 0;
  for (; j + 2 * lanes <= x.n_columns; j += 2 * lanes) {
    even += load_as_double(v + j) * load<vdouble>(w + j);
    odd += load_as_double(v + j + lanes) * load<vdouble>(w + j + lanes);
  }
  double rest = 0.0;
  for (; j < x.n_columns; ++j)
    rest += v[j] * w[j];
  return sum_of(even + odd) + rest;
}

// Plain loads: on the processors tried, gathers and scatters are slower than these loops.
template <class T> double dot(const CsrRows<T>& x, std::size_t row, const double* w) {
  const std::size_t end = static_cast<std::size_t>(x.starts[row + 1]);
  std::size_t k = static_cast<std::size_t>(x.starts[row]);
  const T* v = x.values;
  const std::int32_t* c = x.columns;
  double sum[4] = {};
  for (; k + 4 <= end; k += 4) {
    sum[0] += v[k] * w[c[k]];
    sum[1] += v[k + 1] * w[c[k + 1]];
    sum[2] += v[k + 2] * w[c[k + 2]];
    sum[3] += v[k + 3] * w[c[k + 3]];
  }
  for (; k < end; ++k)
    sum[0] += v[k] * w[c[k]];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <class T> void add_row(const DenseRows<T>& x, std::size_t row, double coef, double* sum) {
  const T* v = x.values + row * x.n_columns;
  for (std::size_t j = 0; j < x.n_columns; ++j)
    sum[j] += coef * v[j];
}

template <class T> void add_row(const CsrRows<T>& x, std::size_t row, double coef, double* sum) {
  const std::size_t end = static_cast<std::size_t>(x.starts[row + 1]);
  for (std::size_t k = static_cast<std::size_t>(x.starts[row]); k < end; ++k)
    sum[x.columns[k]] += coef * x.values[k];
}

inline void fetch(const void* first, std::size_t n_bytes) {
  constexpr std::size_t line = 64;
  const char* p = static_cast<const char*>(first);
  for (std::size_t at = 0; at < n_bytes; at += line)
    __builtin_prefetch(p + at);
}

template <class T> void fetch_row(const DenseRows<T>& x, std::size_t row) {
  fetch(x.values + row * x.n_columns, x.n_columns * sizeof(T));
}

template <class T> void fetch_row(const CsrRows<T>& x, std::size_t row) {
  const std::size_t first = static_cast<std::size_t>(x.starts[row]);
  const std::size_t length = static_cast<std::size_t>(x.starts[row + 1]) - first;
  fetch(x.values + first, length * sizeof(T));
  fetch(x.columns + first, length * sizeof(std::int32_t));
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
