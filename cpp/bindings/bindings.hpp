// One function a group of bindings; module.cpp calls them all.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

namespace alphapath::bindings {

void bind_kernels(nanobind::module_& m);
void bind_solvers(nanobind::module_& m);

/// The question behind alphapath::Watch: takes the GIL, lets Python run its signal handlers and
/// says whether one of them raised. The exception is swallowed; the caller returns what it has,
/// and Python code that sees the status raises KeyboardInterrupt again where it should.
std::function<bool()> make_signal_check();

} // namespace alphapath::bindings
