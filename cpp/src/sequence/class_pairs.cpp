#include "sequence/class_pairs.hpp"

#include "base/parallel.hpp"
#include "problem/limits.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace alphapath {

namespace {

// From so many instances on, of which a pair has at most this share, its values are scattered over
// a row and most of reading it is waiting for memory.
constexpr std::size_t many_instances = 1000;
constexpr double few_of_all = 0.3;

/// The kernel that pairs take their rows from: in the order in which instances first come in the
/// pairs, so that those of a class lie together, where that pays; and the place of each instance.
class Source {
public:
  Source(const ClassPairs& pairs, std::size_t memory_limit) : kernel_(pairs.kernel) {
    const std::size_t n = kernel_->size();
    const std::size_t value_size =
        kernel_->precision() == Precision::float32 ? sizeof(float) : sizeof(double);
    const double mean_size =
        static_cast<double>(pairs.members.size()) / static_cast<double>(pairs.n_pairs());
    if (n < many_instances || mean_size > few_of_all * static_cast<double>(n) ||
        n * kernel_->stride() * value_size > memory_limit || kernel_->is_on_demand())
      return;
    std::vector<std::uint32_t> order;
    place_.assign(n, static_cast<std::uint32_t>(n));
    for (const std::uint32_t i : pairs.members)
      if (place_[i] == n) {
        place_[i] = static_cast<std::uint32_t>(order.size());
        order.push_back(i);
      }
    if (std::ranges::is_sorted(order)) {
      place_.clear();
      return;
    }
    kernel_ = make_part_matrix(kernel_, std::move(order));
  }

  std::shared_ptr<KernelMatrix> part(std::span<const std::uint32_t> members) const {
    std::vector<std::uint32_t> own(members.begin(), members.end());
    if (!place_.empty())
      for (std::uint32_t& i : own)
        i = place_[i];
    return make_part_matrix(kernel_, std::move(own));
  }

private:
  std::shared_ptr<const KernelMatrix> kernel_;
  std::vector<std::uint32_t> place_; // of each instance; empty: where it is
};

/// The weights of a pair's members, row by row.
std::vector<double> pick_weights(const ClassPairs& pairs, std::span<const std::uint32_t> members) {
  const std::size_t n = pairs.kernel->size(), n_rows = pairs.weights.size() / n;
  std::vector<double> picked;
  picked.reserve(n_rows * members.size());
  for (std::size_t row = 0; row < n_rows; ++row)
    for (const std::uint32_t i : members)
      picked.push_back(pairs.weights[row * n + i]);
  return picked;
}

PairStep keep_support(StepResult result, std::span<const std::uint32_t> members) {
  PairStep kept;
  const std::vector<double> beta = std::exchange(result.solve.beta, {});
  result.solve.gradient = {};
  for (std::size_t k = 0; k < beta.size(); ++k)
    if (beta[k] != 0) {
      kept.rows.push_back(members[k]);
      kept.beta.push_back(beta[k]);
    }
  kept.result = std::move(result);
  return kept;
}

std::vector<PairStep> solve_pair(const ClassPairs& pairs, const Source& source, std::size_t p,
                                 std::span<const Step> steps, const SolveOptions& options,
                                 double time_limit) {
  const std::size_t begin = pairs.first[p], count = pairs.first[p + 1] - begin;
  const std::span<const std::uint32_t> members = pairs.members.subspan(begin, count);
  const std::span<const double> signs = pairs.signs.subspan(begin, count);
  const std::shared_ptr<KernelMatrix> part = source.part(members);
  std::vector<double> lower(count), upper(count);
  for (std::size_t k = 0; k < count; ++k) {
    lower[k] = std::min(signs[k], 0.0);
    upper[k] = std::max(signs[k], 0.0);
  }
  const std::vector<double> weights = pick_weights(pairs, members);
  const Family family{*part, signs, lower, upper, 0, 0, weights, {}};
  SequenceWorkspace workspace(*part);
  std::vector<PairStep> kept;
  for (StepResult& step : solve_sequence(family, steps, {}, options, time_limit, workspace))
    kept.push_back(keep_support(std::move(step), members));
  return kept;
}

} // namespace

std::vector<std::vector<PairStep>>
solve_class_pairs(const ClassPairs& pairs, std::span<const Step> steps, const SolveOptions& options,
                  double total_time_limit, std::size_t n_threads) {
  const Source source(pairs, options.memory_limit);
  const Watch clock(0, {});
  std::atomic<bool> is_stopped = false;
  std::vector<std::vector<PairStep>> done(pairs.n_pairs());
  SolveOptions helper = options, leader = options; // only the caller's thread may ask
  helper.wants_stop = [&] { return is_stopped.load(); };
  if (options.wants_stop)
    leader.wants_stop = [&] {
      if (options.wants_stop())
        is_stopped = true;
      return is_stopped.load();
    };
  Watch watch(0, leader.wants_stop);
  for_each_piece(pairs.n_pairs(), {n_threads, nullptr}, [&](std::size_t p, std::size_t worker) {
    if (worker == 0)
      watch.should_stop(); // a solve may be too short to ask
    const double left = total_time_limit - clock.seconds();
    if (is_stopped || (total_time_limit > 0 && left <= 0))
      return;
    const double limit = total_time_limit > 0 ? left : 0;
    done[p] = solve_pair(pairs, source, p, steps, worker == 0 ? leader : helper, limit);
  });
  return done;
}

} // namespace alphapath
