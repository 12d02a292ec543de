#include "simd/primal/matrix_free_loops.hpp"

#include "simd/vec_ops.hpp"

namespace alphapath::simd {
namespace ALPHAPATH_ISA {

namespace {

typedef double dlanes __attribute__((vector_size(n_together * sizeof(double))));
typedef float flanes __attribute__((vector_size(n_together * sizeof(float))));
typedef std::int64_t bits __attribute__((vector_size(n_together * sizeof(std::int64_t))));

dlanes to_double(flanes v) {
  return __builtin_convertvector(v, dlanes);
}

/// s in the lanes that train on the row, 0 in the others.
dlanes weights_of(const LaneRows& at, std::size_t row) {
  constexpr bits each{1, 2, 4, 8, 16, 32, 64, 128};
  const bits trains = (each & static_cast<std::int64_t>(at.rows[row].trains)) != 0;
  const dlanes s = at.weights[row] + dlanes{};
  return (dlanes)((bits)s & trains);
}

dlanes positive_part(dlanes v) {
  return v > 0.0 ? v : dlanes{};
}

} // namespace

std::size_t take_slopes(const LaneRows& at, const double* values, double* slopes, LaneSums& sums,
                        std::int32_t* parabola, float* weights) {
  dlanes losses = load<dlanes>(sums.losses), total = load<dlanes>(sums.slopes);
  std::size_t n_found = 0;
  for (std::size_t k = 0; k < at.count; ++k) {
    const std::size_t row = at.first + k;
    const double y = at.rows[row].label;
    const dlanes s = weights_of(at, row);
    const dlanes left = positive_part(1.0 - y * load<dlanes>(values + k * n_together));
    const dlanes slope = -2.0 * y * s * left;
    losses += s * left * left;
    total += slope;
    store(slopes + k * n_together, slope);
    const flanes on = __builtin_convertvector(left > 0.0 ? s : dlanes{}, flanes);
    store(weights + n_found * n_together, on);
    parabola[n_found] = static_cast<std::int32_t>(row);
    float any = 0.0f;
    for (std::size_t f = 0; f < n_together; ++f)
      any += on[f];
    n_found += any > 0.0f;
  }
  store(sums.losses, losses);
  store(sums.slopes, total);
  return n_found;
}

void derive_in_span(const LaneRows& at, const double* const values[3], const double* a,
                    SpanSums& sums) {
  const dlanes a0 = load<dlanes>(a), a1 = load<dlanes>(a + n_together),
               a2 = load<dlanes>(a + 2 * n_together);
  dlanes value{}, gradient[3] = {}, hessian[6] = {};
  for (std::size_t k = 0; k < at.count; ++k) {
    const double y = at.rows[at.first + k].label;
    const dlanes last = y * load<dlanes>(values[0] + k * n_together);
    const dlanes before = y * load<dlanes>(values[1] + k * n_together);
    const dlanes v[3] = {last, last - before,
                         before - y * load<dlanes>(values[2] + k * n_together)};
    const dlanes left = 1.0 - a0 * v[0] - a1 * v[1] - a2 * v[2];
    const dlanes s = left > 0.0 ? weights_of(at, at.first + k) : dlanes{};
    value += s * left * left;
    for (std::size_t i = 0, ij = 0; i < 3; ++i) {
      gradient[i] -= s * left * v[i];
      for (std::size_t j = 0; j <= i; ++j, ++ij)
        hessian[ij] += s * v[i] * v[j];
    }
  }
  store(sums.value, value);
  for (std::size_t i = 0; i < 3; ++i)
    store(sums.gradient + i * n_together, 2.0 * gradient[i]);
  for (std::size_t ij = 0; ij < 6; ++ij)
    store(sums.hessian + ij * n_together, 2.0 * hessian[ij]);
}

void multiply_together(const CsrRows<float>& x, std::size_t n, const float* weights,
                       const LaneVectors& at) {
  const float* const values = x.values;
  float* const pairs = at.pairs;
  const auto place = [&, columns = x.columns](std::size_t k) {
    return pairs + static_cast<std::size_t>(columns[k]) * (2 * n_together);
  };
  const auto add_to = [&](std::size_t k, flanes coef) {
    float* image = place(k) + n_together;
    store(image, load<flanes>(image) + values[k] * coef);
  };
  std::size_t end = static_cast<std::size_t>(x.starts[0]);
  for (std::size_t row = 0; row < n; ++row) {
    const std::size_t first = end;
    end = static_cast<std::size_t>(x.starts[row + 1]);
    flanes sums[4] = {};
    std::size_t k = first;
    for (; k + 4 <= end; k += 4)
      for (std::size_t r = 0; r < 4; ++r)
        sums[r] += values[k + r] * load<flanes>(place(k + r));
    for (; k < end; ++k)
      sums[0] += values[k] * load<flanes>(place(k));
    const flanes coef =
        load<flanes>(weights + row * n_together) * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (k = first; k + 4 <= end; k += 4)
      for (std::size_t r = 0; r < 4; ++r)
        add_to(k + r, coef);
    for (; k < end; ++k)
      add_to(k, coef);
  }
}

void take_image(const LaneVectors& at, const float* scale, double* dots) {
  const flanes c = load<flanes>(scale);
  dlanes sum{};
  for (std::size_t j = 0; j < at.size; ++j) {
    const flanes r = load<flanes>(at.residual(j));
    const flanes image = r + c * load<flanes>(at.image(j));
    store(at.image(j), image);
    sum += to_double(r) * to_double(image);
  }
  store(dots, sum);
}

void turn_direction(const LaneVectors& at, const float* ratio, double* squares) {
  const flanes c = load<flanes>(ratio);
  dlanes sum{};
  for (std::size_t j = 0; j < at.size; ++j) {
    float* const direction = at.direction + j * n_together;
    float* const direction_image = at.direction_image + j * n_together;
    const flanes image = load<flanes>(at.image(j)) + c * load<flanes>(direction_image);
    store(direction, load<flanes>(at.residual(j)) + c * load<flanes>(direction));
    store(direction_image, image);
    sum += to_double(image) * to_double(image);
  }
  store(squares, sum);
}

void advance(const LaneVectors& at, const float* length, double* squares) {
  const flanes c = load<flanes>(length);
  dlanes sum{};
  for (std::size_t j = 0; j < at.size; ++j) {
    const std::size_t k = j * n_together;
    const flanes r = load<flanes>(at.residual(j)) - c * load<flanes>(at.direction_image + k);
    store(at.step + k, load<flanes>(at.step + k) + c * load<flanes>(at.direction + k));
    store(at.residual(j), r);
    store(at.image(j), flanes{});
    sum += to_double(r) * to_double(r);
  }
  store(squares, sum);
}

} // namespace ALPHAPATH_ISA
} // namespace alphapath::simd
