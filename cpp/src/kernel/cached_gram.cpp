#include "kernel/kernel_matrix.hpp"
#include "kernel/row_cache.hpp"

#include <mutex>
#include <type_traits>
#include <unordered_set>

namespace alphapath {

namespace {

template <class T> class CachedGram final : public Gram {
public:
  CachedGram(std::unique_ptr<RowSource<T>> source, std::size_t capacity, Owner owner)
      : Gram(source->diagonal(), source->offsets()), owner_(std::move(owner)),
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

template <class T> KernelRow CachedGram<T>::row(std::size_t i) const {
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

template <class T> void CachedGram<T>::prefetch(std::span<const std::size_t> rows) const {
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
std::vector<typename CachedGram<T>::Row> CachedGram<T>::compute(std::span<const std::size_t> rows,
                                                                std::vector<Row> memory) const {
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

} // namespace

template <class T>
std::shared_ptr<Gram> make_cached_gram(std::unique_ptr<RowSource<T>> source, std::size_t capacity,
                                       Owner owner) {
  return std::make_shared<CachedGram<T>>(std::move(source), capacity, std::move(owner));
}

template std::shared_ptr<Gram> make_cached_gram(std::unique_ptr<RowSource<float>>, std::size_t,
                                                Owner);
template std::shared_ptr<Gram> make_cached_gram(std::unique_ptr<RowSource<double>>, std::size_t,
                                                Owner);

} // namespace alphapath
