// The members' values of a kernel row, side by side.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* out gets the values of `row` whose bits are set, 16 instances a mask; `room` values may be */ \
  /* written, those beyond the last member with anything. */                                       \
  template <class S, class T>                                                                      \
  void gather_members(const S* row, const std::uint16_t* masks, std::size_t n_masks, T* out,       \
                      std::size_t room);                                                           \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
