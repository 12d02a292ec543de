#include "base/buffer.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace alphapath {

namespace {

constexpr std::align_val_t alignment{64};

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Blocks of a middle size that were released a moment ago. The C library would give them back to
// the system, and a search that makes one small matrix after the other would spend most of its
// time on the page faults of the next.
class SpareBlocks {
public:
  static constexpr std::size_t unit = std::size_t{64} << 10;
  static constexpr std::size_t largest = std::size_t{32} << 20;
  static constexpr std::size_t most_bytes = std::size_t{48} << 20;

  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (std::size_t k = blocks_.size(); k-- > 0;) {
      if (blocks_[k].bytes != bytes)
        continue;
      void* memory = blocks_[k].memory;
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(k));
      n_bytes_ -= bytes;
      return memory;
    }
    return nullptr;
  }

  void put(void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    while (!blocks_.empty() && n_bytes_ + bytes > most_bytes) {
      ::operator delete(blocks_.front().memory, alignment);
      n_bytes_ -= blocks_.front().bytes;
      blocks_.erase(blocks_.begin());
    }
    blocks_.push_back({memory, bytes});
    n_bytes_ += bytes;
  }

private:
  struct Block {
    void* memory;
    std::size_t bytes;
  };

  std::mutex mutex_;
  std::vector<Block> blocks_; // the oldest first
  std::size_t n_bytes_ = 0;
};

SpareBlocks& spare_blocks() {
  // Never destroyed: buffers may be released after the static objects are gone.
  static auto* const blocks = new SpareBlocks;
  return *blocks;
}

// With an address sanitizer every block goes back at once, so that late readers are caught.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool keeps_spare = false;
#else
constexpr bool keeps_spare = true;
#endif

bool is_spareable(std::size_t bytes) {
  return keeps_spare && bytes >= SpareBlocks::unit && bytes < SpareBlocks::largest;
}

#if defined(__linux__)
constexpr std::size_t smallest_mapping = SpareBlocks::largest;
constexpr std::size_t huge_page = std::size_t{2} << 20;

// Mappings that were released a moment ago. Clearing fresh pages takes as long as filling them with
// the kernel of sparse rows, so the next matrix begins on these. The system may take their pages
// back whenever it is short of memory, and none stays beside a fresh mapping.
class SpareMappings {
public:
  static constexpr std::size_t most_bytes = std::size_t{1} << 30;

  /// The smallest that is large enough, cut to size. Where more than half would be cut off, or all
  /// are too small, none; and all are given back.
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto best = blocks_.lower_bound(bytes);
    if (best == blocks_.end() || best->first / 2 > bytes) {
      while (!blocks_.empty())
        give_back_smallest();
      return nullptr;
    }
    const auto [length, memory] = *best;
    blocks_.erase(best);
    n_bytes_ -= length;
    if (length > bytes)
      munmap(static_cast<char*>(memory) + bytes, length - bytes);
    return memory;
  }

  /// Keep a mapping, in place of others where there are too many; false for one that is too large.
  bool put(void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > most_bytes || madvise(memory, bytes, MADV_FREE) != 0)
      return false;
    while (n_bytes_ + bytes > most_bytes)
      give_back_smallest();
    blocks_.emplace(bytes, memory);
    n_bytes_ += bytes;
    return true;
  }

private:
  void give_back_smallest() {
    const auto smallest = blocks_.begin();
    munmap(smallest->second, smallest->first);
    n_bytes_ -= smallest->first;
    blocks_.erase(smallest);
  }

  std::mutex mutex_;
  std::multimap<std::size_t, void*> blocks_; // by length
  std::size_t n_bytes_ = 0;
};

SpareMappings& spare_mappings() {
  static auto* const mappings = new SpareMappings; // never destroyed, as above
  return *mappings;
}

void* map_huge(std::size_t bytes) {
  // One huge page more than needed, so that a piece starting on a huge page can be cut out.
  const std::size_t wanted = round_up(bytes, huge_page);
  if (void* spare = keeps_spare ? spare_mappings().take(wanted) : nullptr)
    return spare;
  void* memory =
      mmap(nullptr, wanted + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  const auto start = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t aligned = round_up(start, huge_page);
  if (aligned > start)
    munmap(memory, aligned - start);
  const std::size_t behind = start + huge_page - aligned;
  if (behind > 0)
    munmap(reinterpret_cast<void*>(aligned + wanted), behind);
  madvise(reinterpret_cast<void*>(aligned), wanted, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

void unmap_huge(void* memory, std::size_t bytes) {
  const std::size_t length = round_up(bytes, huge_page);
  if (!keeps_spare || !spare_mappings().put(memory, length))
    munmap(memory, length);
}
#endif

} // namespace

bool is_touch_slow(std::size_t bytes) {
#if defined(__linux__)
  // What rows one by one cost besides is won back from about here on (covtype, 20,000 to 40,000
  // rows, of which a third are needed).
  constexpr double slow = 0.6e-9; // seconds a byte
  constexpr std::size_t page = 4096, largest_sample = std::size_t{512} << 20;
  if (bytes < smallest_deferred)
    return false;
  // Other threads may have the processor: their time does not count.
  const auto seconds = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  Buffer<char> sample(std::min(bytes / 8, largest_sample));
  const double start = seconds();
  for (std::size_t at = 0; at < sample.size(); at += page)
    sample[at] = 1;
  return seconds() - start > slow * static_cast<double>(sample.size());
#else
  static_cast<void>(bytes);
  return false;
#endif
}

void* allocate_aligned(std::size_t bytes) {
#if defined(__linux__)
  if (bytes >= smallest_mapping)
    return map_huge(bytes);
#endif
  if (!is_spareable(bytes))
    return ::operator new(bytes, alignment);
  const std::size_t rounded = round_up(bytes, SpareBlocks::unit);
  void* memory = spare_blocks().take(rounded);
  return memory != nullptr ? memory : ::operator new(rounded, alignment);
}

void release_aligned(void* memory, std::size_t bytes) {
  if (memory == nullptr)
    return;
#if defined(__linux__)
  if (bytes >= smallest_mapping) {
    unmap_huge(memory, bytes);
    return;
  }
#endif
  if (is_spareable(bytes))
    spare_blocks().put(memory, round_up(bytes, SpareBlocks::unit));
  else
    ::operator delete(memory, alignment);
}

} // namespace alphapath
