#include "support/check.hpp"
#include "support/numbers.hpp"

#include "kernel/kernel_matrix.hpp"
#include "kernel/row_cache.hpp"

#include <thread>

namespace alphapath {
namespace {

using test::is_close;
using test::numbers;

TEST(multiply_add_sums_in_double) {
  const std::size_t n = 101;
  const auto x = numbers(n * 4);
  const Samples samples(x.data(), n, 4);
  const KernelFunction f{KernelKind::rbf, 0.7, 0, 0};
  const auto coef = numbers(n);
  std::vector<std::size_t> idx(n);
  for (std::size_t i = 0; i < n; ++i)
    idx[i] = (i * 37) % n;
  for (const std::size_t count : {0, 1, 7, 8, 9, 101}) {
    auto source = make_source<float>(samples, f, {});
    const auto full = make_full_matrix<float>(*source, {});
    const auto cached = make_cached_matrix<float>(std::move(source), 10, nullptr);
    std::vector<double> expected(n, 1.0), out(n, 1.0), again(n, 1.0);
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t j = 0; j < n; ++j)
        expected[j] += coef[k] * static_cast<const float*>(full->row(idx[k]).data)[j];
    multiply_add(*full, std::span(idx).first(count), std::span(coef).first(count), out);
    multiply_add(*cached, std::span(idx).first(count), std::span(coef).first(count), again);
    for (std::size_t j = 0; j < n; ++j) {
      CHECK(is_close(out[j], expected[j], 1e-13));
      CHECK(out[j] == again[j]);
    }
  }
}

TEST(row_cache_keeps_to_its_capacity) {
  const std::size_t n = 64;
  const auto x = numbers(n * 4);
  const Samples samples(x.data(), n, 4);
  const KernelFunction f{KernelKind::rbf, 0.7, 0, 0};
  auto source = make_source<float>(samples, f, {});
  const std::size_t packed = source->nbytes();
  const auto gram = make_cached_matrix<float>(std::move(source), 8, nullptr);
  const KernelRow held = gram->row(5);
  const float before = static_cast<const float*>(held.data)[9];
  std::vector<std::size_t> all(n);
  for (std::size_t i = 0; i < n; ++i)
    all[i] = i;
  for (int sweep = 0; sweep < 3; ++sweep) {
    gram->prefetch(all);
    for (std::size_t i = 0; i < n; ++i)
      (void)gram->row(i);
    CHECK(gram->nbytes() <= packed + 8 * n * sizeof(float));
  }
  CHECK(static_cast<const float*>(held.data)[9] == before);
  const std::size_t computed = gram->n_rows_computed();
  const std::size_t hits = gram->n_hits();
  (void)gram->row(63);
  CHECK(gram->n_rows_computed() == computed);
  CHECK(gram->n_hits() == hits + 1);
}

TEST(row_cache_serves_threads) {
  const std::size_t n = 80;
  const auto x = numbers(n * 4);
  const Samples samples(x.data(), n, 4);
  const KernelFunction f{KernelKind::rbf, 0.7, 0, 0};
  const auto full = make_full_matrix<double>(*make_source<double>(samples, f, {}), {});
  const auto cached = make_cached_matrix<double>(make_source<double>(samples, f, {}), 4, nullptr);
  std::vector<int> n_wrong(4, 0);
  {
    std::vector<std::jthread> readers;
    for (std::size_t t = 0; t < n_wrong.size(); ++t)
      readers.emplace_back([&, t] {
        for (std::size_t step = 0; step < 400; ++step) {
          const std::size_t i = (step * (2 * t + 3) + t) % n;
          const std::vector<std::size_t> next = {(i + 1) % n, (i + 2) % n};
          if (step % 5 == 0)
            cached->prefetch(next);
          const KernelRow row = cached->row(i);
          const auto* expected = static_cast<const double*>(full->row(i).data);
          for (std::size_t j = 0; j < n; ++j)
            n_wrong[t] += static_cast<const double*>(row.data)[j] != expected[j];
        }
      });
  }
  for (const int wrong : n_wrong)
    CHECK(wrong == 0);
}

TEST(memory_of_a_row_is_reused_after_its_last_reader) {
  RowCache<double> cache(8, 16, 2);
  auto first = cache.make_room();
  const Buffer<double>* memory = first.get();
  first = cache.insert(0, std::move(first));
  (void)cache.insert(1, cache.make_room());
  (void)cache.insert(2, cache.make_room()); // row 0 or 1 goes; row 0 still has a reader
  auto more = cache.make_room();
  CHECK(more.get() != memory);
  (void)cache.insert(3, std::move(more));
  CHECK(!cache.contains(0));
  first = nullptr;
  bool is_reused = false;
  for (const auto& row : {cache.make_room(), cache.make_room(), cache.make_room()})
    is_reused = is_reused || row.get() == memory;
  CHECK(is_reused);
}

} // namespace
} // namespace alphapath
