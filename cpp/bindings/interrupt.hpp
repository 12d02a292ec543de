// Native work with the GIL released, that still hears signals.
#pragma once

#include "bindings.hpp"
#include "problem/limits.hpp"

namespace alphapath::bindings {

/// Calls `work` with options that listen to signals, the GIL released.
template <class Work> auto run_watched(const SolveOptions& options, const Work& work) {
  SolveOptions watched = options;
  SignalWatch signals;
  watched.wants_stop = signals.question();
  auto result = [&] {
    const ReleasedGil released;
    return work(watched);
  }();
  signals.raise_caught(true);
  return result;
}

} // namespace alphapath::bindings
