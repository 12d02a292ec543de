// A Gaussian kernel kept by the tests themselves.
#pragma once

#include "base/buffer.hpp"
#include "kernel/kernel_rows.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace alphapath::test {

/// expm1(-gamma |x_i - x_j|^2), whole, in precision T.
template <class T> class PlainKernel final : public KernelRows {
public:
  PlainKernel(const std::vector<double>& x, std::size_t d, double gamma)
      : n_(x.size() / d), values_(n_ * padded(n_)), diagonal_(n_, 0.0), offset_(n_, 0.5) {
    std::fill_n(values_.data(), n_ * padded(n_), T(0));
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) {
        double distance = 0;
        for (std::size_t k = 0; k < d; ++k)
          distance += (x[i * d + k] - x[j * d + k]) * (x[i * d + k] - x[j * d + k]);
        values_[i * padded(n_) + j] = static_cast<T>(std::expm1(-gamma * distance));
      }
  }
  std::size_t size() const override { return n_; }
  std::size_t stride() const override { return padded(n_); }
  Precision precision() const override {
    return sizeof(T) == sizeof(float) ? Precision::float32 : Precision::float64;
  }
  const void* full() const override { return values_.data(); }
  KernelRow row(std::size_t i) const override { return {values_.data() + i * stride(), {}}; }
  void prefetch(std::span<const std::size_t>) const override {}
  std::span<const double> diagonal() const override { return diagonal_; }
  std::span<const double> offset() const override { return offset_; }
  double at(std::size_t i, std::size_t j) const {
    return static_cast<double>(values_[i * stride() + j]) + 1;
  }

private:
  std::size_t n_;
  Buffer<T> values_;
  std::vector<double> diagonal_, offset_;
};

} // namespace alphapath::test
