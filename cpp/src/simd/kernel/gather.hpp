// The members' values of a kernel row, side by side.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alphapath::simd {

/// 16 instances side by side in a row, some of them members: where they are, and a bit for each.
struct MemberChunk {
  std::uint32_t first; // instance
  std::uint16_t mask;
};

#define ALPHAPATH_DECLARE(isa)                                                                     \
  namespace isa {                                                                                  \
  /* out gets the members' values of `row`; `room` values may be written, those beyond the last */ \
  /* member with anything. */                                                                      \
  template <class S, class T>                                                                      \
  void gather_members(const S* row, const MemberChunk* chunks, std::size_t n_chunks, T* out,       \
                      std::size_t room);                                                           \
  /* out[c] = row[columns[c]]. */                                                                  \
  template <class S, class T>                                                                      \
  void pick_values(const S* row, const std::uint32_t* columns, std::size_t n, T* out);             \
  /* out[c] = row[columns[c]] + (own + offsets[c]): kernel values as they are, from stored ones.   \
   */                                                                                              \
  template <class S>                                                                               \
  void pick_true_values(const S* row, const std::uint32_t* columns, const double* offsets,         \
                        std::size_t n, double own, double* out);                                   \
  }
ALPHAPATH_DECLARE(baseline)
ALPHAPATH_DECLARE(avx2)
ALPHAPATH_DECLARE(avx512)
#undef ALPHAPATH_DECLARE

} // namespace alphapath::simd
