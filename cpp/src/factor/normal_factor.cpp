#include "factor/normal_factor.hpp"

#include "base/blas.hpp"
#include "base/isa.hpp"
#include "simd/triangular.hpp"

#include <algorithm>

namespace alphapath {

void NormalFactor::factor(const std::vector<double>& G, double scale,
                          const std::vector<double>& diagonal, double C) {
  const std::size_t d = diagonal.size();
  const int n = static_cast<int>(d);
  values_.resize(d * d);
  double largest = 0.0;
  for (std::size_t i = 0; i < d; ++i)
    largest = std::max(largest, scale * G[i * d + i] + diagonal[i]);
  for (double ridge = 0.0;; ridge = std::max(1e-15 * largest, 100.0 * ridge)) {
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j <= i; ++j)
        values_[j * d + i] = scale * G[i * d + j];
      values_[i * d + i] += diagonal[i] + ridge;
    }
    int info = 0;
    blas().dpotrf("L", &n, values_.data(), &n, &info);
    if (info == 0 || ridge > largest)
      break;
  }
  is_outdated_ = false;
  C_ = C;
}

void NormalFactor::solve(std::vector<double>& x) const {
  ALPHAPATH_DISPATCH(solve_lower)(values_.data(), x.size(), x.size(), x.data());
  ALPHAPATH_DISPATCH(solve_lower_transposed)(values_.data(), x.size(), x.size(), x.data());
}

} // namespace alphapath
