#include "row_source.hpp"

#include "dense_source.hpp"
#include "sparse_source.hpp"

namespace alphapath {

template <>
std::unique_ptr<RowSource<float>> make_source(const Samples& samples, const KernelFunction& f,
                                              const Team& team) {
  if (!samples.is_dense())
    return std::make_unique<SparseSource<float>>(samples, f);
  const Route route = choose_route(samples, f, Precision::float32);
  if (route == Route::float_products)
    return std::make_unique<DenseSource<float, float>>(samples, f, route, team);
  return std::make_unique<DenseSource<double, float>>(samples, f, route, team);
}

template <>
std::unique_ptr<RowSource<double>> make_source(const Samples& samples, const KernelFunction& f,
                                               const Team& team) {
  if (!samples.is_dense())
    return std::make_unique<SparseSource<double>>(samples, f);
  const Route route = choose_route(samples, f, Precision::float64);
  if (route == Route::float_products)
    return std::make_unique<DenseSource<float, double>>(samples, f, route, team);
  return std::make_unique<DenseSource<double, double>>(samples, f, route, team);
}

} // namespace alphapath
