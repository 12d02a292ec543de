#include "kernel/kernel_matrix.hpp"

#include "kernel/member_gather.hpp"
#include "kernel/row_cache.hpp"

#include <bit>
#include <mutex>
#include <type_traits>
#include <unordered_set>

namespace alphapath {

namespace {

template <class T> class FullMatrix final : public KernelMatrix {
public:
  FullMatrix(const RowSource<T>& source, const Team& team)
      : KernelMatrix(source.diagonal(), source.offsets()), values_(size() * stride()) {
    source.write_matrix({values_.data(), stride()}, team);
  }

  Precision precision() const override {
    return std::is_same_v<T, float> ? Precision::float32 : Precision::float64;
  }
  const void* full() const override { return values_.data(); }
  KernelRow row(std::size_t i) const override { return {values_.data() + i * stride(), nullptr}; }
  void prefetch(std::span<const std::size_t>) const override {}
  std::size_t nbytes() const override { return values_.nbytes(); }
  std::size_t n_rows_computed() const override { return size(); }
  std::size_t n_hits() const override { return 0; }

private:
  Buffer<T> values_;
};

template <class T> class CachedMatrix final : public KernelMatrix {
public:
  CachedMatrix(std::unique_ptr<RowSource<T>> source, std::size_t capacity, Owner owner)
      : KernelMatrix(source->diagonal(), source->offsets()), owner_(std::move(owner)),
        source_(std::move(source)), cache_(size(), stride(), capacity) {}

  Precision precision() const override {
    return std::is_same_v<T, float> ? Precision::float32 : Precision::float64;
  }
  const void* full() const override { return nullptr; }
  KernelRow row(std::size_t i) const override;
  void prefetch(std::span<const std::size_t> rows) const override;

  std::size_t nbytes() const override {
    const std::lock_guard lock(mutex_);
    return cache_.nbytes() + source_->nbytes();
  }
  std::size_t n_rows_computed() const override { return n_computed_; }
  std::size_t n_hits() const override { return n_hits_; }

private:
  using Row = typename RowCache<T>::Row;

  std::vector<Row> compute(std::span<const std::size_t> rows, std::vector<Row> memory) const;

  Owner owner_;
  std::unique_ptr<RowSource<T>> source_;
  mutable std::mutex mutex_;
  mutable RowCache<T> cache_;
  mutable std::atomic<std::size_t> n_computed_{0}, n_hits_{0};
};

template <class T> KernelRow CachedMatrix<T>::row(std::size_t i) const {
  Row row;
  {
    const std::lock_guard lock(mutex_);
    row = cache_.find(i);
    if (row) {
      ++n_hits_;
      return {row->data(), row};
    }
    row = cache_.make_room();
  }
  row = compute({&i, 1}, {row}).front();
  return {row->data(), row};
}

template <class T> void CachedMatrix<T>::prefetch(std::span<const std::size_t> rows) const {
  std::vector<std::size_t> missing;
  std::vector<Row> memory;
  {
    const std::lock_guard lock(mutex_);
    // More than half of the cache at once would evict what was fetched a moment ago.
    const std::size_t most = cache_.capacity() / 2;
    std::unordered_set<std::size_t> listed;
    for (const std::size_t i : rows) {
      if (missing.size() == most)
        break;
      if (!cache_.contains(i) && listed.insert(i).second)
        missing.push_back(i);
    }
    for (std::size_t k = 0; k < missing.size(); ++k)
      memory.push_back(cache_.make_room());
  }
  if (!missing.empty())
    compute(missing, std::move(memory));
}

/// Computes outside the lock, so that readers of other rows do not wait.
template <class T>
std::vector<typename CachedMatrix<T>::Row>
CachedMatrix<T>::compute(std::span<const std::size_t> rows, std::vector<Row> memory) const {
  std::vector<T*> out;
  for (const Row& row : memory)
    out.push_back(row->data());
  try {
    source_->write_rows(rows, out);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    for (std::size_t k = 0; k < rows.size(); ++k)
      cache_.give_up();
    throw;
  }
  n_computed_ += rows.size();
  const std::lock_guard lock(mutex_);
  for (std::size_t k = 0; k < rows.size(); ++k)
    memory[k] = cache_.insert(rows[k], std::move(memory[k]));
  return memory;
}

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

template <class T> class PartMatrix final : public KernelMatrix {
public:
  PartMatrix(std::shared_ptr<const KernelMatrix> whole, std::vector<std::uint32_t> members)
      : KernelMatrix(pick(whole->diagonal(), members), pick(whole->offset(), members)),
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
  std::shared_ptr<const KernelMatrix> whole_;
  std::vector<std::uint32_t> members_;
  MemberGather chunks_;
  mutable Buffer<T> values_;
  mutable std::mutex mutex_; // of whoever copies a row
  mutable std::vector<std::atomic<bool>> is_copied_;
};

} // namespace

template <class T>
std::shared_ptr<KernelMatrix> make_full_matrix(const RowSource<T>& source, const Team& team) {
  return std::make_shared<FullMatrix<T>>(source, team);
}

template std::shared_ptr<KernelMatrix> make_full_matrix(const RowSource<float>&, const Team&);
template std::shared_ptr<KernelMatrix> make_full_matrix(const RowSource<double>&, const Team&);

template <class T>
std::shared_ptr<KernelMatrix> make_cached_matrix(std::unique_ptr<RowSource<T>> source,
                                                 std::size_t capacity, Owner owner) {
  return std::make_shared<CachedMatrix<T>>(std::move(source), capacity, std::move(owner));
}

template std::shared_ptr<KernelMatrix> make_cached_matrix(std::unique_ptr<RowSource<float>>,
                                                          std::size_t, Owner);
template std::shared_ptr<KernelMatrix> make_cached_matrix(std::unique_ptr<RowSource<double>>,
                                                          std::size_t, Owner);

std::shared_ptr<KernelMatrix> make_part_matrix(std::shared_ptr<const KernelMatrix> whole,
                                               std::vector<std::uint32_t> members) {
  if (whole->precision() == Precision::float32)
    return std::make_shared<PartMatrix<float>>(std::move(whole), std::move(members));
  return std::make_shared<PartMatrix<double>>(std::move(whole), std::move(members));
}

} // namespace alphapath
