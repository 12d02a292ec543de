// The GIL around native work, in a process whose interpreter may end meanwhile.
//
// Until Python 3.14, the interpreter ends a daemon thread that asks for the GIL after the main
// thread has finished by pthread_exit, which unwinds the stack as an exception does. A destructor,
// a noexcept function or a `catch (...)` on the way (ours or nanobind's) turns that into
// std::terminate. Here such a thread sleeps instead until the process is gone, as it does in later
// versions of Python; the process ends with the exit code of its main thread.
#pragma once

#include <nanobind/nanobind.h>

namespace alphapath::bindings {

/// Sleeps until the process ends.
[[noreturn]] void sleep_for_good() noexcept;

/// Calls functions of Python's C interface, which may take the GIL and therefore end this thread.
/// `call` throws no exception of C++.
template <class Call> auto enter_python(const Call& call) noexcept {
  try {
    return call();
  } catch (...) {
    sleep_for_good(); // the unwinding of pthread_exit, which must not be swallowed
  }
}

/// The GIL is released while this object lives.
class ReleasedGil {
public:
  ReleasedGil() noexcept;
  ~ReleasedGil();
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;
};

/// The GIL is held while this object lives, whether the thread held it before or not.
class HeldGil {
public:
  HeldGil() noexcept;
  ~HeldGil();
  HeldGil(const HeldGil&) = delete;
  HeldGil& operator=(const HeldGil&) = delete;

private:
  /// Within a ReleasedGil its thread state serves again: it is valid to ask for however late.
  bool is_within_release_;
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
};

} // namespace alphapath::bindings
