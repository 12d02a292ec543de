// expm1 on (-inf, 0], tanh and integer powers on whole vectors; only for the files of cpp/src/simd.
//
// expm1(x): x = m ln 2 + r with |r| <= ln(2)/2; then expm1(x) = 2^m expm1(r) + (2^m - 1), and
// expm1(r) by its Taylor series. For m = 0 the series is the answer, so small |x| keep their
// relative accuracy; for m <= -1 nothing cancels.
#pragma once

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

template <class T> struct Expm1;

template <> struct Expm1<float> {
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  static constexpr float round_shift = 0x1.8p23f;
  static constexpr float log2_e = 0x1.715476p0f;
  static constexpr float ln2_high = 0x1.62e4p-1f; // m * ln2_high is exact for |m| < 2^8
  static constexpr float ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float lowest = -80.0f; // expm1 is -1 in this precision from there on
  static constexpr int mantissa_bits = 23;
  static constexpr std::int32_t one_bits = 0x3f800000;
  // 1/7!, 1/6!, ..., 1/2!
  static constexpr float series[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120,
                                     1.0f / 24,   1.0f / 6,   1.0f / 2};
};

template <> struct Expm1<double> {
  static constexpr double round_shift = 0x1.8p52;
  static constexpr double log2_e = 0x1.71547652b82fep0;
  static constexpr double ln2_high = 0x1.62e42fefa0000p-1; // exact products for |m| < 2^19
  static constexpr double ln2_low = 0x1.cf79abc9e3b3ap-40;
  static constexpr double lowest = -700.0;
  static constexpr int mantissa_bits = 52;
  static constexpr std::int64_t one_bits = 0x3ff0000000000000;
  // 1/13!, 1/12!, ..., 1/2!
  static constexpr double series[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                                      1.0 / 3628800.0,    1.0 / 362880.0,    1.0 / 40320.0,
                                      1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,
                                      1.0 / 24.0,         1.0 / 6.0,         1.0 / 2.0};
};

/// expm1 for x <= 0 (NaN stays NaN).
template <class T> inline typename Vec<T>::type expm1_nonpositive(typename Vec<T>::type x) {
  using V = typename Vec<T>::type;
  using M = typename Vec<T>::mask;
  using C = Expm1<T>;
  x = x < C::lowest ? C::lowest + V{} : x;
  const V shifted = x * C::log2_e + C::round_shift;
  const V m = shifted - C::round_shift;
  const V r = (x - m * C::ln2_high) - m * C::ln2_low;
  V q = C::series[0] + V{};
  constexpr int n_terms = sizeof(C::series) / sizeof(T);
  for (int term = 1; term < n_terms; ++term)
    q = q * r + C::series[term];
  const V p = r * r * q + r;
  const M power_bits = ((M)shifted << C::mantissa_bits) + C::one_bits;
  const V power = (V)power_bits;
  return power * p + (power - T(1));
}

/// tanh(x) = sign(x) * -e / (2 + e) with e = expm1(-2 |x|).
template <class T> inline typename Vec<T>::type tanh_any(typename Vec<T>::type x) {
  using V = typename Vec<T>::type;
  const auto is_negative = x < T(0);
  const V e = expm1_nonpositive<T>(is_negative ? T(2) * x : T(-2) * x);
  const V magnitude = -e / (T(2) + e);
  return is_negative ? -magnitude : magnitude;
}

/// x^degree by repeated squaring; x^0 = 1.
template <class V> inline V integer_power(V x, unsigned degree) {
  V result = V{} + 1;
  for (; degree != 0; degree >>= 1) {
    if (degree & 1u)
      result *= x;
    x *= x;
  }
  return result;
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
