#include "kernel/row_cache.hpp"

namespace alphapath {

template <class T> std::unique_ptr<Buffer<T>> RowCache<T>::Spares::take() {
  const std::lock_guard lock(mutex_);
  if (buffers_.empty())
    return nullptr;
  auto memory = std::move(buffers_.back());
  buffers_.pop_back();
  return memory;
}

template <class T> void RowCache<T>::Spares::keep(std::unique_ptr<Buffer<T>> memory) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    buffers_.push_back(std::move(memory));
  } catch (const std::bad_alloc&) { // one buffer less to reuse
  }
}

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
  if (n_held_ > 0 && n_held_ + n_reserved_ >= capacity_) {
    Slot& slot = next_victim();
    slot_of_[slot.row] = absent;
    slot.row = absent;
    free_.push_back(static_cast<std::size_t>(&slot - slots_.data()));
    slot.values = nullptr; // its memory is spare now, or once its last reader is done
    --n_held_;
  }
  auto memory = spares_->take();
  if (!memory)
    memory = std::make_unique<Buffer<T>>(stride_);
  ++n_reserved_;
  return Row(memory.release(), [spares = spares_](Buffer<T>* buffer) {
    spares->keep(std::unique_ptr<Buffer<T>>(buffer));
  });
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
