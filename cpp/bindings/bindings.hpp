// One function a group of bindings; module.cpp calls them all.
#pragma once

#include "gil.hpp"

#include <nanobind/nanobind.h>

#include <functional>

namespace alphapath::bindings {

namespace nb = nanobind;

void bind_kernels(nanobind::module_& m);
void bind_solvers(nanobind::module_& m);
void bind_few_vectors(nanobind::module_& m);
void bind_removal(nanobind::module_& m);
void bind_margins(nanobind::module_& m);
void bind_dual(nanobind::module_& m);
void bind_newton(nanobind::module_& m);
void bind_class_pairs(nanobind::module_& m);
void bind_sequence(nanobind::module_& m);
void bind_one_class(nanobind::module_& m);
void bind_paths(nanobind::module_& m);
void bind_path_curve(nanobind::module_& m);
void bind_quadratic(nanobind::module_& m);
void bind_ranking(nanobind::module_& m);
void bind_transduction(nanobind::module_& m);

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

} // namespace alphapath::bindings
