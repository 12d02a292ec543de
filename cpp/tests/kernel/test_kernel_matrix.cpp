#include "support/check.hpp"
#include "support/numbers.hpp"

#include "kernel/dense_source.hpp"
#include "kernel/kernel_matrix.hpp"
#include "kernel/matrix_source.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace alphapath {
namespace {

using test::is_close;
using test::numbers;

double reference(const std::vector<double>& x, std::size_t d, std::size_t i, std::size_t j,
                 const KernelFunction& f) {
  double dot = 0;
  double distance = 0;
  for (std::size_t k = 0; k < d; ++k) {
    dot += x[i * d + k] * x[j * d + k];
    distance += (x[i * d + k] - x[j * d + k]) * (x[i * d + k] - x[j * d + k]);
  }
  switch (f.kind) {
  case KernelKind::rbf:
    return std::exp(-f.gamma * distance);
  case KernelKind::poly:
    return std::pow(f.gamma * dot + f.coef0, f.degree);
  case KernelKind::sigmoid:
    return std::tanh(f.gamma * dot + f.coef0);
  case KernelKind::squared_distance:
    return distance;
  default:
    return dot;
  }
}

const std::vector<KernelFunction> all_functions = {
    {KernelKind::linear, 1, 0, 0},          {KernelKind::rbf, 0.3, 0, 0},
    {KernelKind::poly, 0.2, 1, 3},          {KernelKind::poly, 0.2, 1, 0},
    {KernelKind::sigmoid, 0.1, 1, 0},       {KernelKind::dot, 1, 0, 0},
    {KernelKind::squared_distance, 1, 0, 0}};

template <class T> double value_at(const KernelRows& kernel, std::size_t i, std::size_t j) {
  const KernelRow row = kernel.row(i);
  return static_cast<double>(static_cast<const T*>(row.data)[j]) +
         (kernel.offset()[i] + kernel.offset()[j]);
}

template <class T>
void check_gram(const KernelMatrix& gram, const std::vector<double>& x, std::size_t d,
                const KernelFunction& f) {
  const double tolerance = sizeof(T) == 4 ? 3e-5 : 1e-12;
  const std::size_t n = gram.size();
  for (std::size_t i = 0; i < n; ++i) {
    const KernelRow row = gram.row(i);
    const T* values = static_cast<const T*>(row.data);
    CHECK(reinterpret_cast<std::uintptr_t>(values) % 64 == 0);
    for (std::size_t j = 0; j < n; ++j)
      CHECK(is_close(value_at<T>(gram, i, j), reference(x, d, i, j, f), tolerance));
    for (std::size_t j = n; j < gram.stride(); ++j)
      CHECK(values[j] == T(0));
    CHECK(static_cast<double>(values[i]) == gram.diagonal()[i]);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      CHECK(value_at<T>(gram, i, j) == value_at<T>(gram, j, i));
}

/// Integers, whose sums are exact in double in any order.
void check_exact(const KernelMatrix& gram, const std::vector<double>& x, std::size_t d,
                 const KernelFunction& f) {
  for (std::size_t i = 0; i < gram.size(); ++i)
    for (std::size_t j = 0; j < gram.size(); ++j)
      CHECK(value_at<double>(gram, i, j) == reference(x, d, i, j, f));
}

/// CSR with every third entry left out.
struct SparseData {
  std::vector<std::int64_t> indptr{0}, indices;
  std::vector<double> values, dense;

  SparseData(std::size_t n, std::size_t d) : dense(numbers(n * d)) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < d; ++k) {
        if ((i + k) % 3 == 0) {
          dense[i * d + k] = 0;
          continue;
        }
        indices.push_back(static_cast<std::int64_t>(k));
        values.push_back(dense[i * d + k]);
      }
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
  }
  CsrView view() const { return {indptr, indices, values}; }
};

template <class T> void check_all(const Samples& samples, const std::vector<double>& x) {
  for (const KernelFunction& f : all_functions) {
    auto source = make_source<T>(samples, f, {});
    const auto full = make_full_matrix<T>(*source, {2, nullptr});
    check_gram<T>(*full, x, samples.n_features(), f);
    const auto cached = make_cached_matrix<T>(std::move(source), 3, nullptr);
    check_gram<T>(*cached, x, samples.n_features(), f);
    for (std::size_t i = 0; i < samples.size(); ++i)
      for (std::size_t j = 0; j < samples.size(); ++j)
        CHECK(value_at<T>(*full, i, j) == value_at<T>(*cached, i, j));
  }
}

TEST(dense_kernels_match_the_formulas) {
  for (const std::size_t n : {1, 5, 16, 50}) {
    const auto x = numbers(n * 7);
    const Samples samples(x.data(), n, 7);
    check_all<float>(samples, x);
    check_all<double>(samples, x);
  }
}

TEST(tiles_meet_without_a_seam) {
  const std::size_t n = 405;
  const auto x = numbers(n * 3);
  const Samples samples(x.data(), n, 3);
  const KernelFunction f{KernelKind::rbf, 0.5, 0, 0};
  check_gram<float>(*make_full_matrix<float>(*make_source<float>(samples, f, {}), {}), x, 3, f);
  check_gram<double>(*make_full_matrix<double>(*make_source<double>(samples, f, {}), {}), x, 3, f);
}

TEST(sparse_kernels_match_the_formulas) {
  const SparseData data(70, 9);
  const Samples samples(data.view(), 9, 0);
  CHECK(!samples.is_dense());
  check_all<float>(samples, data.dense);
  check_all<double>(samples, data.dense);
  const Samples densified(data.view(), 9, 1 << 20);
  CHECK(densified.is_dense());
  check_all<double>(densified, data.dense);
}

TEST(equal_rows_are_at_distance_zero) {
  const std::size_t n = 230, d = 19;
  auto x = numbers(n * d);
  for (double& value : x)
    value = value * 3 + 100;
  for (const std::size_t twin : {1, 47, 48, 100, 229})
    std::copy_n(x.begin(), d, x.begin() + static_cast<std::ptrdiff_t>(twin * d));
  const Samples samples(x.data(), n, d);
  for (const Route route : {Route::double_products, Route::double_differences}) {
    const DenseSource<double, float> source(samples, {KernelKind::rbf, 2.0, 0, 0},
                                            {route, Elements::values, true}, {});
    const auto gram = make_full_matrix<float>(source, {});
    for (const std::size_t twin : {1, 47, 48, 100, 229})
      CHECK(static_cast<const float*>(gram->row(twin).data)[0] == 0.0f);
  }
  const DenseSource<float, float> source(samples, {KernelKind::rbf, 2.0, 0, 0},
                                         {Route::float_products, Elements::values, true}, {});
  const auto gram = make_full_matrix<float>(source, {});
  for (const std::size_t twin : {1, 47, 48, 100, 229})
    CHECK(static_cast<const float*>(gram->row(0).data)[twin] == 0.0f);
}

TEST(routes_follow_the_error_bound) {
  auto x = numbers(40);
  const KernelFunction wide{KernelKind::rbf, 1e-3, 0, 0};
  const KernelFunction narrow{KernelKind::rbf, 1e3, 0, 0};
  const Samples small(x.data(), 20, 2);
  CHECK(plan_products(small, wide, Precision::float32).route == Route::float_products);
  CHECK(plan_products(small, wide, Precision::float64).route == Route::double_products);
  CHECK(plan_products(small, narrow, Precision::float32).route == Route::double_products);
  x[0] = 1e7; // centring can not help
  const Samples spread(x.data(), 20, 2);
  CHECK(plan_products(spread, narrow, Precision::float32).route == Route::double_differences);
  for (double& value : x)
    value = std::nearbyint(10 * value);
  x[0] = 3;
  const Samples whole(x.data(), 20, 2);
  CHECK(plan_products(whole, narrow, Precision::float32).route == Route::float_products);
}

TEST(products_of_integers_are_exact) {
  const std::size_t n = 230, d = 19; // an odd number of features
  auto x = numbers(n * d);
  for (double& value : x)
    value = std::nearbyint(7000 * value); // sums of squares up to 2^29
  const Samples samples(x.data(), n, d);
  for (const KernelKind kind : {KernelKind::dot, KernelKind::squared_distance}) {
    const KernelFunction f{kind, 1, 0, 0};
    CHECK(plan_products(samples, f, Precision::float64).elements == Elements::pairs);
    CHECK(plan_products(samples, f, Precision::float64).route == Route::double_products);
    check_exact(*make_full_matrix<double>(*make_source<double>(samples, f, {}), {}), x, d, f);
    check_exact(*make_cached_matrix<double>(make_source<double>(samples, f, {}), 7, {}), x, d, f);
  }
  const KernelFunction f{KernelKind::rbf, 1e-8, 0, 0};
  check_gram<float>(*make_full_matrix<float>(*make_source<float>(samples, f, {}), {}), x, d, f);
  x[0] = 40000; // more than 16 bits
  CHECK(plan_products(Samples(x.data(), n, d), f, Precision::float64).elements == Elements::values);
  x[0] = 0.5;
  CHECK(plan_products(Samples(x.data(), n, d), f, Precision::float64).elements == Elements::values);
}

TEST(products_of_bytes_are_exact) {
  for (const std::size_t d : {1, 3, 18, 131}) { // the last element lacks three, one, two, one
    const std::size_t n = 230;
    auto x = numbers(n * d);
    for (double& value : x)
      value = std::nearbyint(std::min(std::abs(value) * 200, 255.0));
    x[0] = 255;
    const Samples samples(x.data(), n, d);
    CHECK(samples.raw().is_byte);
    const auto expected = has_quads() ? Elements::quads : Elements::pairs;
    for (const KernelKind kind : {KernelKind::dot, KernelKind::squared_distance}) {
      const KernelFunction f{kind, 1, 0, 0};
      CHECK(plan_products(samples, f, Precision::float64).elements == expected);
      check_exact(*make_full_matrix<double>(*make_source<double>(samples, f, {}), {}), x, d, f);
      check_exact(*make_cached_matrix<double>(make_source<double>(samples, f, {}), 7, {}), x, d, f);
    }
    const KernelFunction f{KernelKind::rbf, 1e-5, 0, 0};
    check_gram<float>(*make_full_matrix<float>(*make_source<float>(samples, f, {}), {}), x, d, f);
    for (const double other : {-1.0, 256.0, 0.5}) {
      x[1 % x.size()] = other;
      CHECK(!Samples(x.data(), n, d).raw().is_byte);
    }
  }
}

TEST(sums_of_many_bytes_do_not_overflow) {
  const std::size_t n = 2, d = 16'500; // 255^2 d is just below 2^30
  std::vector<double> x(n * d, 255.0);
  const Samples samples(x.data(), n, d);
  const KernelFunction f{KernelKind::dot, 1, 0, 0};
  CHECK(plan_products(samples, f, Precision::float64).elements != Elements::values);
  check_exact(*make_full_matrix<double>(*make_source<double>(samples, f, {}), {}), x, d, f);
}

TEST(zeros_are_left_out_of_products) {
  const std::size_t n = 230, d = 39;
  const auto values = numbers(2 * n * d);
  for (const double scale : {0.0, 100.0}) { // 0: not rounded
    std::vector<double> x(n * d, 0.0);
    for (std::size_t at = 0; at < n * d; ++at)
      if (std::abs(values[n * d + at]) < 0.1 && at % d >= 10) // the others are 0 in all rows
        x[at] = scale == 0 ? values[at] : std::nearbyint(scale * values[at]);
    std::copy_n(x.data() + 3 * d, d, x.data() + 100 * d); // twins in groups of their own
    const Samples samples(x.data(), n, d);
    CHECK(samples.raw().is_mostly_zero);
    const KernelFunction rbf{KernelKind::rbf, scale == 0 ? 0.3 : 3e-5, 0, 0};
    CHECK(!plan_products(samples, rbf, Precision::float64).is_shifted);
    for (const KernelFunction& f :
         {rbf, KernelFunction{KernelKind::dot}, KernelFunction{KernelKind::squared_distance}}) {
      const auto full = make_full_matrix<double>(*make_source<double>(samples, f, {}), {});
      check_gram<double>(*full, x, d, f);
      const auto cached = make_cached_matrix<double>(make_source<double>(samples, f, {}), 9, {});
      for (const std::size_t i : {0, 3, 50, 100, 229})
        CHECK(std::memcmp(full->row(i).data, cached->row(i).data, n * sizeof(double)) == 0);
    }
    const auto gram = make_full_matrix<float>(*make_source<float>(samples, rbf, {}), {});
    check_gram<float>(*gram, x, d, rbf);
    CHECK(static_cast<const float*>(gram->row(3).data)[100] == 0.0f); // K - 1: no distance
  }
}

TEST(products_serve_every_parameter) {
  const std::size_t n = 37, d = 5;
  const auto x = numbers(n * d);
  const Samples samples(x.data(), n, d);
  for (const KernelFunction& f : all_functions) {
    const bool is_distance = f.kind == KernelKind::rbf || f.kind == KernelKind::squared_distance;
    const KernelFunction product{is_distance ? KernelKind::squared_distance : KernelKind::dot};
    const auto kept = make_full_matrix<double>(*make_source<double>(samples, product, {}), {});
    const MatrixView<double> view{static_cast<const double*>(kept->full()), n, kept->stride()};
    check_gram<float>(*make_full_matrix<float>(MatrixSource<double, float>(view, f, {}), {}), x, d,
                      f);
    check_gram<double>(*make_full_matrix<double>(MatrixSource<double, double>(view, f, {}), {}), x,
                       d, f);
  }
}

TEST(threads_do_not_change_bits) {
  const std::size_t n = 500;
  const auto x = numbers(n * 6);
  const Samples samples(x.data(), n, 6);
  const KernelFunction f{KernelKind::rbf, 0.7, 0, 0};
  const auto source = make_source<float>(samples, f, {});
  const auto one = make_full_matrix<float>(*source, {1, nullptr});
  const auto three = make_full_matrix<float>(*source, {3, nullptr});
  CHECK(std::memcmp(one->full(), three->full(), n * one->stride() * sizeof(float)) == 0);
}

TEST(an_interrupt_ends_the_computation) {
  const std::size_t n = 2000;
  const auto x = numbers(n * 40);
  const Samples samples(x.data(), n, 40);
  const auto source = make_source<double>(samples, {KernelKind::rbf, 0.7, 0, 0}, {});
  Watch watch(1e-9, {});
  CHECK_THROWS(make_full_matrix<double>(*source, {2, &watch}), Interrupted);
}

TEST(not_finite_data_is_marked) {
  auto x = numbers(12);
  x[5] = std::nan("");
  CHECK(std::isinf(Samples(x.data(), 4, 3).raw().max_squared_norm));
  x[5] = 1e200;
  CHECK(std::isinf(Samples(x.data(), 4, 3).raw().max_squared_norm));
}

} // namespace
} // namespace alphapath
