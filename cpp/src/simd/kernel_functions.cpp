#include "simd/kernel_functions.hpp"

#include "simd/functions.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

// A batch is as many elements as fill a vector of the wider of the two types.
template <class P, class O> struct Batch {
  using Wide = decltype(P() + O());
  static constexpr std::size_t size = Vec<Wide>::width;
  typedef P in __attribute__((vector_size(size * sizeof(P))));
  typedef O out __attribute__((vector_size(size * sizeof(O))));
};

// The function is evaluated in the precision of the output, on the output's own vectors.
template <class O, class Value> void map_in_place(O* values, std::size_t n, Value value) {
  using V = typename Vec<O>::type;
  for (std::size_t j = 0; j < n; j += Vec<O>::width)
    store(values + j, value(load<V>(values + j)));
}

template <class P, class O, class Argument>
void write_arguments(std::size_t n, O* values, Argument argument) {
  using B = Batch<P, O>;
  for (std::size_t j = 0; j < n; j += B::size)
    store(values + j, __builtin_convertvector(argument(j), typename B::out));
}

template <class P, class O>
void write_distances(P scale, Norms<P> norms, const P* products, std::size_t n, O* values) {
  using In = typename Batch<P, O>::in;
  if (norms.columns == nullptr)
    return write_arguments<P>(n, values,
                              [=](std::size_t j) { return scale * load<In>(products + j); });
  write_arguments<P>(n, values, [=](std::size_t j) {
    const In d2 = (norms.row + load<In>(norms.columns + j)) - P(2) * load<In>(products + j);
    return scale * (d2 > P(0) ? d2 : In{});
  });
}

template <class P, class O>
void apply_rbf(P gamma, Norms<P> norms, const P* products, std::size_t n, O* values) {
  // Small pieces, so that the exponents are still in the nearest cache when they are mapped.
  constexpr std::size_t piece = 256;
  for (std::size_t at = 0; at < n; at += piece) {
    const std::size_t size = n - at < piece ? n - at : piece;
    const Norms<P> here{norms.row, norms.columns == nullptr ? nullptr : norms.columns + at};
    write_distances(-gamma, here, products + at, size, values + at);
    map_in_place(values + at, size,
                 [](typename Vec<O>::type x) { return expm1_nonpositive<O>(x); });
  }
}

template <class P, class O>
void apply(const KernelFunction& f, Norms<P> norms, const P* products, std::size_t n, O* values) {
  using In = typename Batch<P, O>::in;
  using V = typename Vec<O>::type;
  const P gamma = static_cast<P>(f.gamma);
  const P coef0 = static_cast<P>(f.coef0);
  const auto plain = [=](std::size_t j) { return load<In>(products + j); };
  const auto affine = [=](std::size_t j) { return gamma * load<In>(products + j) + coef0; };
  const unsigned degree = f.degree;
  switch (f.kind) {
  case KernelKind::linear:
  case KernelKind::dot:
    return write_arguments<P>(n, values, plain);
  case KernelKind::squared_distance:
    return write_distances(P(1), norms, products, n, values);
  case KernelKind::rbf:
    return apply_rbf(gamma, norms, products, n, values);
  case KernelKind::poly:
    write_arguments<P>(n, values, affine);
    return map_in_place(values, n, [=](V x) { return integer_power(x, degree); });
  case KernelKind::sigmoid:
    write_arguments<P>(n, values, affine);
    return map_in_place(values, n, [](V x) { return tanh_any<O>(x); });
  }
}

// A tail shorter than a vector goes through a padded copy: the same instructions for every value.
template <class T, class Value> void map_array(const T* x, std::size_t n, T* out, Value value) {
  using V = typename Vec<T>::type;
  constexpr std::size_t lanes = Vec<T>::width;
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes)
    store(out + j, value(load<V>(x + j)));
  if (j == n)
    return;
  T piece[lanes] = {};
  __builtin_memcpy(piece, x + j, (n - j) * sizeof(T));
  store(piece, value(load<V>(piece)));
  __builtin_memcpy(out + j, piece, (n - j) * sizeof(T));
}

} // namespace

void apply_f32_f32(const KernelFunction& f, Norms<float> norms, const float* products,
                   std::size_t n, float* values) {
  apply(f, norms, products, n, values);
}

void apply_f64_f32(const KernelFunction& f, Norms<double> norms, const double* products,
                   std::size_t n, float* values) {
  apply(f, norms, products, n, values);
}

void apply_f64_f64(const KernelFunction& f, Norms<double> norms, const double* products,
                   std::size_t n, double* values) {
  apply(f, norms, products, n, values);
}

void expm1_f32(const float* x, std::size_t n, float* out) {
  map_array(x, n, out, [](vfloat v) { return expm1_nonpositive<float>(v); });
}

void expm1_f64(const double* x, std::size_t n, double* out) {
  map_array(x, n, out, [](vdouble v) { return expm1_nonpositive<double>(v); });
}

void tanh_f32(const float* x, std::size_t n, float* out) {
  map_array(x, n, out, [](vfloat v) { return tanh_any<float>(v); });
}

void tanh_f64(const double* x, std::size_t n, double* out) {
  map_array(x, n, out, [](vdouble v) { return tanh_any<double>(v); });
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
