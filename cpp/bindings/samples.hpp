// Rows of numbers with the Python objects they lie in, and work on them that hears signals.
#pragma once

#include "arrays.hpp"
#include "interrupt.hpp"
#include "module.hpp"

#include "base/interrupt.hpp"
#include "base/parallel.hpp"
#include "kernel/samples.hpp"

#include <cstddef>

namespace alphapath::bindings {

/// Samples with the arrays they borrow; the arrays are kept alive by the Python object.
struct BoundSamples {
  BoundSamples(Matrix x, double step) : values(x.data(), x.shape(0), x.shape(1), step) {}
  BoundSamples(const CsrView& csr, std::size_t d, std::size_t dense_limit)
      : values(csr, d, dense_limit) {}

  Samples values;
};

/// Calls `work` with the GIL released; Ctrl-C ends it with KeyboardInterrupt.
template <class Work> auto run_released(std::size_t n_threads, Work work) {
  SignalWatch signals;
  try {
    const ReleasedGil released;
    Watch watch(0.0, signals.question());
    return work(Team{n_threads, &watch});
  } catch (const Interrupted&) {
    signals.raise_caught(false);
    PyErr_SetNone(PyExc_KeyboardInterrupt); // another thread wants this one to end
    throw nb::python_error();
  }
}

} // namespace alphapath::bindings
