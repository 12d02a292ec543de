#include "quadratic/events.hpp"

#include "base/isa.hpp"
#include "simd/pole_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace alphapath::quadratic {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Steps below this share of the way travelled are rounding.
constexpr double smallest_step = 4e-16;
constexpr int max_iterations = 200;

} // namespace

Local evaluate(const PoleRows& rows, const Equation& equation, double x, double direction) {
  const double* w = rows.W + equation.row;
  const double sign = equation.is_tied ? direction * equation.sign : equation.sign;
  Local local{equation.is_tied ? direction * equation.e : equation.s0 + x * equation.e,
              equation.is_tied ? 0.0 : equation.e, 0.0, infinity};
  for (std::size_t k = 0; k < rows.poles.size(); ++k) {
    const double c = sign * w[k * rows.ld];
    const double pole = rows.poles[k], inverse = 1 / (pole - x);
    local.value += equation.is_tied ? c * inverse : c * x * inverse;
    const double slope = equation.is_tied ? c * inverse * inverse : c * pole * inverse * inverse;
    if (c > 0) {
      local.gain += slope;
    } else if (c < 0) {
      local.loss -= slope;
      local.delta = std::min(local.delta, pole);
    }
  }
  return local;
}

double bracket(const Local& local, double x, double direction) {
  if (local.value <= 0)
    return 0;
  // gain y^2 + b y - c = 0 for the signed step y = direction t (y < delta - x).
  if (local.loss == 0) {
    const double slope = direction * local.gain;
    return slope < 0 ? -local.value / slope : infinity;
  }
  const double reach = local.delta - x;
  const double c = local.value * reach;
  const double b = direction * (local.value + (local.loss - local.gain) * reach);
  const double discriminant = b * b + 4 * local.gain * c;
  if (discriminant < 0)
    return infinity;
  const double denominator = b + std::sqrt(discriminant);
  return denominator > 0 ? 2 * c / denominator : infinity;
}

Local EventSearch::local_at_start(const Equation& equation) const {
  const std::size_t i = equation.row;
  const bool is_plus = equation.sign > 0;
  return {equation.s0, equation.e + (is_plus ? positive_[i] : negative_[i]),
          is_plus ? negative_[i] : positive_[i], is_plus ? least_negative_[i] : least_positive_[i]};
}

FirstEvent EventSearch::find(const PoleRows& rows, std::span<const Equation> equations,
                             std::size_t n_rows, double length, double direction, bool has_cutoff) {
  for (auto* sums : {&positive_, &negative_, &least_positive_, &least_negative_})
    sums->resize(n_rows);
  ALPHAPATH_DISPATCH(pole_sums)
  (rows.W, rows.ld, n_rows, rows.poles.data(), rows.poles.size(),
   simd::SecularSums{positive_.data(), negative_.data(), least_positive_.data(),
                     least_negative_.data()});
  FirstEvent first{0, length, false, static_cast<std::int64_t>(equations.size())};
  bound_.resize(equations.size());
  for (std::size_t j = 0; j < equations.size(); ++j) {
    const Equation& equation = equations[j];
    const Local local =
        equation.is_tied ? evaluate(rows, equation, 0, direction) : local_at_start(equation);
    bound_[j] = bracket(local, 0, direction);
  }
  const auto refine = [&](std::size_t j) {
    const double t = bound_[j], x = direction * t;
    const double step = bracket(evaluate(rows, equations[j], x, direction), x, direction);
    ++first.n_iterations;
    bound_[j] = t + step;
    return step <= smallest_step * std::max(t, length);
  };
  if (!has_cutoff) {
    for (std::size_t j = 0; j < equations.size(); ++j)
      for (int k = 0; k < max_iterations && bound_[j] < length && !refine(j); ++k) {
      }
  }
  for (std::size_t n_refined = 0; !bound_.empty(); ++n_refined) {
    const auto least = std::min_element(bound_.begin(), bound_.end());
    if (!(*least < length))
      break;
    const auto j = static_cast<std::size_t>(least - bound_.begin());
    if (!has_cutoff || refine(j) || n_refined > max_iterations * equations.size()) {
      if (!(bound_[j] < length))
        continue;
      first.equation = j;
      first.t = bound_[j];
      first.is_found = true;
      break;
    }
  }
  return first;
}

} // namespace alphapath::quadratic

namespace alphapath {

namespace {

/// The sum over the terms of a slack without their signs: its rounding is a few bits of that.
double size_of_terms(const quadratic::PoleRows& rows, const quadratic::Equation& equation,
                     double x) {
  const double* w = rows.W + equation.row;
  double size = std::abs(equation.s0) + std::abs(x * equation.e);
  for (std::size_t k = 0; k < rows.poles.size(); ++k)
    size += std::abs(w[k * rows.ld] * x / (rows.poles[k] - x));
  return size;
}

/// Values below this share of their terms have no sign of their own.
constexpr double sign_rounding = 4e-15;

} // namespace

std::vector<Crossing> find_crossings(const RationalRows& rows, double end) {
  using namespace quadratic;
  const std::size_t n = rows.s.size();
  const double direction = end < 0 ? -1.0 : 1.0, length = std::abs(end);
  // A zero is left behind by this step before the next one is looked for.
  const double skip = 1e-13 * length;
  // As many zeros as the numerator's degree, and some stops on the way to each.
  const std::size_t most_stops = 8 * (rows.poles.size() + 2);
  std::vector<Crossing> crossings;
  for (std::size_t i = 0; i < n; ++i) {
    const PoleRows row{rows.W.data() + i, n, rows.poles};
    Equation equation{0, rows.s[i], rows.e[i], 1.0, false};
    double t = 0;
    if (equation.s0 == 0)
      t = skip;
    for (std::size_t stop = 0; t < length && stop < most_stops; ++stop) {
      Local local = evaluate(row, equation, direction * t, direction);
      if (local.value < 0) {
        equation.s0 = -equation.s0;
        equation.e = -equation.e;
        equation.sign = -equation.sign;
        local = evaluate(row, equation, direction * t, direction);
      }
      double step = bracket(local, direction * t, direction);
      for (int k = 0; k < 100 && step > smallest_step * length && t + step < length; ++k) {
        t += step;
        step = bracket(evaluate(row, equation, direction * t, direction), direction * t, direction);
      }
      t += step;
      if (!(t < length))
        break;
      const double zero = direction * t;
      // On to where the value has a sign again; a zero that is only touched changes none.
      for (double way = skip; t < length; way *= 2) {
        t = std::abs(zero) + way;
        const double value = evaluate(row, equation, direction * t, direction).value;
        if (std::abs(value) <= sign_rounding * size_of_terms(row, equation, direction * t))
          continue;
        if (value < 0 && t < length)
          crossings.push_back({static_cast<std::int32_t>(i), zero});
        break;
      }
    }
  }
  return crossings;
}

} // namespace alphapath
