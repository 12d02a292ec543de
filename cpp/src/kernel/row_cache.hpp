// Which rows are in memory, and which of them goes when another needs its place.
//
// CLOCK with a second chance: a hand walks over the slots, spares a row asked for since the last
// visit and takes the first other one. A row that was fetched ahead counts as asked for only from
// its second use on, so that one sweep over many rows does not push out those in steady use.
// Rows are handed out as shared pointers; an evicted row lives until its last reader is done, and
// only then does its memory serve another row. Not thread-safe by itself: the owner locks. Readers
// let go of rows in any thread.
#pragma once

#include "base/buffer.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace alphapath {

template <class T> class RowCache {
public:
  using Row = std::shared_ptr<Buffer<T>>;

  RowCache(std::size_t n, std::size_t stride, std::size_t capacity)
      : slot_of_(n, absent), stride_(stride), capacity_(capacity) {}

  std::size_t capacity() const { return capacity_; }
  std::size_t nbytes() const { return (n_held_ + n_reserved_) * stride_ * sizeof(T); }
  bool contains(std::size_t i) const { return slot_of_[i] != absent; }

  /// The row and a mark that it was used; null where it is absent.
  Row find(std::size_t i);
  /// Memory for one more row, taken from an evicted one where the cache is full. Each call is
  /// followed by one insert or one give_up.
  Row make_room();
  /// Puts a computed row in its place; returns the older one where another thread was faster.
  Row insert(std::size_t i, Row row);
  void give_up() { --n_reserved_; }

private:
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  enum class Use : unsigned char { fresh, idle, recent };
  struct Slot {
    std::size_t row = absent;
    Use use = Use::fresh;
    Row values;
  };

  /// Memory of evicted rows that have no reader left. The lock orders the last read of a row before
  /// the first write of the next one in the same memory.
  class Spares {
  public:
    std::unique_ptr<Buffer<T>> take();
    void keep(std::unique_ptr<Buffer<T>> memory) noexcept;

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Buffer<T>>> buffers_;
  };

  Slot& next_victim();

  std::vector<std::size_t> slot_of_;
  std::size_t stride_, capacity_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
  std::shared_ptr<Spares> spares_ = std::make_shared<Spares>();
  std::size_t hand_ = 0;
  std::size_t n_held_ = 0;
  std::size_t n_reserved_ = 0; // rows being computed
};

} // namespace alphapath
