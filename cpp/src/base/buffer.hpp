// Uninitialised memory on 64-byte boundaries. Large pieces ask the system for huge pages: the
// faults of a gigabyte in small pages cost a second. What is never touched costs nothing.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace alphapath {

inline constexpr std::size_t row_padding = 16; // elements; rows are padded to a multiple of it

inline std::size_t padded(std::size_t n) {
  return (n + row_padding - 1) / row_padding * row_padding;
}

void* allocate_aligned(std::size_t bytes);
void release_aligned(void* memory, std::size_t bytes);

/// Whether the first touch of this many bytes takes so long that a matrix of which one solve may
/// need a part is better made row by row. On a virtual machine whose host has yet to find the
/// memory it takes seconds a gigabyte, elsewhere hundredths. Never for less than
/// `smallest_deferred`.
bool is_touch_slow(std::size_t bytes);
inline constexpr std::size_t smallest_deferred = std::size_t{1} << 30;

template <class T> class Buffer {
public:
  Buffer() = default;
  explicit Buffer(std::size_t size)
      : data_(static_cast<T*>(allocate_aligned(size * sizeof(T)))), size_(size) {}
  ~Buffer() { release_aligned(data_, size_ * sizeof(T)); }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  bool is_empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t nbytes() const { return size_ * sizeof(T); }

private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Puts the memory of a vector on 64-byte boundaries: no load of a loop then straddles two lines.
template <class T> struct AlignedAllocator {
  using value_type = T;

  AlignedAllocator() = default;
  template <class U> AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, std::align_val_t{64}); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

template <class T> using AlignedVector = std::vector<T, AlignedAllocator<T>>;

} // namespace alphapath
