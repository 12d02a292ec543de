// Offsets that move the origin of a kernel's feature space to where the data is.
//
// Stored values are K_ij - offset_i - offset_j. With offset_i = k(x_i, m) - k(m, m) / 2 they are
// the inner products of phi(x_i) - phi(m): a kernel that is nearly constant keeps its digits when
// they are rounded to float32. m is a mean row; for a given matrix the mean of the phi(x_i).
#pragma once

#include "base/buffer.hpp"
#include "kernel/samples.hpp"
#include "simd/kernel/kernel_functions.hpp"

#include <span>
#include <vector>

namespace alphapath {

/// k(x_i, m) - k(m, m) / 2 for linear, poly and sigmoid, from inner products and the rows' squared
/// norms. Zeros where that would not make the diagonal smaller for most rows: an outlier drags the
/// mean so far away that the others would lose digits instead.
std::vector<double> offsets_about(const KernelFunction& f, const CentreProducts& centre,
                                  std::span<const double> squared_norms);

/// 1/2 for rbf, whose values are stored minus 1, and 0 for products that are kept as they are.
std::vector<double> constant_offsets(KernelKind kind, std::size_t n);

/// Linear, poly and sigmoid. rbf is centred by its formula; dot and squared_distance are not.
bool has_centre(KernelKind kind);

/// Offsets as the kernel functions on P products take them off.
template <class P> class Offsets {
public:
  /// `is_in_values`: the values made from the products come out without them anyway.
  Offsets(std::vector<double> offsets, bool is_in_values);

  std::vector<double> values() const { return {padded_.begin(), padded_.begin() + n_}; }
  /// For row i and the columns from `column` on; empty where nothing is to be taken off.
  simd::Terms<P> terms(std::size_t i, std::size_t column) const;

private:
  std::ptrdiff_t n_;
  std::vector<double> padded_;
  bool is_taken_off_;
};

} // namespace alphapath
