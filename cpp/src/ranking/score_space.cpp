#include "ranking/score_space.hpp"

#include <algorithm>

namespace alphapath {

namespace {

class LinearSpace final : public ScoreSpace {
public:
  explicit LinearSpace(const MarginRows& rows) : rows_(rows) {}

  std::size_t size() const override { return rows_.size(); }
  std::size_t width() const override { return rows_.n_columns(); }
  bool is_scores() const override { return false; }
  void add(std::span<const std::int32_t> rows, const double* coef, double* v) const override {
    rows_.add_rows(listed_rows(rows), coef, v);
  }
  void scores(std::size_t first, std::size_t count, const double* v, double* f) const override {
    rows_.dots(all_rows(first, count), v, f);
  }
  void scores_at(std::span<const std::int32_t> rows, const double* v, double* f) const override {
    rows_.dots(listed_rows(rows), v, f);
  }
  void block(std::size_t first, std::size_t count, double* out) const override {
    std::vector<double> x(width());
    for (std::size_t k = 0; k < count; ++k) {
      const std::int32_t row = static_cast<std::int32_t>(first + k);
      const double one = 1.0;
      std::fill(x.begin(), x.end(), 0.0);
      rows_.add_rows(listed_rows({&row, 1}), &one, x.data());
      rows_.dots(all_rows(first, count), x.data(), out + k * count);
    }
  }

private:
  const MarginRows& rows_;
};

/// The stored values of a kernel are centred; with coefficients that sum to 0 the offsets shift all
/// scores by one number, and of two pairs' inner product they cancel.
class KernelSpace final : public ScoreSpace {
public:
  explicit KernelSpace(const KernelRows& kernel) : kernel_(kernel) {}

  std::size_t size() const override { return kernel_.size(); }
  std::size_t width() const override { return kernel_.size(); }
  bool is_scores() const override { return true; }
  void add(std::span<const std::int32_t> rows, const double* coef, double* v) const override {
    const std::vector<std::size_t> which(rows.begin(), rows.end());
    multiply_add(kernel_, which, {coef, rows.size()}, {v, width()});
  }
  void scores(std::size_t first, std::size_t count, const double* v, double* f) const override {
    std::copy_n(v + first, count, f);
  }
  void scores_at(std::span<const std::int32_t> rows, const double* v, double* f) const override {
    for (std::size_t k = 0; k < rows.size(); ++k)
      f[k] = v[static_cast<std::size_t>(rows[k])];
  }
  void block(std::size_t first, std::size_t count, double* out) const override {
    std::vector<std::size_t> rows(count);
    for (std::size_t k = 0; k < count; ++k)
      rows[k] = first + k;
    kernel_.prefetch(rows);
    for (std::size_t k = 0; k < count; ++k) {
      const KernelRow pin = kernel_.row(first + k);
      std::copy_n(static_cast<const double*>(pin.data) + first, count, out + k * count);
    }
  }

private:
  const KernelRows& kernel_;
};

} // namespace

std::unique_ptr<ScoreSpace> make_linear_space(const MarginRows& rows) {
  return std::make_unique<LinearSpace>(rows);
}

std::unique_ptr<ScoreSpace> make_kernel_space(const KernelRows& kernel) {
  return std::make_unique<KernelSpace>(kernel);
}

} // namespace alphapath
