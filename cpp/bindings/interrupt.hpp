// Native work with the GIL released, that still hears Ctrl-C and other signals.
#pragma once

#include "module.hpp"

#include "problem/limits.hpp"

#include <functional>

namespace alphapath::bindings {

/// Takes the function that says whether the thread that calls it is to end.
void use_stop_question(nb::object is_wanted);

/// Ctrl-C and other signals while native code runs without the GIL.
class SignalWatch {
public:
  /// The question behind alphapath::Watch: takes the GIL, lets Python run its signal handlers and
  /// says whether one of them raised, or this thread is to end. Valid while this object lives.
  std::function<bool()> question();

  /// After the work, with the GIL held: raises what a handler raised, unless it was the
  /// KeyboardInterrupt of Ctrl-C and `keeps_interrupt`; the caller then reports it as a status.
  void raise_caught(bool keeps_interrupt);

private:
  nanobind::object caught_;
};

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
