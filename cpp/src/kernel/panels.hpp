// All rows of dense data packed for simd::PairOps, with their squared norms.
#pragma once

#include "base/buffer.hpp"
#include "base/parallel.hpp"
#include "kernel/samples.hpp"
#include "simd/kernel/panel_products.hpp"

namespace alphapath {

template <class E, class P> const simd::PairOps<E, P>& pair_ops();

/// Whether there are those of WholeQuad.
bool has_quads();

/// The elements to sum over for a left side of products, as simd::PairOps has it. Where few are not
/// 0 in all its rows, those alone; they are listed in `nonzero`.
template <class E>
simd::Depth depth_for(const E* left, std::size_t lda, std::size_t n_rows, std::size_t depth,
                      std::vector<std::uint16_t>& nonzero);

/// Elements E (two features each for WholePair, four for WholeQuad), norms and products P.
template <class E, class P> class Panels {
public:
  Panels(const Samples& samples, std::span<const double> shift, const Team& team);

  std::size_t size() const { return n_; }
  /// Elements of a row.
  std::size_t depth() const { return depth_; }
  std::size_t width() const { return ops_.width; }
  std::size_t count() const { return n_panels_; }
  std::size_t nbytes() const { return values_.nbytes() + norms_.nbytes(); }
  const simd::PairOps<E, P>& ops() const { return ops_; }

  const E* panel(std::size_t p) const { return values_.data() + p * width() * depth_; }
  /// Row i as PairOps wants its left side: element k at [k * width()]. Rows of one group follow
  /// each other, so for i a multiple of the group this is the whole group.
  const E* lane(std::size_t i) const { return panel(i / width()) + i % width(); }
  /// What to sum over for the group of rows that begins with i.
  simd::Depth depth_of(std::size_t i) const { return depths_[i / ops_.group]; }
  /// Squared norms, zeros behind the last row up to padded(size()).
  const P* norms() const { return norms_.data(); }

private:
  void pack(const Samples& samples, std::span<const double> shift, std::size_t p);

  const simd::PairOps<E, P>& ops_ = pair_ops<E, P>();
  std::size_t n_, depth_, n_panels_;
  Buffer<E> values_;
  Buffer<P> norms_;
  std::vector<std::vector<std::uint16_t>> nonzero_; // by group
  std::vector<simd::Depth> depths_;
};

} // namespace alphapath
