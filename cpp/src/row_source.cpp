#include "row_source.hpp"

#include "dense_source.hpp"
#include "sparse_source.hpp"

namespace alphapath {

namespace {

template <class P, class T>
std::unique_ptr<RowSource<T>> make_dense(const Samples& samples, const KernelFunction& f,
                                         Route route, const Team& team) {
  if (route != Route::double_differences && fits_whole_pairs(samples, f))
    return std::make_unique<DenseSource<P, T, simd::WholePair>>(samples, f, route, team);
  return std::make_unique<DenseSource<P, T>>(samples, f, route, team);
}

} // namespace

template <>
std::unique_ptr<RowSource<float>> make_source(const Samples& samples, const KernelFunction& f,
                                              const Team& team) {
  if (!samples.is_dense())
    return std::make_unique<SparseSource<float>>(samples, f);
  const Route route = choose_route(samples, f, Precision::float32);
  if (route == Route::float_products)
    return make_dense<float, float>(samples, f, route, team);
  return make_dense<double, float>(samples, f, route, team);
}

template <>
std::unique_ptr<RowSource<double>> make_source(const Samples& samples, const KernelFunction& f,
                                               const Team& team) {
  if (!samples.is_dense())
    return std::make_unique<SparseSource<double>>(samples, f);
  const Route route = choose_route(samples, f, Precision::float64);
  return make_dense<double, double>(samples, f, route, team);
}

} // namespace alphapath
