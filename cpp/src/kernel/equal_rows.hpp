// Rows of numbers that are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace alphapath {

/// For each of n row-major rows the first one that equals it (0.0 and -0.0 do; NaN equals
/// nothing); empty where no two are equal. Equal rows have equal hashes.
std::vector<std::int64_t> first_equal(const double* rows, std::size_t n, std::size_t n_columns,
                                      const std::uint64_t* hashes);

} // namespace alphapath
