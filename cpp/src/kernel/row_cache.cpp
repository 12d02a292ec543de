#include "kernel/row_cache.hpp"

#include <atomic>

namespace alphapath {

template <class T> typename RowCache<T>::Row RowCache<T>::find(std::size_t i) {
  if (!contains(i))
    return nullptr;
  Slot& slot = slots_[slot_of_[i]];
  slot.use = slot.use == Use::fresh ? Use::idle : Use::recent;
  return slot.values;
}

/// The next slot with a row in it that was not used since the hand's last visit.
template <class T> typename RowCache<T>::Slot& RowCache<T>::next_victim() {
  while (true) {
    hand_ = (hand_ + 1) % slots_.size();
    Slot& slot = slots_[hand_];
    if (slot.row == absent)
      continue;
    if (slot.use != Use::recent)
      return slot;
    slot.use = Use::idle;
  }
}

template <class T> typename RowCache<T>::Row RowCache<T>::make_room() {
  Row row;
  if (n_held_ > 0 && n_held_ + n_reserved_ >= capacity_) {
    Slot& slot = next_victim();
    slot_of_[slot.row] = absent;
    slot.row = absent;
    free_.push_back(static_cast<std::size_t>(&slot - slots_.data()));
    row = std::move(slot.values);
    --n_held_;
    // The count can not rise while the owner's lock is held; the fence orders the last reader's
    // loads before the stores to come.
    if (row.use_count() > 1)
      row = nullptr;
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  if (!row)
    row = std::make_shared<Buffer<T>>(stride_);
  ++n_reserved_;
  return row;
}

template <class T> typename RowCache<T>::Row RowCache<T>::insert(std::size_t i, Row row) {
  --n_reserved_;
  if (contains(i))
    return slots_[slot_of_[i]].values;
  if (free_.empty()) {
    free_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const std::size_t at = free_.back();
  free_.pop_back();
  slots_[at] = {i, Use::fresh, row};
  slot_of_[i] = at;
  ++n_held_;
  return row;
}

template class RowCache<float>;
template class RowCache<double>;

} // namespace alphapath
