#include "kernel/equal_rows.hpp"

#include <algorithm>
#include <bit>

namespace alphapath {

std::vector<std::int64_t> first_equal(const double* rows, std::size_t n, std::size_t n_columns,
                                      const std::uint64_t* hashes) {
  struct Slot {
    std::uint64_t hash;
    std::int64_t row = -1;
  };
  const std::size_t size = std::bit_ceil(2 * std::max<std::size_t>(n, 1));
  std::vector<Slot> slots(size);
  std::vector<std::int64_t> firsts(n);
  bool has_equal = false;
  for (std::size_t i = 0; i < n; ++i) {
    const double* const own = rows + i * n_columns;
    const std::uint64_t code = hashes[i];
    firsts[i] = static_cast<std::int64_t>(i);
    for (std::size_t at = (code ^ (code >> 32)) & (size - 1);; at = (at + 1) & (size - 1)) {
      Slot& slot = slots[at];
      if (slot.row < 0) {
        slot = {code, firsts[i]};
        break;
      }
      if (slot.hash == code &&
          std::equal(own, own + n_columns, rows + static_cast<std::size_t>(slot.row) * n_columns)) {
        firsts[i] = slot.row;
        has_equal = true;
        break;
      }
    }
  }
  if (!has_equal)
    firsts.clear();
  return firsts;
}

} // namespace alphapath
