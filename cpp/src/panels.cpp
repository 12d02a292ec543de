#include "panels.hpp"

#include "simd/isa.hpp"

#include <algorithm>
#include <vector>

namespace alphapath {

template <> const simd::PairOps<float>& pair_ops() {
  return ALPHAPATH_DISPATCH(pair_ops_f32);
}
template <> const simd::PairOps<double>& pair_ops() {
  return ALPHAPATH_DISPATCH(pair_ops_f64);
}

template <class T>
Panels<T>::Panels(const Samples& samples, std::span<const double> shift, const Team& team)
    : n_(samples.size()), depth_(samples.n_features()), n_panels_((n_ + width() - 1) / width()),
      values_(n_panels_ * width() * depth_), norms_(n_panels_ * width() + 16) {
  std::fill_n(norms_.data(), norms_.size(), T(0));
  for_each_piece(n_panels_, team, [&](std::size_t p, std::size_t) { pack(samples, shift, p); });
}

template <class T>
void Panels<T>::pack(const Samples& samples, std::span<const double> shift, std::size_t p) {
  std::vector<double> row(depth_);
  T* const to = values_.data() + p * width() * depth_;
  for (std::size_t lane = 0; lane < width(); ++lane) {
    const std::size_t i = p * width() + lane;
    if (i < n_)
      samples.copy_row(i, shift, row.data());
    else
      std::fill(row.begin(), row.end(), 0.0);
    for (std::size_t k = 0; k < depth_; ++k)
      to[k * width() + lane] = static_cast<T>(row[k]);
  }
  // By the very sum that the products use: equal rows must come out at distance 0.
  std::vector<T> products(width());
  for (std::size_t lane = 0; lane < width(); ++lane) {
    ops_.products(to + lane, width(), 1, to, depth_, products.data(), width());
    norms_.data()[p * width() + lane] = products[lane];
  }
}

template class Panels<float>;
template class Panels<double>;

} // namespace alphapath
