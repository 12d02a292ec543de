// Choice of the instruction set, once, at the first use. ALPHAPATH_ISA=baseline|avx2|avx512 in the
// environment overrides it (never upwards of what the processor can do).
#pragma once

namespace alphapath::simd {

enum class Isa { baseline, avx2, avx512 };

Isa active_isa();
const char* isa_name(Isa isa);

} // namespace alphapath::simd

/// Picks namespace-qualified `symbol` of the active instruction set.
#if defined(ALPHAPATH_X86)
#define ALPHAPATH_DISPATCH(symbol)                                                                 \
  (::alphapath::simd::active_isa() == ::alphapath::simd::Isa::avx512                               \
       ? ::alphapath::simd::avx512::symbol                                                         \
   : ::alphapath::simd::active_isa() == ::alphapath::simd::Isa::avx2                               \
       ? ::alphapath::simd::avx2::symbol                                                           \
       : ::alphapath::simd::baseline::symbol)
#else
#define ALPHAPATH_DISPATCH(symbol) (::alphapath::simd::baseline::symbol)
#endif
