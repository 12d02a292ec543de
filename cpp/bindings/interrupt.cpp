#include "interrupt.hpp"

namespace alphapath::bindings {

namespace {

/// Lives as long as the module, and is never released: threads may ask while Python ends.
PyObject* stop_question = nullptr;

/// Calls a function without arguments: whether what it returns is true, or -1 and an exception.
int ask(PyObject* function) {
  PyObject* answer = PyObject_CallNoArgs(function);
  if (answer == nullptr)
    return -1;
  const int is_true = PyObject_IsTrue(answer);
  Py_DECREF(answer);
  return is_true;
}

} // namespace

void use_stop_question(nb::object is_wanted) {
  stop_question = is_wanted.release().ptr();
}

std::function<bool()> SignalWatch::question() {
  return [this] {
    const HeldGil held;
    const int answer = enter_python([] {
      if (PyErr_CheckSignals() != 0)
        return -1;
      return stop_question == nullptr ? 0 : ask(stop_question);
    });
    if (answer < 0)
      caught_ = nb::borrow(nb::python_error().value());
    return answer != 0;
  };
}

void SignalWatch::raise_caught(bool keeps_interrupt) {
  if (!caught_.is_valid() ||
      (keeps_interrupt && PyErr_GivenExceptionMatches(caught_.ptr(), PyExc_KeyboardInterrupt)))
    return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(caught_.ptr())), caught_.ptr());
  throw nb::python_error();
}

} // namespace alphapath::bindings
