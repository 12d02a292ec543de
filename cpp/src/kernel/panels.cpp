#include "kernel/panels.hpp"

#include "base/isa.hpp"
#include "simd/kernel/sample_loops.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace alphapath {

using simd::WholePair;
using simd::WholeQuad;

namespace {

template <class E> constexpr std::size_t features_per_element = 1;
template <> constexpr std::size_t features_per_element<WholePair> = 2;
template <> constexpr std::size_t features_per_element<WholeQuad> = 4;

template <class E> E read_element(const double* features) {
  return static_cast<E>(*features);
}
template <> WholePair read_element(const double* features) {
  const auto half = [](double x) {
    return static_cast<std::uint32_t>(static_cast<std::uint16_t>(static_cast<std::int16_t>(x)));
  };
  return static_cast<WholePair>(half(features[0]) | half(features[1]) << 16);
}

template <> WholeQuad read_element(const double* features) {
  std::uint32_t bytes = 0;
  for (unsigned b = 0; b < 4; ++b)
    bytes |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(features[b])) << 8 * b;
  return static_cast<WholeQuad>(bytes);
}

// Beyond this share of all elements a list of some saves too little.
constexpr double max_listed_share = 0.85;

} // namespace

template <class E>
simd::Depth depth_for(const E* left, std::size_t lda, std::size_t n_rows, std::size_t depth,
                      std::vector<std::uint16_t>& nonzero) {
  nonzero.clear();
  if (depth > std::numeric_limits<std::uint16_t>::max())
    return {depth};
  const auto is_nonzero = [&](std::size_t k) {
    const E* const elements = left + k * lda;
    return !std::all_of(elements, elements + n_rows, [](E e) { return e == E{}; });
  };
  std::size_t count = 0;
  for (std::size_t k = 0; k < depth; ++k)
    count += is_nonzero(k);
  const double share = static_cast<double>(count) / static_cast<double>(depth);
  if (count == 0 || share > max_listed_share)
    return {depth};
  nonzero.reserve(count);
  for (std::size_t k = 0; k < depth; ++k)
    if (is_nonzero(k))
      nonzero.push_back(static_cast<std::uint16_t>(k));
  return {nonzero.size(), nonzero.data()};
}

template <> const simd::PairOps<float, float>& pair_ops() {
  return ALPHAPATH_DISPATCH(pair_ops_f32);
}
template <> const simd::PairOps<double, double>& pair_ops() {
  return ALPHAPATH_DISPATCH(pair_ops_f64);
}
#if defined(ALPHAPATH_X86)
#define ALPHAPATH_DISPATCH_WHOLE(ops)                                                              \
  (simd::active_isa() == simd::Isa::avx512vnni ? simd::avx512vnni::ops : ALPHAPATH_DISPATCH(ops))
template <> const simd::PairOps<WholeQuad, float>& pair_ops() {
  return simd::avx512vnni::quad_ops_whole_f32;
}
template <> const simd::PairOps<WholeQuad, double>& pair_ops() {
  return simd::avx512vnni::quad_ops_whole_f64;
}
#else
#define ALPHAPATH_DISPATCH_WHOLE(ops) ALPHAPATH_DISPATCH(ops)
#endif
template <> const simd::PairOps<WholePair, float>& pair_ops() {
  return ALPHAPATH_DISPATCH_WHOLE(pair_ops_whole_f32);
}
template <> const simd::PairOps<WholePair, double>& pair_ops() {
  return ALPHAPATH_DISPATCH_WHOLE(pair_ops_whole_f64);
}

bool has_quads() {
#if defined(ALPHAPATH_X86)
  return simd::active_isa() == simd::Isa::avx512vnni;
#else
  return false;
#endif
}

template <class E, class P>
Panels<E, P>::Panels(const Samples& samples, std::span<const double> shift, const Team& team)
    : n_(samples.size()),
      depth_((samples.n_features() + features_per_element<E> - 1) / features_per_element<E>),
      n_panels_((n_ + width() - 1) / width()), values_(n_panels_ * width() * depth_),
      norms_(n_panels_ * width() + 16), nonzero_(n_panels_ * width() / ops_.group),
      depths_(nonzero_.size(), {depth_}) {
  std::fill_n(norms_.data(), norms_.size(), P(0));
  for_each_piece(n_panels_, team, [&](std::size_t p, std::size_t) { pack(samples, shift, p); });
}

template <class E, class P>
void Panels<E, P>::pack(const Samples& samples, std::span<const double> shift, std::size_t p) {
  constexpr std::size_t step = features_per_element<E>;
  const auto squared_norm = ALPHAPATH_DISPATCH(squared_norm);
  const std::size_t group = ops_.group, length = depth_ * step;
  std::vector<double> rows(group * length, 0.0); // what the last element lacks is 0
  std::vector<P> products(group * width());
  E* const to = values_.data() + p * width() * depth_;
  for (std::size_t lane = 0; lane < width(); lane += group) {
    for (std::size_t r = 0; r < group; ++r) {
      const std::size_t i = p * width() + lane + r;
      double* const row = rows.data() + r * length;
      if (i < n_)
        samples.copy_row(i, shift, row);
      else
        std::fill_n(row, length, 0.0);
      if constexpr (step > 1) // integers: exact in any order
        norms_.data()[i] = static_cast<P>(squared_norm(row, length));
    }
    // A whole group at a time: its part of a row of the panel is written once.
    for (std::size_t k = 0; k < depth_; ++k)
      for (std::size_t r = 0; r < group; ++r)
        to[k * width() + lane + r] = read_element<E>(rows.data() + r * length + k * step);
    const std::size_t g = (p * width() + lane) / group;
    depths_[g] = depth_for(to + lane, width(), group, depth_, nonzero_[g]);
  }
  if constexpr (step == 1)
    for (std::size_t lane = 0; lane < width(); lane += group) {
      // By the very sum that the products use: equal rows must come out at distance 0.
      ops_.products(to + lane, width(), group, to, depth_of(p * width() + lane), products.data(),
                    width());
      for (std::size_t r = 0; r < group; ++r)
        norms_.data()[p * width() + lane + r] = products[r * width() + lane + r];
    }
}

template simd::Depth depth_for(const float*, std::size_t, std::size_t, std::size_t,
                               std::vector<std::uint16_t>&);
template simd::Depth depth_for(const double*, std::size_t, std::size_t, std::size_t,
                               std::vector<std::uint16_t>&);
template simd::Depth depth_for(const WholePair*, std::size_t, std::size_t, std::size_t,
                               std::vector<std::uint16_t>&);
template simd::Depth depth_for(const WholeQuad*, std::size_t, std::size_t, std::size_t,
                               std::vector<std::uint16_t>&);
template class Panels<float, float>;
template class Panels<double, double>;
template class Panels<WholePair, float>;
template class Panels<WholePair, double>;
#if defined(ALPHAPATH_X86)
template class Panels<WholeQuad, float>;
template class Panels<WholeQuad, double>;
#endif

} // namespace alphapath
