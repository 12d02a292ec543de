#include "support/check.hpp"

#include "base/buffer.hpp"

#include <cstdint>
#include <iterator>
#include <list>
#include <utility>

namespace alphapath {
namespace {

// One value a page is enough to see whether two buffers share memory, or a page is gone.
constexpr std::size_t step = 4096 / sizeof(double);

void fill(Buffer<double>& buffer, double value) {
  for (std::size_t k = 0; k < buffer.size(); k += step)
    buffer[k] = value;
}

bool holds(const Buffer<double>& buffer, double value) {
  for (std::size_t k = 0; k < buffer.size(); k += step)
    if (buffer[k] != value)
      return false;
  return true;
}

TEST(memory_that_is_used_again_belongs_to_one_buffer) {
  std::list<std::pair<Buffer<double>, double>> live;
  std::uint32_t random = 1;
  for (int turn = 0; turn < 60; ++turn) {
    random = random * 1664525u + 1013904223u;
    if (live.size() > 3 || (turn % 3 == 2 && !live.empty())) {
      const auto gone = std::next(live.begin(), random % live.size());
      CHECK(holds(gone->first, gone->second));
      live.erase(gone);
      continue;
    }
    const std::size_t megabytes = 24 + (random >> 8) % 60; // some small, some mapped
    live.emplace_back(Buffer<double>(megabytes * (std::size_t{1} << 17) + turn), turn);
    CHECK(reinterpret_cast<std::uintptr_t>(live.back().first.data()) % 64 == 0);
    fill(live.back().first, turn);
    for (const auto& [buffer, value] : live)
      CHECK(holds(buffer, value));
  }
}

} // namespace
} // namespace alphapath
