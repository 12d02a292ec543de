#include "kernel/centring.hpp"

#include "base/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

namespace alphapath {

namespace {

/// f of every product, in double.
std::vector<double> apply_to(const KernelFunction& f, std::span<const double> products) {
  std::vector<double> values(padded(products.size()), 0.0);
  std::copy(products.begin(), products.end(), values.begin());
  apply_kernel<double, double>()(f, {}, values.data(), values.size(), values.data());
  values.resize(products.size());
  return values;
}

} // namespace

bool has_centre(KernelKind kind) {
  return kind == KernelKind::linear || kind == KernelKind::poly || kind == KernelKind::sigmoid;
}

std::vector<double> constant_offsets(KernelKind kind, std::size_t n) {
  return std::vector<double>(n, kind == KernelKind::rbf ? 0.5 : 0.0);
}

std::vector<double> offsets_about(const KernelFunction& f, const CentreProducts& centre,
                                  std::span<const double> squared_norms) {
  const double half = apply_to(f, {&centre.squared_norm, 1}).front() / 2;
  std::vector<double> offsets = apply_to(f, centre.with_rows);
  const std::vector<double> diagonal = apply_to(f, squared_norms);
  std::vector<double> centred(diagonal.size());
  bool is_finite = true; // a kernel that overflows is left as it is
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] -= half;
    centred[i] = diagonal[i] - 2 * offsets[i];
    is_finite = is_finite && std::isfinite(centred[i]);
  }
  if (!is_finite || !(median_magnitude(centred) < median_magnitude(diagonal)))
    std::fill(offsets.begin(), offsets.end(), 0.0);
  return offsets;
}

template <class P>
Offsets<P>::Offsets(std::vector<double> offsets, bool is_in_values)
    : n_(static_cast<std::ptrdiff_t>(offsets.size())), padded_(std::move(offsets)),
      is_taken_off_(!is_in_values &&
                    std::any_of(padded_.begin(), padded_.end(), [](double o) { return o != 0; })) {
  if (is_taken_off_ && !std::is_same_v<P, double>)
    throw std::invalid_argument("Centred kernel values need products in float64.");
  padded_.resize(padded(padded_.size()), 0.0);
}

template <class P> simd::Terms<P> Offsets<P>::terms(std::size_t i, std::size_t column) const {
  if constexpr (std::is_same_v<P, double>)
    if (is_taken_off_)
      return {padded_[i], padded_.data() + column};
  return {};
}

template class Offsets<float>;
template class Offsets<double>;

} // namespace alphapath
