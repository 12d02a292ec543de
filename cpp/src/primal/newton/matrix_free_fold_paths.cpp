#include "primal/newton/matrix_free_fold_paths.hpp"

#include "base/isa.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

constexpr std::size_t lanes = simd::n_together;

// As in margins_newton.cpp and newton_systems.cpp.
constexpr double least_progress = 1e-4;
constexpr int max_halvings = 30;
constexpr double level = 1e-10, enough_gain = 0.7;
constexpr double step_accuracy = 0.02;
constexpr double enough = 0.9;
// Single precision gains nothing more from longer runs.
constexpr std::size_t max_products = 400;

constexpr int unfinished = -1;

} // namespace

LanePaths::LanePaths(const std::vector<MarginTask>& tasks, const NewtonPathOptions& options)
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

std::vector<double> LanePaths::theta(std::size_t fold) const {
  std::vector<double> theta(size_);
  for (std::size_t j = 0; j < size_; ++j)
    theta[j] = theta_[j * lanes + fold];
  return theta;
}

std::vector<NewtonResult> LanePaths::solve(double C, Watch& watch) {
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
void LanePaths::take_values() {
  const double* bias = has_bias_ ? theta_.data() + (size_ - 1) * lanes : nullptr;
  task_.rows.dots_together(all_rows(0, task_.rows.size()), theta_.data(), values_.data());
  for (std::size_t k = 0; bias != nullptr && k < values_.size(); k += lanes)
    for (std::size_t f = 0; f < lanes; ++f)
      values_[k + f] += bias[f];
}

/// Losses, their gradient and the rows on the parabola, from the decision values.
void LanePaths::evaluate() {
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
void LanePaths::measure(double C) {
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

double LanePaths::largest_gradient(std::size_t f, double C) const {
  return alphapath::largest_gradient(options_, C * zero_gradient_[f], objective_[f]);
}

bool LanePaths::is_solved(std::size_t f, double C) const {
  return std::sqrt(squares_[f]) <= largest_gradient(f, C);
}

Lanes LanePaths::find_unfinished(double C, Watch& watch) {
  Lanes moving = 0;
  const bool stops = watch.should_stop();
  for (std::size_t f = 0; f < n_folds_; ++f) {
    NewtonResult& result = results_[f];
    if (result.status != unfinished)
      continue;
    result.objective = objective_[f];
    result.gap = 0.5 * squares_[f];
    if (is_solved(f, C) || has(needs_double_, f))
      result.status = static_cast<int>(Status::solved);
    else if (result.n_iter >= options_.max_iter)
      result.status = static_cast<int>(Status::iteration_limit);
    else if (stops)
      result.status =
          static_cast<int>(watch.is_interrupted() ? Status::interrupted : Status::time_limit);
    else
      moving = with(moving, f);
  }
  return moving;
}

/// A copy of the rows on the parabola over their own columns. Kept while they stay the same.
void LanePaths::pack_parabola() {
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
void LanePaths::find_steps(double C, Lanes moving) {
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
void LanePaths::conjugate_residuals(const simd::LaneVectors& at, double C, Lanes moving) {
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
void LanePaths::search_lines(double C, Lanes moving) {
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
void LanePaths::solve_alone(std::size_t f, double C, Watch& watch) {
  NewtonPath path(tasks_[f], options_, nullptr);
  path.state().move_to(theta(f));
  const std::int64_t n_iter = results_[f].n_iter, n_products = results_[f].n_products;
  results_[f] = path.solve(C, watch);
  results_[f].n_iter += n_iter;
  results_[f].n_products += n_products;
  for (std::size_t j = 0; j < size_; ++j)
    theta_[j * lanes + f] = path.state().theta()[j];
}

} // namespace alphapath
