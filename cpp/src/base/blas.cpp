#include "base/blas.hpp"

namespace alphapath {

Blas& blas() {
  static Blas pointers;
  return pointers;
}

} // namespace alphapath
