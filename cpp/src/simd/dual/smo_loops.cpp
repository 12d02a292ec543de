#include "simd/dual/smo_loops.hpp"

#include "simd/vec.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace alphapath::simd {
namespace ALPHAPATH_ISA {
namespace {

template <class T> constexpr T infinity = static_cast<T>(__builtin_inf());

/// Smallest curvature a pair is given, as in LIBSVM: keeps the gain finite for equal instances
/// and for kernels that are not positive semi-definite.
template <class T> constexpr T min_curvature = static_cast<T>(1e-12);

template <class T> using V = typename Vec<T>::type;
template <class T> using M = typename Vec<T>::mask;

template <class T> inline V<T> load(const T* p) {
  return *reinterpret_cast<const V<T>*>(p);
}

template <class T> inline V<T> splat(T x) {
  return V<T>{} + x;
}

#if defined(__AVX512F__)

// With mask registers what is chosen by bits or by a comparison is one instruction; the compiler
// does not find that by itself for the portable vectors below. (The forms with a mask of ones are
// the plain ones without a warning of the compiler about its own header.)
template <class T> struct Lanes;
template <> struct Lanes<float> {
  using Mask = __mmask16;
  static Mask greater(vfloat a, vfloat b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
  }
  static Mask equal(vfloat a, vfloat b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ);
  }
  static vfloat pick(Mask k, vfloat yes, vfloat no) {
    return (vfloat)_mm512_mask_mov_ps((__m512)no, k, (__m512)yes);
  }
  static vint32 pick(Mask k, std::int32_t yes, vint32 no) {
    return (vint32)_mm512_mask_set1_epi32((__m512i)no, k, yes);
  }
  static vfloat larger(vfloat a, vfloat b) {
    return (vfloat)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
  }
  static vint32 compress(Mask k, vint32 v) {
    return (vint32)_mm512_maskz_compress_epi32(k, (__m512i)v);
  }
};
template <> struct Lanes<double> {
  using Mask = __mmask8;
  static Mask greater(vdouble a, vdouble b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ);
  }
  static Mask equal(vdouble a, vdouble b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ);
  }
  static vdouble pick(Mask k, vdouble yes, vdouble no) {
    return (vdouble)_mm512_mask_mov_pd((__m512d)no, k, (__m512d)yes);
  }
  static vint64 pick(Mask k, std::int64_t yes, vint64 no) {
    return (vint64)_mm512_mask_set1_epi64((__m512i)no, k, yes);
  }
  static vdouble larger(vdouble a, vdouble b) {
    return (vdouble)_mm512_maskz_max_pd(0xff, (__m512d)a, (__m512d)b);
  }
  static vint64 compress(Mask k, vint64 v) {
    return (vint64)_mm512_maskz_compress_epi64(k, (__m512i)v);
  }
};

/// Lane l of the result is that of `yes` where bit l of `bits` is set, else that of `no`.
template <class T> inline V<T> choose(unsigned bits, V<T> yes, V<T> no) {
  return Lanes<T>::pick(static_cast<typename Lanes<T>::Mask>(bits), yes, no);
}

#else

template <class T> struct Lanes {
  using Mask = M<T>;
  static Mask greater(V<T> a, V<T> b) { return a > b; }
  static V<T> pick(Mask k, V<T> yes, V<T> no) { return k ? yes : no; }
  static M<T> pick(Mask k, typename Vec<T>::lane yes, M<T> no) { return k ? M<T>{} + yes : no; }
  static V<T> larger(V<T> a, V<T> b) { return a > b ? a : b; }
};

/// Lane l of the result is that of `yes` where bit l of `bits` is set, else that of `no`.
template <class T> inline V<T> choose(unsigned bits, V<T> yes, V<T> no) {
  using L = typename Vec<T>::lane;
  M<T> lane_bit;
  for (std::size_t l = 0; l < Vec<T>::width; ++l)
    lane_bit[l] = L(1) << l;
  return ((M<T>{} + static_cast<L>(bits)) & lane_bit) != 0 ? yes : no;
}

#endif

template <class T> inline M<T> lane_numbers() {
  M<T> m;
  for (std::size_t l = 0; l < Vec<T>::width; ++l)
    m[l] = static_cast<typename Vec<T>::lane>(l);
  return m;
}

/// Best value and its element number, one candidate a lane; ties go to the smallest number.
template <class T> struct Running {
  V<T> best;
  M<T> at;
};

template <class T> inline void keep_larger(Running<T>& r, V<T> value, typename Vec<T>::lane base) {
  r.at = Lanes<T>::pick(Lanes<T>::greater(value, r.best), base, r.at);
  r.best = Lanes<T>::larger(value, r.best);
}

template <class T> struct Found {
  T value;
  std::int64_t index;
};

template <class T> inline Running<T> merge(const Running<T>& a, const Running<T>& b) {
  const M<T> take = (b.best > a.best) | ((b.best == a.best) & (b.at < a.at));
  return {take ? b.best : a.best, take ? b.at : a.at};
}

template <class T> inline T reduce_max(V<T> v) {
  const M<T> lanes = lane_numbers<T>();
  for (std::size_t half = Vec<T>::width / 2; half > 0; half /= 2)
    v = Lanes<T>::larger(
        __builtin_shuffle(v, lanes ^ (M<T>{} + static_cast<typename Vec<T>::lane>(half))), v);
  return v[0];
}

#if defined(__AVX512F__)

template <class T> inline Found<T> reduce(const Running<T>& r) {
  const T best = reduce_max<T>(r.best);
  const auto here = Lanes<T>::equal(r.best, splat<T>(best));
  const M<T> at = Lanes<T>::compress(here, r.at + lane_numbers<T>());
  std::int64_t first = at[0];
  for (int k = 1; k < __builtin_popcount(here); ++k) // ties are rare
    first = at[k] < first ? at[k] : first;
  return {best, first};
}

#else

template <class T> inline Found<T> reduce(Running<T> r) {
  const M<T> lanes = lane_numbers<T>();
  r.at += lanes;
  for (std::size_t half = Vec<T>::width / 2; half > 0; half /= 2) {
    const M<T> swap = lanes ^ (M<T>{} + static_cast<typename Vec<T>::lane>(half));
    r = merge<T>(r, {__builtin_shuffle(r.best, swap), __builtin_shuffle(r.at, swap)});
  }
  return {r.best[0], static_cast<std::int64_t>(r.at[0])};
}

#endif

template <class T, bool HasKink>
inline V<T> right_slope(V<T> g, const Marks& m, unsigned shift, T epsilon) {
  if constexpr (!HasKink)
    return g;
  return g + choose<T>(m.nonneg >> shift, splat<T>(epsilon), splat<T>(-epsilon));
}

template <class T, bool HasKink>
inline V<T> left_slope(V<T> g, const Marks& m, unsigned shift, T epsilon) {
  if constexpr (!HasKink)
    return g;
  return g + choose<T>(m.positive >> shift, splat<T>(epsilon), splat<T>(-epsilon));
}

/// Calls visit(state, element) for every vector of n elements, alternating between two states so
/// that the latency of compare and blend is hidden.
template <class T, class State, class Visit>
inline void alternate(State& a, State& b, std::size_t n, const Visit& visit) {
  constexpr std::size_t width = Vec<T>::width;
  std::size_t k = 0;
  for (; k + 2 * width <= n; k += 2 * width) {
    visit(a, k);
    visit(b, k + width);
  }
  if (k < n)
    visit(a, k);
}

template <class T> struct SelectState {
  Running<T> lowest{splat<T>(-infinity<T>), M<T>{}}; // of -slope: larger is better
  V<T> highest = splat<T>(-infinity<T>);
};

template <class T, bool HasKink>
Extremes<T> update_and_select_impl(T* g, const T* row_i, const T* row_j, T step, const Marks* marks,
                                   std::size_t n_chunks, T epsilon) {
  const V<T> t = splat<T>(step);
  SelectState<T> a, b;
  alternate<T>(a, b, n_chunks * chunk, [=](SelectState<T>& s, std::size_t k) {
    const V<T> updated = load<T>(g + k) + t * (load<T>(row_i + k) - load<T>(row_j + k));
    *reinterpret_cast<V<T>*>(g + k) = updated;
    const Marks& m = marks[k / chunk];
    const unsigned shift = k % chunk;
    const V<T> rising = right_slope<T, HasKink>(updated, m, shift, epsilon);
    const V<T> falling = left_slope<T, HasKink>(updated, m, shift, epsilon);
    keep_larger<T>(s.lowest, choose<T>(m.up >> shift, -rising, splat<T>(-infinity<T>)),
                   static_cast<typename Vec<T>::lane>(k));
    const V<T> candidate = choose<T>(m.down >> shift, falling, splat<T>(-infinity<T>));
    s.highest = Lanes<T>::larger(candidate, s.highest);
  });
  const Found<T> low = reduce<T>(merge<T>(a.lowest, b.lowest));
  const V<T> high = a.highest > b.highest ? a.highest : b.highest;
  return {-low.value, reduce_max<T>(high), low.index};
}

/// Best gain so far in each lane, as a fraction: comparing fractions needs no division.
template <class T> struct BestGain {
  V<T> numerator{}, denominator = splat<T>(1);
  M<T> at{};
};

template <class T, bool HasKink>
Partner<T> select_partner_impl(const T* g, const T* row_i, const T* diagonal, T own_curvature,
                               T slope_i, const Marks* marks, std::size_t n_chunks, T epsilon) {
  BestGain<T> a, b;
  alternate<T>(a, b, n_chunks * chunk, [=](BestGain<T>& best, std::size_t k) {
    const Marks& m = marks[k / chunk];
    const unsigned shift = k % chunk;
    const V<T> excess = left_slope<T, HasKink>(load<T>(g + k), m, shift, epsilon) - slope_i;
    const V<T> d = choose<T>(m.down >> shift, Lanes<T>::larger(excess, V<T>{}), V<T>{});
    const V<T> curvature = own_curvature + load<T>(diagonal + k) - 2 * load<T>(row_i + k);
    const V<T> q = Lanes<T>::larger(curvature, splat<T>(min_curvature<T>));
    const V<T> squared = d * d;
    const auto better = Lanes<T>::greater(squared * best.denominator, best.numerator * q);
    best.numerator = Lanes<T>::pick(better, squared, best.numerator);
    best.denominator = Lanes<T>::pick(better, q, best.denominator);
    best.at = Lanes<T>::pick(better, static_cast<typename Vec<T>::lane>(k), best.at);
  });
  const Found<T> found =
      reduce<T>(merge<T>({a.numerator / a.denominator, a.at}, {b.numerator / b.denominator, b.at}));
  return {found.value, found.index};
}

} // namespace

template <class T>
Extremes<T> update_and_select(T* g, const T* row_i, const T* row_j, T step, const Marks* marks,
                              std::size_t n_chunks, T epsilon) {
  if (epsilon > 0)
    return update_and_select_impl<T, true>(g, row_i, row_j, step, marks, n_chunks, epsilon);
  return update_and_select_impl<T, false>(g, row_i, row_j, step, marks, n_chunks, epsilon);
}

template <class T>
Partner<T> select_partner(const T* g, const T* row_i, const T* diagonal, T own_curvature, T slope_i,
                          const Marks* marks, std::size_t n_chunks, T epsilon) {
  if (epsilon > 0)
    return select_partner_impl<T, true>(g, row_i, diagonal, own_curvature, slope_i, marks, n_chunks,
                                        epsilon);
  return select_partner_impl<T, false>(g, row_i, diagonal, own_curvature, slope_i, marks, n_chunks,
                                       epsilon);
}

template Extremes<float> update_and_select(float*, const float*, const float*, float, const Marks*,
                                           std::size_t, float);
template Extremes<double> update_and_select(double*, const double*, const double*, double,
                                            const Marks*, std::size_t, double);
template Partner<float> select_partner(const float*, const float*, const float*, float, float,
                                       const Marks*, std::size_t, float);
template Partner<double> select_partner(const double*, const double*, const double*, double, double,
                                        const Marks*, std::size_t, double);

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
