// Plain loops with the signatures of BLAS and LAPACK, so that the core can be tested without
// either. Column-major, as Fortran has it; errors in arguments are not looked for.
#pragma once

#include "base/blas.hpp"

#include <cmath>
#include <cstddef>

namespace alphapath::test {

/// A matrix element under op(): element (i, j) of A or of its transpose.
struct Operand {
  const double* data;
  std::ptrdiff_t ld;
  bool is_transposed;

  double operator()(int i, int j) const {
    return is_transposed ? data[j + i * ld] : data[i + j * ld];
  }
};

inline bool is_letter(const char* flag, char letter) {
  return *flag == letter || *flag == letter - 'A' + 'a';
}

inline bool is_transposed(const char* flag) {
  return !is_letter(flag, 'N');
}

/// C = alpha op(A) op(A)' + beta C on one triangle; C is not read where beta is 0.
inline void naive_syrk(const char* uplo, const char* trans, const int* n, const int* k,
                       const double* alpha, const double* a, const int* lda, const double* beta,
                       double* c, const int* ldc) {
  const Operand left{a, *lda, is_transposed(trans)};
  for (int j = 0; j < *n; ++j) {
    const int first = is_letter(uplo, 'U') ? 0 : j;
    const int last = is_letter(uplo, 'U') ? j : *n - 1;
    for (int i = first; i <= last; ++i) {
      double sum = 0;
      for (int l = 0; l < *k; ++l)
        sum += left(i, l) * left(j, l);
      double& out = c[i + static_cast<std::ptrdiff_t>(j) * *ldc];
      out = *beta == 0.0 ? *alpha * sum : *alpha * sum + *beta * out;
    }
  }
}

/// x := op(A)^-1 x, items of x `step` apart. op(A) is lower triangular where one of "A is lower"
/// and "A is transposed" holds.
inline void naive_triangular_solve(const Operand& a, bool is_lower, bool has_unit_diagonal, int n,
                                   double* x, std::ptrdiff_t step) {
  for (int s = 0; s < n; ++s) {
    const int i = is_lower ? s : n - 1 - s;
    double value = x[i * step];
    for (int t = 0; t < s; ++t) {
      const int j = is_lower ? t : n - 1 - t;
      value -= a(i, j) * x[j * step];
    }
    x[i * step] = has_unit_diagonal ? value : value / a(i, i);
  }
}

/// C = alpha op(A) op(B) + beta C, column-major.
inline void naive_gemm(const char* trans_a, const char* trans_b, const int* m, const int* n,
                       const int* k, const double* alpha, const double* a, const int* lda,
                       const double* b, const int* ldb, const double* beta, double* c,
                       const int* ldc) {
  const Operand left{a, *lda, is_transposed(trans_a)}, right{b, *ldb, is_transposed(trans_b)};
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int l = 0; l < *k; ++l)
        sum += left(i, l) * right(l, j);
      double& out = c[i + static_cast<std::ptrdiff_t>(j) * *ldc];
      out = *beta == 0.0 ? *alpha * sum : *alpha * sum + *beta * out;
    }
}

inline void naive_trsv(const char* uplo, const char* trans, const char* diag, const int* n,
                       const double* a, const int* lda, double* x, const int* incx) {
  const Operand matrix{a, *lda, is_transposed(trans)};
  const bool is_lower = is_letter(uplo, 'L') != is_transposed(trans);
  double* first = *incx >= 0 ? x : x - static_cast<std::ptrdiff_t>(*n - 1) * *incx;
  naive_triangular_solve(matrix, is_lower, is_letter(diag, 'U'), *n, first, *incx);
}

/// B := alpha op(A)^-1 B, or alpha B op(A)^-1 where side is R (its rows solve with op(A)').
inline void naive_trsm(const char* side, const char* uplo, const char* transa, const char* diag,
                       const int* m, const int* n, const double* alpha, const double* a,
                       const int* lda, double* b, const int* ldb) {
  const bool is_left = is_letter(side, 'L');
  const bool solves_transposed = is_transposed(transa) == is_left;
  const Operand matrix{a, *lda, solves_transposed};
  const bool is_lower = is_letter(uplo, 'L') != solves_transposed;
  const int size = is_left ? *m : *n;
  const int count = is_left ? *n : *m;
  const std::ptrdiff_t ld = *ldb;
  for (int c = 0; c < count; ++c) {
    double* x = is_left ? b + c * ld : b + c;
    const std::ptrdiff_t step = is_left ? 1 : ld;
    for (int i = 0; i < size; ++i)
      x[i * step] *= *alpha;
    naive_triangular_solve(matrix, is_lower, is_letter(diag, 'U'), size, x, step);
  }
}

/// A = U'U or L L' on one triangle; info = order of the first minor that is not positive.
inline void naive_potrf(const char* uplo, const int* n, double* a, const int* lda, int* info) {
  const bool is_upper = is_letter(uplo, 'U');
  const std::ptrdiff_t ld = *lda;
  // Element (i, j), j <= i, of the lower factor; the upper one is its transpose.
  const auto at = [&](int i, int j) -> double& { return is_upper ? a[j + i * ld] : a[i + j * ld]; };
  *info = 0;
  for (int j = 0; j < *n; ++j) {
    double pivot = at(j, j);
    for (int k = 0; k < j; ++k)
      pivot -= at(j, k) * at(j, k);
    if (!(pivot > 0)) {
      *info = j + 1;
      return;
    }
    at(j, j) = std::sqrt(pivot);
    for (int i = j + 1; i < *n; ++i) {
      double sum = at(i, j);
      for (int k = 0; k < j; ++k)
        sum -= at(i, k) * at(j, k);
      at(i, j) = sum / at(j, j);
    }
  }
}

inline void use_naive_blas() {
  Blas& b = blas();
  b.dsyrk = naive_syrk;
  b.dtrsm = naive_trsm;
  b.dgemm = naive_gemm;
  b.dtrsv = naive_trsv;
  b.dpotrf = naive_potrf;
}

} // namespace alphapath::test
