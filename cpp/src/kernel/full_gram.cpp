#include "kernel/kernel_matrix.hpp"

#include <type_traits>

namespace alphapath {

namespace {

template <class T> class FullGram final : public Gram {
public:
  FullGram(const RowSource<T>& source, const Team& team)
      : Gram(source.diagonal(), source.offsets()), values_(size() * stride()) {
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

} // namespace

template <class T>
std::shared_ptr<Gram> make_full_gram(const RowSource<T>& source, const Team& team) {
  return std::make_shared<FullGram<T>>(source, team);
}

template std::shared_ptr<Gram> make_full_gram(const RowSource<float>&, const Team&);
template std::shared_ptr<Gram> make_full_gram(const RowSource<double>&, const Team&);

} // namespace alphapath
