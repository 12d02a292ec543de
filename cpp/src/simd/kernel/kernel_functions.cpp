#include "simd/kernel/kernel_functions.hpp"

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

/// values[j] = function(argument at j); the argument in precision P, the function in precision O.
template <class P, class O, class Argument, class Function>
void map_row(std::size_t n, O* values, Argument argument, Function function) {
  if constexpr (sizeof(P) == sizeof(O)) {
    for (std::size_t j = 0; j < n; j += Vec<O>::width)
      store(values + j, function(argument(j)));
  } else {
    // Pieces that stay in the nearest cache between the two steps.
    constexpr std::size_t piece = 256;
    using V = typename Vec<O>::type;
    using B = Batch<P, O>;
    for (std::size_t at = 0; at < n; at += piece) {
      const std::size_t end = n - at < piece ? n : at + piece;
      for (std::size_t j = at; j < end; j += B::size)
        store(values + j, __builtin_convertvector(argument(j), typename B::out));
      for (std::size_t j = at; j < end; j += Vec<O>::width)
        store(values + j, function(load<V>(values + j)));
    }
  }
}

template <class P, class O, class Function>
void map_distances(P scale, Terms<P> norms, const P* products, std::size_t n, O* values,
                   Function function) {
  using In = typename Batch<P, O>::in;
  if (norms.columns == nullptr)
    return map_row<P>(
        n, values, [=](std::size_t j) { return scale * load<In>(products + j); }, function);
  map_row<P>(
      n, values,
      [=](std::size_t j) {
        const In d2 = (norms.row + load<In>(norms.columns + j)) - P(2) * load<In>(products + j);
        return scale * (d2 > P(0) ? d2 : In{});
      },
      function);
}

/// function(product) minus the offsets, all in precision P and rounded at the end.
template <class P, class O, class Function>
void map_products(Terms<P> offsets, const P* products, std::size_t n, O* values,
                  Function function) {
  using In = typename Batch<P, O>::in;
  const auto identity = [](typename Vec<O>::type x) { return x; };
  if (offsets.columns == nullptr)
    return map_row<P>(
        n, values, [=](std::size_t j) { return function(load<In>(products + j)); }, identity);
  map_row<P>(
      n, values,
      [=](std::size_t j) {
        return function(load<In>(products + j)) - (offsets.row + load<In>(offsets.columns + j));
      },
      identity);
}

template <class P, class O>
void apply(const KernelFunction& f, Terms<P> terms, const P* products, std::size_t n, O* values) {
  using In = typename Batch<P, O>::in;
  const P gamma = static_cast<P>(f.gamma);
  const P coef0 = static_cast<P>(f.coef0);
  const unsigned degree = f.degree;
  switch (f.kind) {
  case KernelKind::linear:
  case KernelKind::dot:
    return map_products(terms, products, n, values, [](In x) { return x; });
  case KernelKind::squared_distance:
    return map_distances(P(1), terms, products, n, values,
                         [](typename Vec<O>::type x) { return x; });
  case KernelKind::rbf:
    return map_distances(-gamma, terms, products, n, values,
                         [](typename Vec<O>::type x) { return expm1_nonpositive<O>(x); });
  case KernelKind::poly:
    return map_products(terms, products, n, values,
                        [=](In x) { return integer_power(gamma * x + coef0, degree); });
  case KernelKind::sigmoid:
    return map_products(terms, products, n, values,
                        [=](In x) { return tanh_any<P>(gamma * x + coef0); });
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

void apply_f32_f32(const KernelFunction& f, Terms<float> terms, const float* products,
                   std::size_t n, float* values) {
  apply(f, terms, products, n, values);
}

void apply_f64_f32(const KernelFunction& f, Terms<double> terms, const double* products,
                   std::size_t n, float* values) {
  apply(f, terms, products, n, values);
}

void apply_f64_f64(const KernelFunction& f, Terms<double> terms, const double* products,
                   std::size_t n, double* values) {
  apply(f, terms, products, n, values);
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
