#include "gil.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace alphapath::bindings {

namespace {

/// The thread state that this thread has put down in a ReleasedGil.
thread_local PyThreadState* put_down = nullptr;

void take_up() noexcept {
  enter_python([] { PyEval_RestoreThread(std::exchange(put_down, nullptr)); });
}

} // namespace

void sleep_for_good() noexcept {
  for (;;)
    std::this_thread::sleep_for(std::chrono::hours(1));
}

ReleasedGil::ReleasedGil() noexcept {
  put_down = PyEval_SaveThread();
}

ReleasedGil::~ReleasedGil() {
  take_up();
}

HeldGil::HeldGil() noexcept : is_within_release_(put_down != nullptr) {
  if (is_within_release_)
    take_up();
  else
    state_ = enter_python([] { return PyGILState_Ensure(); });
}

HeldGil::~HeldGil() {
  if (is_within_release_)
    put_down = PyEval_SaveThread();
  else
    PyGILState_Release(state_);
}

} // namespace alphapath::bindings
