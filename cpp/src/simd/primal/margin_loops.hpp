// Hot loops over the rows of a data matrix (dense or CSR, float or double) and over bounds on
// margins. Sums are in double.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

template <class T> struct DenseRows {
  const T* values;
  std::size_t n_columns;
};

/// Where the rows of a CSR matrix begin, in the width that the matrix has them in: a copy would be
/// a tenth of the data where rows are short. Always inlined, because these files are compiled for
/// several processors.
struct RowStarts {
  RowStarts(const std::int32_t* starts) : narrow(starts), wide(nullptr) {}
  RowStarts(const std::int64_t* starts) : narrow(nullptr), wide(starts) {}
  [[gnu::always_inline]] std::int64_t operator[](std::size_t i) const {
    return narrow != nullptr ? narrow[i] : wide[i];
  }

  const std::int32_t* narrow; // or null
  const std::int64_t* wide;
};

/// A number for each row, or one for all.
struct RowWeights {
  [[gnu::always_inline]] double operator[](std::size_t i) const { return values[i * stride]; }

  const double* values;
  std::size_t stride; // 0: the same for all
};

/// y_i in {-1, +1}.
struct RowSigns {
  [[gnu::always_inline]] double operator[](std::size_t i) const { return values[i]; }

  const std::int8_t* values;
};

/// Row i holds values[k] in columns[k] for starts[i] <= k < starts[i + 1], columns increasing.
template <class T> struct CsrRows {
  const T* values;
  const std::int32_t* columns;
  RowStarts starts;
};

/// `count` rows: those in `list`, or first, first + 1, ... where it is null.
struct RowList {
  const std::int32_t* list;
  std::size_t first;
  std::size_t count;
};

/// Of the clusters of rows, where there are any.
inline constexpr std::size_t n_centres = 16;

/// Row i is proven to stay in its segment while
///   reach[i] - |norm[i]| path
///     + sign(norm[i]) (bias + along[i] run + across[i] drift + moves[cluster[i]]) - slack > 0.
struct BoundScan {
  const float* reach;
  const float* norm;
  const float* along;
  const float* across;
  std::size_t n;
  float path;
  float run;
  float drift;
  float bias;
  float slack;
  const std::uint8_t* cluster; // null: there are none
  const float* moves;          // n_centres
};

#define ALPHAPATH_DECLARE_ROWS(name, Rows)                                                         \
  /* out[k] = x_{rows[k]}' w. */                                                                   \
  void dots_##name(const Rows& x, const RowList& rows, const double* w, double* out);              \
  /* sum += sum_k coef[k] x_{rows[k]}; rows with coef 0 are not touched. */                        \
  void add_rows_##name(const Rows& x, const RowList& rows, const double* coef, double* sum);

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  ALPHAPATH_DECLARE_ROWS(dense_f32, DenseRows<float>)                                              \
  ALPHAPATH_DECLARE_ROWS(dense_f64, DenseRows<double>)                                             \
  ALPHAPATH_DECLARE_ROWS(csr_f32, CsrRows<float>)                                                  \
  ALPHAPATH_DECLARE_ROWS(csr_f64, CsrRows<double>)                                                 \
  double dot_product(const double* a, const double* b, std::size_t n);                             \
  /* |a - s u - t v|^2. */                                                                         \
  double squared_distance(const double* a, double s, const double* u, double t, const double* v,   \
                          std::size_t n);                                                          \
  /* The rows without proof, in order; returns how many. `out` has room for all. */                \
  std::size_t scan_bounds(const BoundScan& scan, std::int32_t* out);                               \
  /* out += A x for a symmetric A whose lower triangle (row-major, ld) is stored. */               \
  void multiply_symmetric(const double* A, std::size_t n, std::size_t ld, const double* x,         \
                          double* out);                                                            \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE
#undef ALPHAPATH_DECLARE_ROWS

} // namespace alphapath::simd
