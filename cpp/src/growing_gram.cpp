#include "growing_gram.hpp"

#include <algorithm>

namespace alphapath {

void GrowingGram::reserve(std::size_t n_slots) {
  if (n_slots <= size())
    return;
  const std::size_t old_n = size(), old_stride = stride(), new_stride = padded(n_slots);
  Buffer<double> wider(n_slots * new_stride);
  std::fill_n(wider.data(), wider.size(), 0.0);
  for (std::size_t i = 0; i < old_n; ++i)
    std::copy_n(values_.data() + i * old_stride, old_n, wider.data() + i * new_stride);
  values_ = std::move(wider);
  diagonal_.resize(n_slots, 0.0);
  offsets_.resize(n_slots, 0.0);
}

void GrowingGram::fill(std::size_t slot, double offset, std::span<const std::size_t> others,
                       const double* values) {
  ++n_filled_;
  offsets_[slot] = offset;
  const std::size_t width = stride();
  double* own = values_.data() + slot * width;
  for (std::size_t k = 0; k < others.size(); ++k) {
    own[others[k]] = values[k];
    values_[others[k] * width + slot] = values[k];
  }
  diagonal_[slot] = own[slot];
}

} // namespace alphapath
