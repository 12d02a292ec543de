#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace alphapath {

namespace {

class Pieces {
public:
  Pieces(std::size_t n, const WorkPiece& piece) : n_(n), piece_(piece) {}

  void work(std::size_t worker, Watch* watch) {
    try {
      for (std::size_t i = next_++; i < n_ && !is_stopped_; i = next_++) {
        piece_(i, worker);
        if (watch != nullptr && watch->should_stop())
          throw Interrupted();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_)
        error_ = std::current_exception();
      is_stopped_ = true;
    }
  }

  void rethrow() const {
    if (error_)
      std::rethrow_exception(error_);
  }

private:
  std::size_t n_;
  const WorkPiece& piece_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> is_stopped_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

} // namespace

void for_each_piece(std::size_t n, const Team& team, const WorkPiece& piece) {
  Pieces pieces(n, piece);
  const std::size_t n_helpers = std::min(std::max<std::size_t>(team.n_threads, 1), n);
  std::vector<std::jthread> helpers;
  for (std::size_t t = 1; t < n_helpers; ++t)
    helpers.emplace_back([&pieces, t] { pieces.work(t, nullptr); });
  pieces.work(0, team.watch);
  helpers.clear();
  pieces.rethrow();
}

} // namespace alphapath
