// What is to be known of a given kernel matrix before it is used.
#pragma once

#include "simd/kernel/sample_loops.hpp"

#include <cstddef>

namespace alphapath {

/// Of the pairs (K_ij, K_ji) of an n x n matrix without padding (0 counts for lowest and highest);
/// in one pass and without a copy.
simd::PairFacts look_at_matrix(const double* values, std::size_t n);

} // namespace alphapath
