// Choice of the instruction set, once, at the first use. ALPHAPATH_ISA in the environment, one of
// the names below, overrides it (never upwards of what the processor can do).
#pragma once

namespace alphapath::simd {

/// Each has all of those before it. The last one only adds products of integers: what has no loops
/// of its own for it takes those of avx512.
enum class Isa { baseline, avx2, avx512, avx512vnni };

Isa active_isa();
const char* isa_name(Isa isa);

} // namespace alphapath::simd

/// Picks the symbol of the active instruction set.
#if defined(ALPHAPATH_X86)
#define ALPHAPATH_DISPATCH(...)                                                                    \
  (::alphapath::simd::active_isa() >= ::alphapath::simd::Isa::avx512                               \
       ? ::alphapath::simd::avx512::__VA_ARGS__                                                    \
   : ::alphapath::simd::active_isa() == ::alphapath::simd::Isa::avx2                               \
       ? ::alphapath::simd::avx2::__VA_ARGS__                                                      \
       : ::alphapath::simd::baseline::__VA_ARGS__)
#else
#define ALPHAPATH_DISPATCH(...) (::alphapath::simd::baseline::__VA_ARGS__)
#endif
