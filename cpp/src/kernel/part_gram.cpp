#include "kernel/kernel_matrix.hpp"
#include "kernel/member_gather.hpp"

#include <bit>
#include <mutex>
#include <type_traits>

namespace alphapath {

namespace {

std::vector<double> pick(std::span<const double> values, std::span<const std::uint32_t> members) {
  std::vector<double> picked;
  picked.reserve(members.size());
  for (const std::uint32_t i : members)
    picked.push_back(values[i]);
  return picked;
}

/// Room for all rows, of a size that the parts after this one are likely to ask for again.
std::size_t size_to_share(std::size_t n) {
  return std::bit_ceil(n * padded(n));
}

template <class T> class PartGram final : public Gram {
public:
  PartGram(std::shared_ptr<const Gram> whole, std::vector<std::uint32_t> members)
      : Gram(pick(whole->diagonal(), members), pick(whole->offset(), members)),
        whole_(std::move(whole)), members_(std::move(members)), chunks_(members_),
        values_(size_to_share(size())), is_copied_(size()) {}

  Precision precision() const override {
    return std::is_same_v<T, float> ? Precision::float32 : Precision::float64;
  }
  const void* full() const override { return nullptr; }
  bool is_on_demand() const override { return whole_->is_on_demand(); }

  KernelRow row(std::size_t i) const override {
    T* const out = values_.data() + i * stride();
    if (!is_copied_[i].load(std::memory_order_acquire)) {
      const std::lock_guard lock(mutex_);
      if (!is_copied_[i].load(std::memory_order_relaxed)) {
        chunks_.copy_row(*whole_, members_[i], out);
        is_copied_[i].store(true, std::memory_order_release);
      }
    }
    return {out, nullptr};
  }

  void prefetch(std::span<const std::size_t> rows) const override {
    if (!is_on_demand())
      return;
    std::vector<std::size_t> missing;
    for (const std::size_t i : rows)
      if (!is_copied_[i].load(std::memory_order_relaxed))
        missing.push_back(members_[i]);
    whole_->prefetch(missing);
  }

  std::size_t nbytes() const override { return size() * stride() * sizeof(T); }
  std::size_t n_rows_computed() const override { return whole_->n_rows_computed(); }
  std::size_t n_hits() const override { return whole_->n_hits(); }

private:
  std::shared_ptr<const Gram> whole_;
  std::vector<std::uint32_t> members_;
  MemberChunks chunks_;
  mutable Buffer<T> values_;
  mutable std::mutex mutex_; // of whoever copies a row
  mutable std::vector<std::atomic<bool>> is_copied_;
};

} // namespace

std::shared_ptr<Gram> make_part_gram(std::shared_ptr<const Gram> whole,
                                     std::vector<std::uint32_t> members) {
  if (whole->precision() == Precision::float32)
    return std::make_shared<PartGram<float>>(std::move(whole), std::move(members));
  return std::make_shared<PartGram<double>>(std::move(whole), std::move(members));
}

} // namespace alphapath
