#include "support/check.hpp"

#include "base/dispatch.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace alphapath {
namespace {

template <class T> std::uint64_t distance_in_ulps(T a, T b) {
  std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t> i, j;
  std::memcpy(&i, &a, sizeof a);
  std::memcpy(&j, &b, sizeof b);
  return static_cast<std::uint64_t>(
      std::abs(static_cast<long long>(i) - static_cast<long long>(j)));
}

template <class T, class F, class Exact> void check_function(F function, Exact exact, T from) {
  std::vector<T> x;
  for (double t = std::log(1e-30); t < std::log(-static_cast<double>(from)); t += 0.001)
    x.push_back(static_cast<T>(-std::exp(t)));
  std::vector<T> y(x.size());
  function(x.data(), x.size(), y.data());
  for (std::size_t k = 0; k < x.size(); ++k)
    CHECK(distance_in_ulps(y[k], static_cast<T>(exact(static_cast<long double>(x[k])))) <= 2);
}

TEST(expm1_is_right_to_two_units) {
  const auto exact = [](long double x) { return std::expm1(x); };
  check_function<float>(ALPHAPATH_DISPATCH(expm1_f32), exact, -200.0f);
  check_function<double>(ALPHAPATH_DISPATCH(expm1_f64), exact, -2000.0);
  const float inf = std::numeric_limits<float>::infinity();
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> x = {0.0f, -inf, -tiny, std::nanf("")};
  std::vector<float> y(4);
  ALPHAPATH_DISPATCH(expm1_f32)(x.data(), 4, y.data());
  CHECK(y[0] == 0.0f && y[1] == -1.0f && y[2] == -tiny && std::isnan(y[3]));
  const std::vector<double> z = {0.0, -static_cast<double>(inf), -5e-324, std::nan("")};
  std::vector<double> w(4);
  ALPHAPATH_DISPATCH(expm1_f64)(z.data(), 4, w.data());
  CHECK(w[0] == 0.0 && w[1] == -1.0 && w[2] == -5e-324 && std::isnan(w[3]));
}

template <class T, class F> void check_tanh(F function) {
  std::vector<T> x;
  for (double t = -30; t < 30; t += 0.003)
    x.push_back(static_cast<T>(t));
  std::vector<T> y(x.size());
  function(x.data(), x.size(), y.data());
  for (std::size_t k = 0; k < x.size(); ++k)
    CHECK(distance_in_ulps(y[k], static_cast<T>(std::tanh(static_cast<long double>(x[k])))) <= 4);
}

TEST(tanh_is_right_to_four_units) {
  check_tanh<float>(ALPHAPATH_DISPATCH(tanh_f32));
  check_tanh<double>(ALPHAPATH_DISPATCH(tanh_f64));
}

} // namespace
} // namespace alphapath
