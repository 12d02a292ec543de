#pragma once

#include <cstdint>
#include <vector>

namespace alphapath::test {

/// Numbers in [-1, 1) from a plain linear congruence: the same on every machine.
inline std::vector<double> numbers(std::size_t count) {
  std::vector<double> values(count);
  std::uint64_t state = 12345;
  for (double& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<double>(state >> 11) * 0x1p-52 - 1.0;
  }
  return values;
}

} // namespace alphapath::test
