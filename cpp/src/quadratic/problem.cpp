#include "quadratic/problem.hpp"

#include "base/buffer.hpp"

#include <algorithm>
#include <stdexcept>

namespace alphapath {

QuadraticProblem::QuadraticProblem(std::span<const double> kernel, std::span<const double> scale,
                                   std::span<const double> targets, std::span<const double> upper)
    : stride_(padded(targets.size())), matrix_(nullptr), targets_(targets.begin(), targets.end()),
      upper_(upper.begin(), upper.end()) {
  const std::size_t n = size();
  if (kernel.size() != n * n || scale.size() != n || upper.size() != n)
    throw std::invalid_argument("The kernel must be n x n for n targets, scales and bounds.");
  matrix_ = static_cast<double*>(allocate_aligned(n * stride_ * sizeof(double)));
  for (std::size_t i = 0; i < n; ++i) {
    double* row = matrix_ + i * stride_;
    for (std::size_t j = 0; j < n; ++j)
      row[j] = scale[i] * scale[j] * kernel[i * n + j];
    std::fill(row + n, row + stride_, 0.0);
  }
}

QuadraticProblem::~QuadraticProblem() {
  release_aligned(matrix_, size() * stride_ * sizeof(double));
}

} // namespace alphapath
