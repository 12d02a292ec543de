#include "buffer.hpp"

#include <cstdint>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace alphapath {

namespace {

constexpr std::align_val_t alignment{64};

#if defined(__linux__)
// Below this the C library's heap, which keeps freed memory, is the quicker source for the many
// small matrices of a search.
constexpr std::size_t smallest_mapping = std::size_t{8} << 20;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t mapped_bytes(std::size_t bytes) {
  return (bytes + huge_page - 1) / huge_page * huge_page;
}

void* map_huge(std::size_t bytes) {
  // One huge page more than needed, so that a piece starting on a huge page can be cut out.
  const std::size_t wanted = mapped_bytes(bytes);
  void* memory =
      mmap(nullptr, wanted + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  const auto start = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t aligned = (start + huge_page - 1) / huge_page * huge_page;
  if (aligned > start)
    munmap(memory, aligned - start);
  const std::size_t behind = start + huge_page - aligned;
  if (behind > 0)
    munmap(reinterpret_cast<void*>(aligned + wanted), behind);
  madvise(reinterpret_cast<void*>(aligned), wanted, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}
#endif

} // namespace

void* allocate_aligned(std::size_t bytes) {
#if defined(__linux__)
  if (bytes >= smallest_mapping)
    return map_huge(bytes);
#endif
  return ::operator new(bytes, alignment);
}

void release_aligned(void* memory, std::size_t bytes) {
  if (memory == nullptr)
    return;
#if defined(__linux__)
  if (bytes >= smallest_mapping) {
    munmap(memory, mapped_bytes(bytes));
    return;
  }
#endif
  ::operator delete(memory, alignment);
}

} // namespace alphapath
