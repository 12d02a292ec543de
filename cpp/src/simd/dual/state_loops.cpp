#include "simd/dual/state_loops.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

constexpr std::size_t lanes = Vec<double>::width;
constexpr double infinity = __builtin_inf();

/// Calls use(read) for every vector of n values, where read(x) is that part of an array. The last
/// one is filled up with zeros: an instance with an empty box, which none of the passes counts.
template <class Use> inline void each_vector(std::size_t n, const Use& use) {
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes)
    use([k](const double* x) { return load<vdouble>(x + k); });
  if (k < n)
    use([k, n](const double* x) {
      vdouble part{};
      __builtin_memcpy(&part, x + k, (n - k) * sizeof(double));
      return part;
    });
}

inline double total(vdouble v) {
  double sum = 0;
  for (std::size_t l = 0; l < lanes; ++l)
    sum += v[l];
  return sum;
}

inline double largest(vdouble v) {
  double found = -infinity;
  for (std::size_t l = 0; l < lanes; ++l)
    found = v[l] > found ? v[l] : found;
  return found;
}

inline vdouble absolute(vdouble v) {
  return v < 0.0 ? -v : v;
}

inline vdouble falling(vdouble gradient, vdouble beta, double epsilon) {
  return gradient + (beta > 0.0 ? vdouble{} + epsilon : vdouble{} - epsilon);
}

inline vdouble rising(vdouble gradient, vdouble beta, double epsilon) {
  return gradient + (beta >= 0.0 ? vdouble{} + epsilon : vdouble{} - epsilon);
}

} // namespace

SumAndSize sum_and_size(const double* x, std::size_t n) {
  vdouble sum{}, size{};
  each_vector(n, [&](const auto& read) {
    const vdouble v = read(x);
    sum += v;
    size += absolute(v);
  });
  return {total(sum), total(size)};
}

double inner_product(const double* x, const double* y, std::size_t n) {
  vdouble sum{};
  each_vector(n, [&](const auto& read) { sum += read(x) * read(y); });
  return total(sum);
}

SlopeExtremes extreme_slopes(const Point& p) {
  const vdouble none = vdouble{} - infinity;
  vdouble up = none, down = none; // of minus the slope, and of the slope
  each_vector(p.n, [&](const auto& read) {
    const vdouble beta = read(p.beta), gradient = read(p.gradient);
    const vdouble fall = falling(gradient, beta, p.epsilon);
    const vdouble rise = rising(gradient, beta, p.epsilon);
    down = larger_of(beta > read(p.lower) ? fall : none, down);
    up = larger_of(beta < read(p.upper) ? -rise : none, up);
  });
  return {-largest(up), largest(down)};
}

std::size_t list_changes(const double* x, const double* y, std::size_t n, std::size_t* at,
                         double* change) {
  std::size_t count = 0;
  const auto look = [&](std::size_t i) {
    at[count] = i;
    change[count] = x[i] - y[i];
    count += x[i] != y[i]; // exact: an untouched value is the same number
  };
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    const vint64 differs = load<vdouble>(x + k) != load<vdouble>(y + k);
    std::int64_t any = 0;
    for (std::size_t l = 0; l < lanes; ++l)
      any |= differs[l];
    if (any != 0)
      for (std::size_t l = 0; l < lanes; ++l)
        look(k + l);
  }
  for (; k < n; ++k)
    look(k);
  return count;
}

std::size_t list_free(const Point& p, const std::uint32_t* members, std::size_t n_members,
                      std::uint32_t* out) {
  std::size_t count = 0;
  const bool has_kink = p.epsilon != 0;
  for (std::size_t k = 0; k < n_members; ++k) {
    const std::uint32_t i = members[k];
    const double beta = p.beta[i];
    out[count] = i;
    count += (beta > p.lower[i]) & (beta < p.upper[i]) & !(has_kink & (beta == 0));
  }
  return count;
}

template <class T>
void load_members(const Point& p, const std::uint32_t* members, std::size_t n_members,
                  double middle, T* g, Marks* marks) {
  for (std::size_t first = 0; first < n_members; first += chunk, ++marks) {
    const std::size_t count = n_members - first < chunk ? n_members - first : chunk;
    unsigned up = 0, down = 0, nonneg = 0, positive = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t i = members[first + k];
      const double beta = p.beta[i];
      g[first + k] = static_cast<T>(p.gradient[i] - middle);
      up |= static_cast<unsigned>(beta < p.upper[i]) << k;
      down |= static_cast<unsigned>(beta > p.lower[i]) << k;
      nonneg |= static_cast<unsigned>(beta >= 0) << k;
      positive |= static_cast<unsigned>(beta > 0) << k;
    }
    *marks = {static_cast<std::uint16_t>(up), static_cast<std::uint16_t>(down),
              static_cast<std::uint16_t>(nonneg), static_cast<std::uint16_t>(positive)};
  }
}

template void load_members(const Point&, const std::uint32_t*, std::size_t, double, float*, Marks*);
template void load_members(const Point&, const std::uint32_t*, std::size_t, double, double*,
                           Marks*);

PointSums sum_point(const Point& p, const double* targets) {
  const vdouble none = vdouble{} - infinity;
  vdouble up = none, down = none, free_sum{}, n_free{}, objective{};
  const bool has_kink = p.epsilon != 0;
  each_vector(p.n, [&](const auto& read) {
    const vdouble beta = read(p.beta), gradient = read(p.gradient);
    const vdouble fall = falling(gradient, beta, p.epsilon);
    const vdouble rise = rising(gradient, beta, p.epsilon);
    const vint64 may_fall = beta > read(p.lower), may_rise = beta < read(p.upper);
    down = larger_of(may_fall ? fall : none, down);
    up = larger_of(may_rise ? -rise : none, up);
    vint64 is_free = may_fall & may_rise;
    if (has_kink)
      is_free &= beta != 0.0;
    free_sum += is_free ? fall : vdouble{};
    n_free += is_free ? vdouble{} + 1.0 : vdouble{};
    objective += beta * (gradient - read(targets)) * 0.5 + p.epsilon * absolute(beta);
  });
  return {{-largest(up), largest(down)}, total(free_sum), total(n_free), total(objective)};
}

double sum_gaps(const Point& p, double bias) {
  vdouble sum{};
  // -(slope z + epsilon |z|), where a slope of exactly 0 costs nothing, however far z may go.
  const auto response_at = [&](vdouble z, vdouble slope) {
    const vdouble kink = z > 0.0 ? vdouble{} + p.epsilon : vdouble{} - p.epsilon;
    const vdouble rate = slope + (z == 0.0 ? vdouble{} : kink);
    return rate == 0.0 ? vdouble{} : -rate * z;
  };
  each_vector(p.n, [&](const auto& read) {
    const vdouble beta = read(p.beta), lower = read(p.lower), upper = read(p.upper);
    const vdouble slope = read(p.gradient) + bias;
    vdouble best = larger_of(response_at(lower, slope), response_at(upper, slope));
    if (p.epsilon > 0)
      best = ((lower <= 0.0) & (upper >= 0.0) & (best < 0.0)) ? vdouble{} : best;
    sum += slope * beta + p.epsilon * absolute(beta) + best;
  });
  return total(sum);
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
