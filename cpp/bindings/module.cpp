#include "module.hpp"

#include "interrupt.hpp"

#include "base/blas.hpp"
#include "base/isa.hpp"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace alphapath::bindings {

namespace {

template <class F> void take_pointer(F& target, nb::handle functions, const char* name) {
  nb::object capsule = functions[name];
  const char* signature = PyCapsule_GetName(capsule.ptr());
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), signature);
  if (pointer == nullptr)
    throw nb::python_error();
  target = reinterpret_cast<F>(pointer);
}

void use_blas(nb::handle cython_blas, nb::handle cython_lapack) {
  Blas& b = blas();
  take_pointer(b.dsyrk, cython_blas, "dsyrk");
  take_pointer(b.dtrsm, cython_blas, "dtrsm");
  take_pointer(b.dtrsv, cython_blas, "dtrsv");
  take_pointer(b.dgemm, cython_blas, "dgemm");
  take_pointer(b.dgemv, cython_blas, "dgemv");
  take_pointer(b.dsymv, cython_blas, "dsymv");
  take_pointer(b.dsyr, cython_blas, "dsyr");
  take_pointer(b.dpotrf, cython_lapack, "dpotrf");
  take_pointer(b.dpotri, cython_lapack, "dpotri");
  take_pointer(b.dstev, cython_lapack, "dstev");
  take_pointer(b.dsyevd, cython_lapack, "dsyevd");
}

} // namespace

} // namespace alphapath::bindings

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of alphapath.";
  // A daemon thread that the end of the process finds in native code keeps its objects: no leak.
  nb::set_leak_warnings(false);
  m.def("use_blas", &alphapath::bindings::use_blas, nb::arg("cython_blas"),
        nb::arg("cython_lapack"),
        "Take the BLAS and LAPACK entry points from SciPy's exported capsules.");
  m.def("use_stop_question", &alphapath::bindings::use_stop_question, nb::arg("is_wanted"),
        "Take the function that says whether the thread that calls it is to end.");
  m.def("warn_of_leaks", &nb::set_leak_warnings, nb::arg("is_on"),
        "Whether objects of this module that outlive Python are listed as it ends.");
  m.def(
      "instruction_set",
      [] { return std::string(alphapath::simd::isa_name(alphapath::simd::active_isa())); },
      "The instruction set chosen for the hot loops.");
  alphapath::bindings::bind_kernel(m);
  alphapath::bindings::bind_dual(m);
  alphapath::bindings::bind_primal(m);
  alphapath::bindings::bind_smooth(m);
  alphapath::bindings::bind_sequence(m);
  alphapath::bindings::bind_path(m);
  alphapath::bindings::bind_quadratic(m);
  alphapath::bindings::bind_ranking(m);
}
