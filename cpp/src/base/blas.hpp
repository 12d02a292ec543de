// BLAS and LAPACK by function pointer. The core links no BLAS: whoever embeds it hands in the
// Fortran entry points once (the Python module takes those that SciPy exports).
#pragma once

namespace alphapath {

struct Blas {
  using Syrk64 = void (*)(const char*, const char*, const int*, const int*, const double*,
                          const double*, const int*, const double*, double*, const int*);
  using Trsm64 = void (*)(const char*, const char*, const char*, const char*, const int*,
                          const int*, const double*, const double*, const int*, double*,
                          const int*);
  using Trsv64 = void (*)(const char*, const char*, const char*, const int*, const double*,
                          const int*, double*, const int*);
  using Potrf64 = void (*)(const char*, const int*, double*, const int*, int*);
  using Gemm64 = void (*)(const char*, const char*, const int*, const int*, const int*,
                          const double*, const double*, const int*, const double*, const int*,
                          const double*, double*, const int*);
  using Gemv64 = void (*)(const char*, const int*, const int*, const double*, const double*,
                          const int*, const double*, const int*, const double*, double*,
                          const int*);
  using Symv64 = void (*)(const char*, const int*, const double*, const double*, const int*,
                          const double*, const int*, const double*, double*, const int*);
  using Syr64 = void (*)(const char*, const int*, const double*, const double*, const int*, double*,
                         const int*);
  using Stev64 = void (*)(const char*, const int*, double*, double*, double*, const int*, double*,
                          int*);
  using Syevd64 = void (*)(const char*, const char*, const int*, double*, const int*, double*,
                           double*, const int*, int*, const int*, int*);

  Syrk64 dsyrk = nullptr;
  Trsm64 dtrsm = nullptr;
  Trsv64 dtrsv = nullptr;
  Potrf64 dpotrf = nullptr;
  Potrf64 dpotri = nullptr;
  Gemm64 dgemm = nullptr;
  Gemv64 dgemv = nullptr;
  Symv64 dsymv = nullptr;
  Syr64 dsyr = nullptr;
  Stev64 dstev = nullptr;
  Syevd64 dsyevd = nullptr;
};

/// The pointers in use; all null until the embedder has set them.
Blas& blas();

} // namespace alphapath
