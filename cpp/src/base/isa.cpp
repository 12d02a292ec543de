#include "base/isa.hpp"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace alphapath::simd {

namespace {

Isa supported_isa() {
#if defined(ALPHAPATH_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    return __builtin_cpu_supports("avx512vnni") ? Isa::avx512vnni : Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return Isa::avx2;
#endif
  return Isa::baseline;
}

Isa choose_isa() {
  const Isa best = supported_isa();
  const char* wish = std::getenv("ALPHAPATH_ISA");
  if (wish == nullptr)
    return best;
  for (Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::avx512vnni})
    if (std::strcmp(wish, isa_name(isa)) == 0)
      return isa < best ? isa : best;
  return best;
}

} // namespace

Isa active_isa() {
  static const Isa isa = choose_isa();
  return isa;
}

const char* isa_name(Isa isa) {
  switch (isa) {
  case Isa::avx512vnni:
    return "avx512vnni";
  case Isa::avx512:
    return "avx512";
  case Isa::avx2:
    return "avx2";
  default:
    return "baseline";
  }
}

} // namespace alphapath::simd
