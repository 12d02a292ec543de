// All rows of dense data packed for simd::PairOps, with their squared norms.
#pragma once

#include "buffer.hpp"
#include "parallel.hpp"
#include "samples.hpp"
#include "simd/pair_products.hpp"

namespace alphapath {

template <class T> const simd::PairOps<T>& pair_ops();

template <class T> class Panels {
public:
  Panels(const Samples& samples, std::span<const double> shift, const Team& team);

  std::size_t size() const { return n_; }
  std::size_t depth() const { return depth_; }
  std::size_t width() const { return ops_.width; }
  std::size_t count() const { return n_panels_; }
  std::size_t nbytes() const { return values_.nbytes() + norms_.nbytes(); }
  const simd::PairOps<T>& ops() const { return ops_; }

  const T* panel(std::size_t p) const { return values_.data() + p * width() * depth_; }
  /// Row i as PairOps wants its left side: element k at [k * width()]. Rows of one group follow
  /// each other, so for i a multiple of the group this is the whole group.
  const T* lane(std::size_t i) const { return panel(i / width()) + i % width(); }
  /// Squared norms, zeros behind the last row up to padded(size()).
  const T* norms() const { return norms_.data(); }

private:
  void pack(const Samples& samples, std::span<const double> shift, std::size_t p);

  const simd::PairOps<T>& ops_ = pair_ops<T>();
  std::size_t n_, depth_, n_panels_;
  Buffer<T> values_, norms_;
};

} // namespace alphapath
