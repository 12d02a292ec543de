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

/// Calls `work` with limits, or options that have them, that listen to signals, the GIL released.
template <class Options, class Work> auto run_watched(const Options& options, const Work& work) {
  Options watched = options;
  SignalWatch signals;
  watched.wants_stop = signals.question();
  auto result = [&] {
    const ReleasedGil released;
    return work(watched);
  }();
  signals.raise_caught(true);
  return result;
}

/// The same, with a limit on the time that is stated apart.
template <class Options, class Work>
auto run_watched(Options options, double time_limit, const Work& work) {
  options.time_limit = time_limit;
  return run_watched(options, work);
}

} // namespace alphapath::bindings
