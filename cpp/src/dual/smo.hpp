// SMO in one precision: on a working set of instances.
//
//   repeat  i = argmin of the rising slopes, stop when no falling slope exceeds it by tol
//           j = argmax over falling slopes of (slope_j - slope_i)^2 / curvature   (second order)
//           move beta_i up and beta_j down by the same amount, to the minimum or the first bound
//
// Two passes over contiguous memory per iteration: one updates g and picks the next i, one picks j.
// On entry and exit of every public function the state's beta is feasible.
#pragma once

#include "dual/smo_state.hpp"
#include "simd/dual/smo_loops.hpp"

#include <memory>

namespace alphapath {

template <class T> class Smo {
public:
  explicit Smo(SmoState& state);
  ~Smo();
  Smo(const Smo&) = delete;
  Smo& operator=(const Smo&) = delete;

  /// Runs until the violation, recomputed in double, is at most tol (true), or until a limit or
  /// rounding ends it (false).
  bool run(double tol);

private:
  enum class Pause { converged, checkpoint, drifted, stuck, limit };

  void work_on_all();
  bool work_on_near();
  void widen(double tol);
  bool is_near_too_long() const { return state_.result.n_iter >= near_until_; }
  double violation() const { return static_cast<double>(extremes_.max_down - extremes_.min_up); }
  void work_on(WorkingRows<T>& rows);
  void load_gradient(double middle);
  void update(const T* row_i, const T* row_j, double step);
  void mark(std::size_t k);
  bool move_pair(std::size_t ki, std::size_t kj, const T* row_i);
  void prefetch_rows();
  Pause iterate(double tol, std::int64_t period);
  std::vector<std::uint32_t> free_members() const;
  bool has_solved_free_set() const { return state_.result.n_free_set_solves > 0; }
  bool try_free_set();
  bool is_shrinkable(std::size_t k) const;
  void compact();
  double iteration_cost() const;

  SmoState& state_;
  decltype(&simd::baseline::update_and_select<T>) update_and_select_; // of the instruction set
  WorkingRows<T>* rows_ = nullptr;               // the workspace's, or compact_rows_
  std::unique_ptr<WorkingRows<T>> compact_rows_; // of the selectable instances alone
  std::span<const std::uint32_t> members_;       // working position -> instance
  Buffer<T> g_, diagonal_;
  std::vector<simd::Marks> marks_;
  simd::Extremes<T> extremes_{};
  double drift_squared_ = 0; // estimated square of the rounding error gathered in g_
  double kernel_scale_ = 1;  // typical |K|: how much a step moves g_
  double step_ = 0;          // of the last pair
  double iteration_cost_ = 0;
  double work_ = 0;     // nanoseconds of SMO since the last free-set solve, by count
  double patience_ = 1; // raised while free-set solves bring nothing
  std::vector<std::uint32_t> last_free_; // at the last checkpoint
  std::int64_t since_look_ = 0;          // iterations since the last checkpoint
  std::int64_t since_compaction_ = 0;
  bool is_compacted_ = false;
  bool is_near_ = false;        // compacted to what is near
  std::int64_t near_until_ = 0; // iterations
};

extern template class Smo<float>;
extern template class Smo<double>;

} // namespace alphapath
