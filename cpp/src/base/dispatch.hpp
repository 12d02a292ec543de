// The hot loops of the active instruction set, chosen by element type.
#pragma once

#include "base/isa.hpp"
#include "simd/kernel/kernel_functions.hpp"
#include "simd/kernel/transpose.hpp"
#include "simd/row_sums.hpp"

#include <type_traits>

namespace alphapath {

template <class P, class T> simd::ApplyKernel<P, T> apply_kernel() {
  if constexpr (std::is_same_v<P, float>)
    return ALPHAPATH_DISPATCH(apply_f32_f32);
  else if constexpr (std::is_same_v<T, float>)
    return ALPHAPATH_DISPATCH(apply_f64_f32);
  else
    return ALPHAPATH_DISPATCH(apply_f64_f64);
}

template <class T> void transpose(const simd::Block<const T>& from, T* to, std::size_t ld) {
  if constexpr (std::is_same_v<T, float>)
    ALPHAPATH_DISPATCH(transpose_f32)(from, to, ld);
  else
    ALPHAPATH_DISPATCH(transpose_f64)(from, to, ld);
}

template <class T>
void add_rows(const T* const* rows, const double* coef, std::size_t n_rows, std::size_t n,
              double* out) {
  if constexpr (std::is_same_v<T, float>)
    ALPHAPATH_DISPATCH(add_rows_f32)(rows, coef, n_rows, n, out);
  else
    ALPHAPATH_DISPATCH(add_rows_f64)(rows, coef, n_rows, n, out);
}

/// sum_j (row[j] + (own + offsets[j])) beta[j]; all arrays padded to n, a multiple of 16.
template <class T>
double dot_true(const T* row, const double* offsets, double own, const double* beta,
                std::size_t n) {
  if constexpr (std::is_same_v<T, float>)
    return ALPHAPATH_DISPATCH(dot_true_f32)(row, offsets, own, beta, n);
  else
    return ALPHAPATH_DISPATCH(dot_true_f64)(row, offsets, own, beta, n);
}

} // namespace alphapath
