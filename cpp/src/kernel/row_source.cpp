#include "kernel/row_source.hpp"

#include "kernel/dense_source.hpp"
#include "kernel/sparse_source.hpp"

namespace alphapath {

namespace {

template <class P, class T>
std::unique_ptr<RowSource<T>> make_dense(const Samples& samples, const KernelFunction& f,
                                         const ProductPlan& plan, const Team& team) {
#if defined(ALPHAPATH_X86)
  if (plan.elements == Elements::quads)
    return std::make_unique<DenseSource<P, T, simd::WholeQuad>>(samples, f, plan, team);
#endif
  if (plan.elements == Elements::pairs)
    return std::make_unique<DenseSource<P, T, simd::WholePair>>(samples, f, plan, team);
  return std::make_unique<DenseSource<P, T>>(samples, f, plan, team);
}

} // namespace

template <>
std::unique_ptr<RowSource<float>> make_source(const Samples& samples, const KernelFunction& f,
                                              const Team& team) {
  if (!samples.is_dense())
    return std::make_unique<SparseSource<float>>(samples, f);
  const ProductPlan plan = plan_products(samples, f, Precision::float32);
  if (plan.route == Route::float_products)
    return make_dense<float, float>(samples, f, plan, team);
  return make_dense<double, float>(samples, f, plan, team);
}

template <>
std::unique_ptr<RowSource<double>> make_source(const Samples& samples, const KernelFunction& f,
                                               const Team& team) {
  if (!samples.is_dense())
    return std::make_unique<SparseSource<double>>(samples, f);
  const ProductPlan plan = plan_products(samples, f, Precision::float64);
  return make_dense<double, double>(samples, f, plan, team);
}

} // namespace alphapath
