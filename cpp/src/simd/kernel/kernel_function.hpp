// The formulas a kernel value is made by, as plain data. Included by the hot loops too: no
// standard library here beyond <cstddef>.
#pragma once

namespace alphapath {

enum class KernelKind { linear, rbf, poly, sigmoid, dot, squared_distance };

/// linear x'z, rbf expm1(-gamma |x-z|^2), poly (gamma x'z + coef0)^degree,
/// sigmoid tanh(gamma x'z + coef0); dot x'z and squared_distance |x-z|^2 are what the others can
/// be made of. Stored values of linear, poly and sigmoid are centred (centring.hpp), those of dot
/// and squared_distance are not.
struct KernelFunction {
  KernelKind kind = KernelKind::linear;
  double gamma = 1.0;
  double coef0 = 0.0;
  unsigned degree = 3;
};

} // namespace alphapath
