#include "support/check.hpp"
#include "support/numbers.hpp"

#include "kernel/centring.hpp"
#include "kernel/dense_source.hpp"
#include "kernel/kernel_matrix.hpp"
#include "kernel/matrix_source.hpp"

#include <cmath>

namespace alphapath {
namespace {

using test::is_close;
using test::numbers;

constexpr std::size_t n = 250, d = 7;

const std::vector<KernelFunction> centred_functions = {{KernelKind::linear, 1, 0, 0},
                                                       {KernelKind::poly, 0.1, 1, 3},
                                                       {KernelKind::sigmoid, 0.05, 0.1, 0}};

/// Rows close to each other and far from 0.
std::vector<double> near_rows() {
  auto x = numbers(n * d);
  for (double& value : x)
    value = 1 + 1e-3 * value;
  return x;
}

long double exact(const std::vector<double>& x, std::size_t i, std::size_t j,
                  const KernelFunction& f) {
  long double dot = 0;
  for (std::size_t k = 0; k < d; ++k)
    dot += static_cast<long double>(x[i * d + k]) * x[j * d + k];
  if (f.kind == KernelKind::linear)
    return dot;
  const long double affine = f.gamma * dot + f.coef0;
  return f.kind == KernelKind::poly ? std::pow(affine, f.degree) : std::tanh(affine);
}

/// Stored values in float against long double: their rounding must be that of what differs.
void check_curvature(const KernelMatrix& gram, const std::vector<double>& x,
                     const KernelFunction& f) {
  const auto* values = static_cast<const float*>(gram.full());
  const auto stored = [&](std::size_t i, std::size_t j) {
    return static_cast<double>(values[i * gram.stride() + j]);
  };
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(gram.offset()[i] != 0);
    CHECK(stored(i, i) == gram.diagonal()[i]);
    largest = std::max(largest, gram.diagonal()[i]);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto curvature =
          static_cast<double>(exact(x, i, i, f) + exact(x, j, j, f) - 2 * exact(x, i, j, f));
      CHECK(std::abs(stored(i, i) + stored(j, j) - 2 * stored(i, j) - curvature) < 1e-6 * largest);
      CHECK(stored(i, j) == stored(j, i));
      CHECK(is_close(stored(i, j) + (gram.offset()[i] + gram.offset()[j]),
                     static_cast<double>(exact(x, i, j, f)), 1e-9));
    }
}

TEST(a_large_constant_costs_no_digits) {
  const auto x = near_rows();
  std::vector<std::int64_t> indptr, indices;
  for (std::size_t i = 0; i <= n; ++i)
    indptr.push_back(static_cast<std::int64_t>(i * d));
  for (std::size_t k = 0; k < n * d; ++k)
    indices.push_back(static_cast<std::int64_t>(k % d));
  const Samples dense(x.data(), n, d);
  const Samples sparse({indptr, indices, x}, d, 0);
  CHECK(!sparse.is_dense());
  const auto kept =
      make_full_matrix<double>(*make_source<double>(dense, {KernelKind::dot}, {}), {});
  const MatrixView<double> view{static_cast<const double*>(kept->full()), n, kept->stride()};
  for (const KernelFunction& f : centred_functions) {
    check_curvature(*make_full_matrix<float>(*make_source<float>(dense, f, {}), {}), x, f);
    check_curvature(*make_full_matrix<float>(*make_source<float>(sparse, f, {}), {}), x, f);
    check_curvature(*make_full_matrix<float>(MatrixSource<double, float>(view, f, {2}), {}), x, f);
  }
}

TEST(centring_that_does_not_shrink_is_left_out) {
  const KernelFunction f{KernelKind::poly, 1, 0, 2};
  // The mean of the last row, far out, and of the others at 1.
  const CentreProducts centre{{100, 100, 100, 4e4}, 1e4};
  const std::vector<double> squared_norms = {1, 1, 1, 1.6e5};
  for (const double offset : offsets_about(f, centre, squared_norms))
    CHECK(offset == 0);
  const CentreProducts near{{1, 1, 1, 1}, 1};
  const std::vector<double> ones(4, 1.0);
  for (const double offset : offsets_about(f, near, ones))
    CHECK(offset == 0.5);
}

TEST(float_products_do_not_serve_centred_kernels) {
  const std::vector<float> products(16, 1.0f);
  const MatrixView<float> view{products.data(), 4, 4};
  using Source = MatrixSource<float, float>;
  CHECK_THROWS(Source(view, {KernelKind::poly, 1, 0, 2}, {}), std::invalid_argument);
  CHECK(Source(view, {KernelKind::rbf, 1, 0, 0}, {}).offsets().front() == 0.5);
  const auto x = numbers(40);
  const Samples samples(x.data(), 20, 2);
  for (const KernelFunction& f : {centred_functions[1], centred_functions[2]})
    CHECK(plan_products(samples, f, Precision::float32).route == Route::double_products);
}

} // namespace
} // namespace alphapath
