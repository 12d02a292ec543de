#include "primal/newton/matrix_free_fold_paths.hpp"

#include "base/isa.hpp"
#include "problem/limits.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

constexpr std::size_t lanes = simd::n_together;

// As in newton.cpp.
constexpr double least_progress = 1e-4;
constexpr int max_halvings = 30;
constexpr double level = 1e-10, enough_gain = 0.7;
constexpr double step_accuracy = 0.02;
constexpr double enough = 0.9;
// Single precision gains nothing more from longer runs.
constexpr std::size_t max_products = 400;

constexpr Status unfinished{-1};

// Of the search in the span of the last solutions.
constexpr int max_tries = 12;
// What a step still promises, as a share of what the first one did.
constexpr double little = 1e-3;
// Of its diagonal, what is left of a direction that the others contain.
constexpr double dependent = 1e-9;

/// step = -H^-1 g; 0 along directions that depend on those before. Returns -g'step.
double solve_three(const double (&H)[6], const double (&g)[3], double (&step)[3]) {
  double L[3][3] = {}, z[3] = {};
  bool is_used[3];
  for (std::size_t i = 0, row = 0; i < 3; row += ++i) {
    double pivot = H[row + i], rest = -g[i];
    for (std::size_t j = 0; j < i; ++j) {
      double sum = H[row + j];
      for (std::size_t k = 0; k < j; ++k)
        sum -= L[i][k] * L[j][k];
      L[i][j] = is_used[j] ? sum / L[j][j] : 0.0;
      pivot -= L[i][j] * L[i][j];
      rest -= L[i][j] * z[j];
    }
    is_used[i] = pivot > dependent * H[row + i];
    L[i][i] = is_used[i] ? std::sqrt(pivot) : 1.0;
    z[i] = is_used[i] ? rest / L[i][i] : 0.0;
  }
  for (std::size_t i = 3; i-- > 0;) {
    step[i] = z[i];
    for (std::size_t j = i + 1; j < 3; ++j)
      step[i] -= L[j][i] * step[j];
    step[i] = is_used[i] ? step[i] / L[i][i] : 0.0;
  }
  return z[0] * z[0] + z[1] * z[1] + z[2] * z[2];
}

} // namespace

MatrixFreeFoldPaths::MatrixFreeFoldPaths(const std::vector<MarginTask>& tasks,
                                         const NewtonPathOptions& options)
    : FoldPaths(tasks, options), options_(options), tasks_(tasks),
      size_(task_.rows.n_columns() + options.has_bias), results_(tasks.size()),
      theta_(size_ * lanes), loss_gradient_(size_ * lanes), gradient_(size_ * lanes),
      step_(size_ * lanes), values_(task_.rows.size() * lanes), parabola_(task_.rows.size() + 1),
      parabola_weights_(parabola_.size() * lanes), place_of_(size_, -1),
      vectors_(5 * (size_ + 1) * lanes) {
  for (Past& past : past_)
    past = {Buffer<double>(theta_.size()), Buffer<double>(values_.size())};
  for (Buffer<double>* zeros :
       {&theta_, &values_, &past_[0].theta, &past_[0].values, &past_[1].theta, &past_[1].values})
    std::fill_n(zeros->data(), zeros->size(), 0.0);
  evaluate();
  measure(1.0);
  for (std::size_t f = 0; f < n_folds_; ++f)
    zero_gradient_[f] = std::sqrt(squares_[f]) * share_of_rarer_class(tasks[f]);
}

std::vector<double> MatrixFreeFoldPaths::theta(std::size_t fold) const {
  std::vector<double> theta(size_);
  for (std::size_t j = 0; j < size_; ++j)
    theta[j] = theta_[j * lanes + fold];
  return theta;
}

std::vector<NewtonResult> MatrixFreeFoldPaths::solve(double C, Watch& watch) {
  std::fill(results_.begin(), results_.end(), NewtonResult{.status = unfinished});
  measure(C);
  begin_in_span(C);
  needs_double_ = 0;
  while (const Lanes moving = find_unfinished(C, watch)) {
    find_steps(C, moving);
    search_lines(C, moving);
  }
  if (needs_double_ != 0) {
    for (std::size_t f = 0; f < n_folds_; ++f)
      if (has(needs_double_, f))
        solve_alone(f, C, watch);
    take_values();
    evaluate();
  }
  for (std::size_t i = 0; i < rows_.lanes.size(); ++i)
    if (const std::uint8_t holder = rows_.lanes[i].holder; holder < lanes)
      held_out_[i] = values_[i * lanes + holder];
  return results_;
}

/// The decision values at theta_.
void MatrixFreeFoldPaths::take_values() {
  const double* bias = has_bias_ ? theta_.data() + (size_ - 1) * lanes : nullptr;
  task_.rows.dots_together(all_rows(0, task_.rows.size()), theta_.data(), values_.data());
  for (std::size_t k = 0; bias != nullptr && k < values_.size(); k += lanes)
    for (std::size_t f = 0; f < lanes; ++f)
      values_[k + f] += bias[f];
}

/// Losses, their gradient and the rows on the parabola, from the decision values.
void MatrixFreeFoldPaths::evaluate() {
  alignas(64) double slopes[margin_block * lanes];
  simd::LaneSums sums{};
  std::fill_n(loss_gradient_.data(), loss_gradient_.size(), 0.0);
  n_parabola_ = 0;
  for (std::size_t first = 0; first < task_.rows.size(); first += margin_block) {
    const std::size_t count = std::min(margin_block, task_.rows.size() - first);
    n_parabola_ += ALPHAPATH_DISPATCH(take_slopes)(
        {rows_.lanes.data(), rows_.weights.data(), first, count}, values_.data() + first * lanes,
        slopes, sums, parabola_.data() + n_parabola_,
        parabola_weights_.data() + n_parabola_ * lanes);
    task_.rows.add_together(first, count, slopes, loss_gradient_.data());
  }
  std::copy_n(sums.losses, lanes, losses_.at);
  if (has_bias_)
    std::copy_n(sums.slopes, lanes, loss_gradient_.data() + (size_ - 1) * lanes);
}

/// F and its gradient from the losses, without a look at the data.
void MatrixFreeFoldPaths::measure(double C) {
  PerFold norms;
  squares_ = {};
  for (std::size_t j = 0; j < size_ * lanes; j += lanes)
    for (std::size_t f = 0; f < lanes; ++f) {
      const double at = theta_[j + f], g = at + C * loss_gradient_[j + f];
      gradient_[j + f] = g;
      norms[f] += at * at;
      squares_[f] += g * g;
    }
  for (std::size_t f = 0; f < lanes; ++f)
    objective_[f] = 0.5 * norms[f] + C * losses_[f];
}

double MatrixFreeFoldPaths::largest_gradient(std::size_t f, double C) const {
  return alphapath::largest_gradient(options_, C * zero_gradient_[f], objective_[f]);
}

bool MatrixFreeFoldPaths::is_solved(std::size_t f, double C) const {
  return std::sqrt(squares_[f]) <= largest_gradient(f, C);
}

Lanes MatrixFreeFoldPaths::find_unfinished(double C, Watch& watch) {
  Lanes moving = 0;
  const bool stops = watch.should_stop();
  for (std::size_t f = 0; f < n_folds_; ++f) {
    NewtonResult& result = results_[f];
    if (result.status != unfinished)
      continue;
    result.objective = objective_[f];
    result.gap = 0.5 * squares_[f];
    if (is_solved(f, C) || has(needs_double_, f))
      result.status = Status::solved;
    else if (result.n_iter >= options_.max_iter)
      result.status = Status::iteration_limit;
    else if (stops)
      result.status = watch.is_interrupted() ? Status::interrupted : Status::time_limit;
    else
      moving = with(moving, f);
  }
  return moving;
}

/// A copy of the rows on the parabola over their own columns. Kept while they stay the same.
void MatrixFreeFoldPaths::pack_parabola() {
  const auto end = parabola_.begin() + static_cast<std::ptrdiff_t>(n_parabola_);
  if (std::equal(packed_.begin(), packed_.end(), parabola_.begin(), end))
    return;
  packed_.assign(parabola_.begin(), end);
  rows_packed_.clear();
  task_.rows.copy_rows(packed_, has_bias_, rows_packed_);
  for (std::int32_t j : columns_)
    place_of_[static_cast<std::size_t>(j)] = -1;
  columns_.clear();
  for (std::int32_t& j : rows_packed_.columns) {
    std::int32_t& place = place_of_[static_cast<std::size_t>(j)];
    if (place < 0) {
      place = static_cast<std::int32_t>(columns_.size());
      columns_.push_back(j);
    }
    j = place;
  }
}

/// step_ = -H^-1 gradient on the segments of theta_.
void MatrixFreeFoldPaths::find_steps(double C, Lanes moving) {
  pack_parabola();
  const std::size_t m = columns_.size(), n = (m + 1) * lanes;
  const simd::LaneVectors at{vectors_.data(), vectors_.data() + n, vectors_.data() + 2 * n,
                             vectors_.data() + 3 * n, m + 1};
  PerFold outside = squares_; // of the gradient in the columns that no row on the parabola has
  PerFold used;               // 1 in the folds that move
  for (std::size_t f = 0; f < n_folds_; ++f)
    used[f] = has(moving, f);
  for (std::size_t c = 0; c < m; ++c)
    for (std::size_t f = 0; f < lanes; ++f) {
      const double g = gradient_[static_cast<std::size_t>(columns_[c]) * lanes + f];
      at.residual(c)[f] = static_cast<float>(-used[f] * g);
      outside[f] -= g * g;
    }
  for (std::size_t f = 0; f < lanes; ++f) {
    outside[f] = std::sqrt(std::max(outside[f], 0.0));
    at.residual(m)[f] = static_cast<float>(used[f] * outside[f]);
  }
  conjugate_residuals(at, C, moving);
  PerFold share;
  for (std::size_t f = 0; f < lanes; ++f)
    share[f] = outside[f] > 0.0 ? at.step[m * lanes + f] / outside[f] : 0.0;
  for (std::size_t j = 0; j < step_.size(); j += lanes)
    for (std::size_t f = 0; f < lanes; ++f)
      step_[j + f] = -share[f] * gradient_[j + f];
  for (std::size_t c = 0; c < m; ++c)
    for (std::size_t f = 0; f < lanes; ++f)
      step_[static_cast<std::size_t>(columns_[c]) * lanes + f] = at.step[c * lanes + f];
}

/// On entry the residual is the right-hand side; on exit at.step solves H step = it, lane by lane,
/// to the accuracy that each fold needs.
void MatrixFreeFoldPaths::conjugate_residuals(const simd::LaneVectors& at, double C, Lanes moving) {
  const std::size_t n = at.size * lanes;
  PerFold goal, curvature, next, squares;
  for (std::size_t f = 0; f < n_folds_; ++f)
    goal[f] = std::max(step_accuracy * std::sqrt(squares_[f]), enough * largest_gradient(f, C));
  for (float* v : {at.step, at.direction, at.direction_image})
    std::fill_n(v, n, 0.0f);
  for (std::size_t j = 0; j < at.size; ++j)
    std::fill_n(at.image(j), lanes, 0.0f);
  alignas(64) float scale[lanes], ratio[lanes], length[lanes];
  std::fill_n(scale, lanes, static_cast<float>(2.0 * C));
  for (std::size_t k = 0; k < max_products && moving != 0; ++k) {
    ALPHAPATH_DISPATCH(multiply_together)
    (rows_packed_.view(), rows_packed_.size(), parabola_weights_.data(), at);
    ALPHAPATH_DISPATCH(take_image)(at, scale, next.at);
    for (std::size_t f = 0; f < lanes; ++f)
      ratio[f] = k > 0 && curvature[f] > 0.0 ? static_cast<float>(next[f] / curvature[f]) : 0.0f;
    curvature = next; // residual' H residual
    ALPHAPATH_DISPATCH(turn_direction)(at, ratio, squares.at);
    for (std::size_t f = 0; f < lanes; ++f) {
      const bool goes_on = has(moving, f) && curvature[f] > 0.0 && squares[f] > 0.0;
      length[f] = goes_on ? static_cast<float>(curvature[f] / squares[f]) : 0.0f;
    }
    ALPHAPATH_DISPATCH(advance)(at, length, squares.at);
    for (std::size_t f = 0; f < n_folds_; ++f) {
      results_[f].n_products += has(moving, f);
      if (!(length[f] > 0.0f) || std::sqrt(squares[f]) <= goal[f])
        moving = static_cast<Lanes>(moving & ~(1u << f));
    }
  }
}

/// Halves the step of a fold until its F has come down, or is level while the gradient has.
void MatrixFreeFoldPaths::search_lines(double C, Lanes moving) {
  const PerFold start = objective_, squares = squares_;
  const auto has_gained = [&](std::size_t f) {
    return objective_[f] <= (1.0 + level) * start[f] &&
           squares_[f] <= enough_gain * enough_gain * squares[f];
  };
  PerFold length, slope;
  Buffer<double> origin(theta_.size());
  std::copy_n(theta_.data(), theta_.size(), origin.data());
  for (std::size_t f = 0; f < n_folds_; ++f) {
    length[f] = has(moving, f) ? 1.0 : 0.0;
    results_[f].n_iter += has(moving, f);
  }
  for (std::size_t j = 0; j < step_.size(); j += lanes)
    for (std::size_t f = 0; f < lanes; ++f)
      slope[f] += gradient_[j + f] * step_[j + f];
  bool is_accepted = false;
  for (int n_halvings = 0; !is_accepted; ++n_halvings) {
    for (std::size_t j = 0; j < theta_.size(); j += lanes)
      for (std::size_t f = 0; f < lanes; ++f)
        theta_[j + f] = origin[j + f] + length[f] * step_[j + f];
    take_values();
    evaluate();
    measure(C);
    is_accepted = true;
    for (std::size_t f = 0; f < n_folds_ && n_halvings < max_halvings; ++f)
      if (has(moving, f) && !has_gained(f) &&
          objective_[f] > start[f] + least_progress * length[f] * slope[f]) {
        length[f] *= 0.5;
        is_accepted = false;
      }
  }
  for (std::size_t f = 0; f < n_folds_; ++f)
    if (has(moving, f) && !has_gained(f) && objective_[f] >= start[f])
      needs_double_ = with(needs_double_, f);
}

/// What single precision could not solve.
void MatrixFreeFoldPaths::solve_alone(std::size_t f, double C, Watch& watch) {
  NewtonPath path(tasks_[f], options_, nullptr);
  path.state().move_to(theta(f));
  const std::int64_t n_iter = results_[f].n_iter, n_products = results_[f].n_products;
  results_[f] = path.solve(C, watch);
  results_[f].n_iter += n_iter;
  results_[f].n_products += n_products;
  for (std::size_t j = 0; j < size_; ++j)
    theta_[j * lanes + f] = path.state().theta()[j];
}

/// From theta_, the solution of the last C, to the minimum of F over the span of the last three:
///
/// theta(a) = a_0 theta_0 + a_1 (theta_0 - theta_1) + a_2 (theta_1 - theta_2), the last solution
/// first: the differences are less alike than the solutions. Newton's method on a; each of its
/// steps reads the decision values of the three, and not the data.
void MatrixFreeFoldPaths::begin_in_span(double C) {
  PerFold a[3];
  std::fill_n(a[0].at, lanes, 1.0);
  find_minimum_in_span(C, a);
  const auto move_on = [&](Buffer<double>& now, Buffer<double>& before, Buffer<double>& first) {
    for (std::size_t j = 0; j < now.size(); j += lanes)
      for (std::size_t f = 0; f < lanes; ++f) {
        const double last = now[j + f], older = before[j + f];
        now[j + f] = a[0][f] * last + a[1][f] * (last - older) + a[2][f] * (older - first[j + f]);
        first[j + f] = older;
        before[j + f] = last;
      }
  };
  move_on(theta_, past_[0].theta, past_[1].theta);
  move_on(values_, past_[0].values, past_[1].values);
  evaluate();
  measure(C);
}

/// On entry a is that of theta_, where solved folds stay.
void MatrixFreeFoldPaths::find_minimum_in_span(double C, PerFold (&a)[3]) const {
  PerFold best[3] = {a[0], a[1], a[2]}, least, first;
  Lanes moving = 0;
  for (std::size_t f = 0; f < n_folds_; ++f)
    if (!is_solved(f, C))
      moving = with(moving, f);
  const double* const values[3] = {values_.data(), past_[0].values.data(), past_[1].values.data()};
  const SpanProducts products = measure_span();
  simd::SpanSums sums;
  for (int n_tries = 0; n_tries < max_tries && moving != 0; ++n_tries) {
    const PerFold tried[3] = {a[0], a[1], a[2]};
    ALPHAPATH_DISPATCH(derive_in_span)
    ({rows_.lanes.data(), rows_.weights.data(), 0, task_.rows.size()}, values, tried[0].at, sums);
    add_penalty(C, tried, products, sums);
    for (std::size_t f = 0; f < n_folds_; ++f) {
      if (!has(moving, f))
        continue;
      if (n_tries > 0 && sums.value[f] > least[f]) { // back halfway
        for (std::size_t i = 0; i < 3; ++i)
          a[i][f] = 0.5 * (a[i][f] + best[i][f]);
        continue;
      }
      double H[6], g[3], step[3];
      for (std::size_t ij = 0; ij < 6; ++ij)
        H[ij] = sums.hessian[ij * lanes + f];
      for (std::size_t i = 0; i < 3; ++i)
        g[i] = sums.gradient[i * lanes + f];
      if (!is_smooth(f, C))
        H[0] = H[5] = 0.0; // leaves the way alone
      const double promise = solve_three(H, g, step);
      first[f] = n_tries == 0 ? promise : first[f];
      least[f] = sums.value[f];
      for (std::size_t i = 0; i < 3; ++i)
        best[i][f] = a[i][f];
      if (promise <= little * first[f] && n_tries > 0)
        moving = static_cast<Lanes>(moving & ~(1u << f));
      else
        for (std::size_t i = 0; i < 3; ++i)
          a[i][f] += step[i];
    }
  }
  std::copy_n(best, 3, a);
}

/// Whether C is small enough for solutions to change smoothly with it; beyond, where rows cross the
/// kink by the dozen, the errors of the last solutions spoil what is fitted to more than their way.
bool MatrixFreeFoldPaths::is_smooth(std::size_t f, double C) const {
  return largest_gradient(f, C) < std::sqrt(2.0 * options_.tol * objective_[f]);
}

/// On entry sums are those of the losses, on exit of F; products: as measure_span returns them.
void MatrixFreeFoldPaths::add_penalty(double C, const PerFold (&a)[3], const SpanProducts& products,
                                      simd::SpanSums& sums) const {
  for (std::size_t f = 0; f < n_folds_; ++f) {
    sums.value[f] *= C;
    for (std::size_t i = 0; i < 3; ++i) {
      double along = 0.0;
      for (std::size_t k = 0; k < 3; ++k)
        along += products[i >= k ? i * (i + 1) / 2 + k : k * (k + 1) / 2 + i][f] * a[k][f];
      sums.value[f] += 0.5 * a[i][f] * along;
      sums.gradient[i * lanes + f] = C * sums.gradient[i * lanes + f] + along;
    }
    for (std::size_t ij = 0; ij < 6; ++ij)
      sums.hessian[ij * lanes + f] = C * sums.hessian[ij * lanes + f] + products[ij][f];
  }
}

/// The products of the three directions with each other.
MatrixFreeFoldPaths::SpanProducts MatrixFreeFoldPaths::measure_span() const {
  SpanProducts products;
  for (std::size_t j = 0; j < theta_.size(); j += lanes)
    for (std::size_t f = 0; f < lanes; ++f) {
      const double last = theta_[j + f], before = past_[0].theta[j + f];
      const double d[3] = {last, last - before, before - past_[1].theta[j + f]};
      for (std::size_t i = 0, ij = 0; i < 3; ++i)
        for (std::size_t k = 0; k <= i; ++k, ++ij)
          products[ij][f] += d[i] * d[k];
    }
  return products;
}

} // namespace alphapath
