#include "primal/sums/loss_sums.hpp"

#include "base/parallel.hpp"

#include <algorithm>

namespace alphapath {

namespace {

constexpr std::size_t min_chunk = 16384;
constexpr std::size_t max_chunks = 16;

class FullSums final : public MarginSums {
public:
  FullSums(const MarginTask& task, std::size_t n_threads)
      : MarginSums(task), pass_(task, n_threads) {}

  double evaluate(const double* w, double b, double* gradient) override {
    ++counts_.n_evaluations;
    counts_.n_examined += static_cast<std::int64_t>(task_.rows.size());
    return pass_(w, b, gradient);
  }

private:
  FullPass pass_;
};

} // namespace

FullPass::FullPass(const MarginTask& task, std::size_t n_threads)
    : task_(task), n_threads_(n_threads) {
  const std::size_t n = task.rows.size();
  chunk_ = std::max(min_chunk, (n + max_chunks - 1) / max_chunks);
  values_.resize((n + chunk_ - 1) / chunk_);
  gradients_.assign(values_.size(), std::vector<double>(task.rows.n_columns() + 1));
}

double FullPass::operator()(const double* w, double b, double* gradient, double* margins) {
  const std::size_t n = task_.rows.size();
  for_each_piece(values_.size(), {n_threads_, nullptr}, [&](std::size_t c, std::size_t) {
    const std::size_t first = c * chunk_;
    values_[c] = sum_rows(first, std::min(n, first + chunk_), w, b, gradients_[c].data(), margins);
  });
  const std::size_t d = task_.rows.n_columns() + 1;
  std::fill_n(gradient, d, 0.0);
  double value = 0.0;
  for (std::size_t c = 0; c < values_.size(); ++c) {
    value += values_[c];
    for (std::size_t j = 0; j < d; ++j)
      gradient[j] += gradients_[c][j];
  }
  return value;
}

double FullPass::sum_rows(std::size_t first, std::size_t end, const double* w, double b,
                          double* gradient, double* margins) const {
  const std::size_t d = task_.rows.n_columns();
  std::fill_n(gradient, d + 1, 0.0);
  double value = 0.0;
  double dots[margin_block];
  double coef[margin_block];
  for (; first < end; first += margin_block) {
    const RowList rows = all_rows(first, std::min(margin_block, end - first));
    task_.rows.dots(rows, w, dots);
    for (std::size_t k = 0; k < rows.count; ++k) {
      const std::size_t i = first + k;
      const double m = task_.labels[i] * (dots[k] + b);
      value += task_.weights[i] * task_.loss.value(m);
      coef[k] = task_.weights[i] * task_.labels[i] * task_.loss.slope(m);
      gradient[d] += coef[k];
      if (margins != nullptr)
        margins[i] = m;
    }
    task_.rows.add_rows(rows, coef, gradient);
  }
  return value;
}

std::unique_ptr<MarginSums> make_margin_sums(const MarginTask& task, MarginMethod method,
                                             std::size_t n_threads) {
  switch (method) {
  case MarginMethod::lazy:
    return make_lazy_sums(task, n_threads, false);
  case MarginMethod::clusters:
    return make_lazy_sums(task, n_threads, true);
  case MarginMethod::sorted:
    return make_sorted_sums(task, n_threads);
  default:
    return std::make_unique<FullSums>(task, n_threads);
  }
}

} // namespace alphapath
