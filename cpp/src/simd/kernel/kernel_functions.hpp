// The formulas a kernel value is made by, and their values from dot products or squared distances,
// a row at a time.
#pragma once

#include <cstddef>

namespace alphapath {

enum class KernelKind { linear, rbf, poly, sigmoid, dot, squared_distance };

/// linear x'z, rbf expm1(-gamma |x-z|^2), poly (gamma x'z + coef0)^degree,
/// sigmoid tanh(gamma x'z + coef0); dot x'z and squared_distance |x-z|^2 are what the others can
/// be made of. Stored values of linear, poly and sigmoid are centred (kernel/centring.hpp), those
/// of dot and squared_distance are not.
struct KernelFunction {
  KernelKind kind = KernelKind::linear;
  double gamma = 1.0;
  double coef0 = 0.0;
  unsigned degree = 3;
};

} // namespace alphapath

namespace alphapath::simd {

/// A number of the row and one of each column. For rbf and squared_distance the squared norms that
/// turn dot products into squared distances, |x - z|^2 = (row + column_j) - 2 x'z, never below 0;
/// null columns: the products are squared distances already. For the others the offsets,
/// (row + column_j) to be taken off the kernel value before it is rounded; null columns: nothing.
template <class P> struct Terms {
  P row = 0;
  const P* columns = nullptr;
};

/// values[j] = f(products[j]) for j < n, n a multiple of 16; P -> O may be done in place where
/// the types agree. The bits of a value depend on its product and terms alone. Exponentials are
/// taken in precision O, powers and tanh in P.
template <class P, class O>
using ApplyKernel = void (*)(const KernelFunction& f, Terms<P> terms, const P* products,
                             std::size_t n, O* values);

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  void apply_f32_f32(const KernelFunction&, Terms<float>, const float*, std::size_t, float*);      \
  void apply_f64_f32(const KernelFunction&, Terms<double>, const double*, std::size_t, float*);    \
  void apply_f64_f64(const KernelFunction&, Terms<double>, const double*, std::size_t, double*);   \
  void expm1_f32(const float* x, std::size_t n, float* out);                                       \
  void expm1_f64(const double* x, std::size_t n, double* out);                                     \
  void tanh_f32(const float* x, std::size_t n, float* out);                                        \
  void tanh_f64(const double* x, std::size_t n, double* out);                                      \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
