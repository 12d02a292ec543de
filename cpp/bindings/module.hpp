// One function for the bindings of each room; module.cpp calls them all.
#pragma once

#include "gil.hpp"

#include <nanobind/nanobind.h>

namespace alphapath::bindings {

namespace nb = nanobind;

void bind_kernel(nanobind::module_& m);
void bind_dual(nanobind::module_& m);
void bind_sequence(nanobind::module_& m);
void bind_path(nanobind::module_& m);
void bind_quadratic(nanobind::module_& m);
void bind_ranking(nanobind::module_& m);
void bind_primal(nanobind::module_& m);
void bind_smooth(nanobind::module_& m);

} // namespace alphapath::bindings
