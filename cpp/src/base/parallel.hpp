// Independent pieces of work on a few threads. The caller's thread works too and asks the watch.
#pragma once

#include "base/interrupt.hpp"

#include <cstddef>
#include <functional>
#include <stdexcept>

namespace alphapath {

/// Thrown when the watch said stop; nothing half-done is returned.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("The computation of kernel values was interrupted.") {}
};

struct Team {
  std::size_t n_threads = 1;
  Watch* watch = nullptr;
};

/// Calls piece(i, worker) for i = 0, ..., n - 1 in any order on team.n_threads threads at most;
/// `worker` < max(1, team.n_threads) numbers the thread, for scratch of its own.
using WorkPiece = std::function<void(std::size_t i, std::size_t worker)>;
void for_each_piece(std::size_t n, const Team& team, const WorkPiece& piece);

} // namespace alphapath
