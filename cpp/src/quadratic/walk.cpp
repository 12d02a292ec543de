#include "quadratic/walk.hpp"

#include "base/blas.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace alphapath::secular {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double one_value = 1.0;
constexpr int one = 1;
/// Slacks below this share of their scale are ties.
constexpr double tie_share = 1e-11;
/// Rounding of q_i, in units of sum_j |Q_ij| a_j.
constexpr double product_rounding = 1e-15;
/// M serves lambda within this factor of its shift.
constexpr double shift_ratio = 1.6;
/// The optimality condition on the free set is refined where it is off by more; the second figure
/// is its rounding, in units of the largest sum_j |Q_ij| a_j / lambda.
constexpr double residual_tol = 1e-11, residual_rounding = 2e-17;
/// Terms of bounded rows that came and went, in units of those of the present sum.
constexpr double most_left_behind = 8;
/// M is made for a shift near lambda.
constexpr double inverse_reserve = 4;
constexpr double newton_tol = 1e-11;
constexpr int newton_steps = 200;
/// A degenerate place that cannot be resolved is passed by this share of lambda, and by more where
/// the walk got stuck again within it: each time by `jump_growth` times as much, which a relative
/// way of 1 / `jump_decay` takes back.
constexpr double first_jump = 1e-9, jump_growth = 4, jump_decay = 100, longest_jump = 0.5;

double scale_of(double target, double upper) {
  return std::min(target, upper);
}

} // namespace

Walk::Walk(const QuadraticProblem& problem, const QuadraticPathOptions& options)
    : options_(options), arr_(problem), inverse_(problem.size()),
      watch_(options.time_limit, options.wants_stop), lambda_(options.lambda_start),
      direction_(options.lambda_end < options.lambda_start ? 1.0 : -1.0), residual_(problem.size()),
      ties_(problem.size(), Tie::none), abs_sums_(problem.size()), roots_(problem.size()) {
  last_jump_ = lambda_;
  for (std::size_t i = 0; i < problem.size(); ++i)
    for (std::size_t j = 0; j < problem.size(); ++j)
      abs_sums_[i] += std::abs(arr_.row(i)[j]) * scale_of(arr_.targets[j], arr_.upper[j]);
  largest_sum_ = *std::max_element(abs_sums_.begin(), abs_sums_.end());
  for (std::size_t i = 0; i < problem.size(); ++i)
    roots_[i] = std::sqrt(std::abs(arr_.row(i)[i]));
  largest_root_ = *std::max_element(roots_.begin(), roots_.end());
}

/// Sets from `a` (in the order of positions); free instances come to the front.
bool Walk::arrange(std::span<const double> a, bool is_recorded) {
  for (std::size_t i = 0; i < arr_.size(); ++i) {
    const Side to = a[i] == 0 ? Side::zero : a[i] == arr_.upper[i] ? Side::bound : Side::free;
    if (is_recorded && to != arr_.side[i])
      path_.events.push_back({lambda_, arr_.who[i], arr_.side[i], to});
    arr_.side[i] = to;
    arr_.a[i] = a[i];
  }
  arr_.n_free = 0;
  for (std::size_t i = 0; i < arr_.size(); ++i)
    if (arr_.side[i] == Side::free)
      arr_.make_free(i);
  arr_.refresh_bound_part();
  return factor();
}

bool Walk::factor() {
  if (options_.uses_eigen)
    return true;
  ++path_.n_factorizations;
  const double shift = direction_ > 0 ? lambda_ / shift_ratio : lambda_ * shift_ratio;
  return inverse_.factor(arr_.row(0), arr_.stride(), arr_.n_free, shift);
}

/// The Newton solver at the present lambda, from the present a.
bool Walk::solve_here() {
  const QuadraticSolution solution =
      solve_newton(arr_.view(), lambda_, arr_.a, {newton_tol, newton_steps, {}});
  return solution.is_convex && arrange(solution.a, true);
}

/// Past a degenerate place that could not be resolved. Every jump moves lambda, and jumps that
/// follow each other closely grow, so that the walk ends whatever rounding does to its events.
bool Walk::jump() {
  ++path_.n_resets;
  const double way = std::abs(lambda_ / last_jump_ - 1);
  jump_share_ =
      std::clamp(jump_growth * jump_share_ * std::exp(-jump_decay * way), first_jump, longest_jump);
  const double from = lambda_, to = lambda_ * (1 - direction_ * jump_share_);
  const bool is_last = direction_ * (to - options_.lambda_end) <= 0;
  const std::size_t n_events = path_.events.size();
  const std::vector<double> before = a_by_instance();
  lambda_ = last_jump_ = is_last ? options_.lambda_end : to;
  n_flips_here_ = 0;
  if (!solve_here())
    return false;
  if (std::abs(lambda_ - from) > longest_unseen * from)
    bridge(from, n_events, before);
  else if (!path_.gaps.empty() && path_.gaps.back().second == from)
    add_gap(from);
  update_products();
  find_ties();
  return true;
}

/// A piece without poles: the straight line between the solutions at both ends of a jump.
void Walk::bridge(double from, std::size_t n_events, std::span<const double> before) {
  add_gap(from);
  if (!options_.keeps_segments)
    return;
  QuadraticSegment piece;
  piece.first = from;
  piece.last = lambda_;
  piece.n_events = n_events;
  const std::vector<double> after = a_by_instance();
  for (std::size_t i = 0; i < after.size(); ++i)
    if (before[i] != after[i]) {
      piece.members.push_back(static_cast<std::int32_t>(i));
      piece.a.push_back(before[i]);
      piece.drift.push_back((before[i] - after[i]) / (from - lambda_));
    }
  path_.segments.push_back(std::move(piece));
}

/// From there to lambda, the path is not known exactly.
void Walk::add_gap(double from) {
  if (!path_.gaps.empty() && path_.gaps.back().second == from)
    path_.gaps.back().second = lambda_;
  else if (std::abs(from - lambda_) > longest_unseen * from)
    path_.gaps.push_back({from, lambda_});
}

/// The largest residual of the optimality condition on the free set, relative to the targets.
double Walk::relative_residual() const {
  double worst = 0;
  for (std::size_t i = 0; i < arr_.n_free; ++i)
    worst = std::max(worst, std::abs(residual_[i]) / arr_.targets[i]);
  return worst / lambda_;
}

std::vector<double> Walk::a_by_instance() const {
  std::vector<double> a(arr_.size());
  for (std::size_t i = 0; i < arr_.size(); ++i)
    a[static_cast<std::size_t>(arr_.who[i])] = arr_.a[i];
  return a;
}

void Walk::flip(std::size_t position, Side to) {
  path_.events.push_back({lambda_, arr_.who[position], arr_.side[position], to});
  ++n_flips_here_;
  if (to == Side::free) {
    const std::size_t last = arr_.make_free(position);
    if (!options_.uses_eigen)
      inverse_.insert(arr_.row(last));
    return;
  }
  if (!options_.uses_eigen)
    inverse_.remove(position);
  // What rounding left between a and its end of the box goes into q, and from there to the others.
  const double moved = (to == Side::zero ? 0.0 : arr_.upper[position]) - arr_.a[position];
  add_scaled_rows(arr_.view(), {&position, 1}, {&moved, 1}, arr_.q);
  arr_.make_fixed(position, to);
  update_residual();
  restore();
}

void Walk::update_residual() {
  for (std::size_t i = 0; i < arr_.n_free; ++i)
    residual_[i] = lambda_ * (arr_.targets[i] - arr_.a[i]) - arr_.q[i];
}

/// What rounds in q_i: sum_j |Q_ij| a_j, at most sqrt(Q_ii) sum_j sqrt(Q_jj) a_j.
double Walk::terms_of(std::size_t i) const {
  const auto who = static_cast<std::size_t>(arr_.who[i]);
  return std::min(abs_sums_[who], roots_[who] * root_sum_);
}

/// q = Q a on all positions, and the residual lambda (r - a) - q on the free ones.
void Walk::update_products() {
  // Rows that came and went left their rounding behind: less than that of the present sum.
  if (arr_.bound_terms > most_left_behind * root_sum_)
    arr_.refresh_bound_part();
  std::copy(arr_.bound_part.begin(), arr_.bound_part.end(), arr_.q.begin());
  const int n = static_cast<int>(arr_.size()), m = static_cast<int>(arr_.n_free);
  const int stride = static_cast<int>(arr_.stride());
  if (m > 0)
    blas().dgemv("N", &n, &m, &one_value, arr_.row(0), &stride, arr_.a.data(), &one, &one_value,
                 arr_.q.data(), &one);
  update_residual();
  root_sum_ = 0;
  for (std::size_t i = 0; i < arr_.size(); ++i)
    root_sum_ += roots_[static_cast<std::size_t>(arr_.who[i])] * arr_.a[i];
}

/// The largest residual of the optimality condition (5.11) on the free set.
double Walk::worst_residual() const {
  double worst = 0;
  for (std::size_t i = 0; i < arr_.n_free; ++i)
    worst = std::max(worst, std::abs(residual_[i]));
  return worst / lambda_;
}

/// Refines a where the residual is above rounding.
void Walk::restore() {
  if (worst_residual() > residual_limit())
    refine();
}

double Walk::residual_limit() const {
  const double terms = std::min(largest_sum_, largest_root_ * root_sum_);
  return std::max(residual_tol, residual_rounding * terms / lambda_);
}

/// Conjugate gradients on (Q_FF + lambda I) d = residual, preconditioned by M.
void Walk::refine() {
  const std::size_t m = arr_.n_free;
  const int size = static_cast<int>(m), stride = static_cast<int>(arr_.stride());
  std::vector<double> z(m), p(m), Ap(m), r(residual_.begin(), residual_.begin() + size), d(m, 0.0);
  const auto dot = [&](const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (std::size_t i = 0; i < m; ++i)
      sum += x[i] * y[i];
    return sum;
  };
  inverse_.multiply(r.data(), z.data());
  p = z;
  double rz = dot(r, z);
  for (int k = 0; k < 8 && rz > 0; ++k) {
    Ap = p;
    blas().dgemv("N", &size, &size, &one_value, arr_.row(0), &stride, p.data(), &one, &lambda_,
                 Ap.data(), &one);
    const double curvature = dot(p, Ap);
    if (!(curvature > 0))
      break;
    const double alpha = rz / curvature;
    for (std::size_t i = 0; i < m; ++i) {
      d[i] += alpha * p[i];
      r[i] -= alpha * Ap[i];
    }
    inverse_.multiply(r.data(), z.data());
    const double next = dot(r, z);
    const auto worst = [&] {
      double largest = 0;
      for (const double value : r)
        largest = std::max(largest, std::abs(value));
      return largest / lambda_;
    };
    if (!(next > 0) || worst() <= 0.1 * residual_limit())
      break;
    for (std::size_t i = 0; i < m; ++i)
      p[i] = z[i] + next / rz * p[i];
    rz = next;
  }
  if (!std::isfinite(dot(d, d)))
    return;
  for (std::size_t i = 0; i < m; ++i)
    arr_.a[i] += d[i];
  update_products();
}

double Walk::slack(std::size_t i, Tie end) const {
  switch (arr_.side[i]) {
  case Side::zero:
    return arr_.q[i] - lambda_ * arr_.targets[i];
  case Side::bound:
    return lambda_ * (arr_.targets[i] - arr_.upper[i]) - arr_.q[i];
  default:
    return end == Tie::zero ? arr_.a[i] : arr_.upper[i] - arr_.a[i];
  }
}

double Walk::tie_width(std::size_t i) const {
  const double share = tie_share * scale_of(arr_.targets[i], arr_.upper[i]);
  const double rounding = product_rounding * terms_of(i);
  return arr_.side[i] == Side::free ? share + rounding / lambda_ : lambda_ * share + rounding;
}

/// How far a free a may be off: by M what its own and the others' conditions are off by. Less than
/// `tie_width` where a row is not near the span of the others.
double Walk::error_of(std::size_t i) {
  work_.resize(arr_.n_free);
  for (std::size_t j = 0; j < arr_.n_free; ++j)
    work_[j] = std::abs(residual_[j]) +
               product_rounding * (terms_of(j) + lambda_ * (arr_.targets[j] + arr_.a[j]));
  return inverse_reserve * inverse_.bound_on(i, work_.data());
}

/// Marks every slack that is zero to rounding; false where one is clearly negative.
bool Walk::find_ties() {
  bool is_feasible = true;
  for (std::size_t i = 0; i < arr_.size(); ++i) {
    Tie& tie = ties_[static_cast<std::size_t>(arr_.who[i])];
    tie = Tie::none;
    const double width = tie_width(i);
    const Tie ends[] = {arr_.side[i] == Side::bound ? Tie::bound : Tie::zero, Tie::bound};
    for (const Tie end : {ends[0], ends[1]}) {
      if (end == Tie::bound && arr_.side[i] == Side::zero)
        continue;
      const double here = slack(i, end);
      const bool is_open = arr_.side[i] == Side::free && !options_.uses_eigen && here > 0;
      if (here <= (is_open && here <= width ? std::min(width, error_of(i)) : width))
        tie = end;
      if (!(here >= -30 * width)) { // or no number
        is_feasible = false;
        const double unit = arr_.targets[i] * (arr_.side[i] == Side::free ? 1.0 : lambda_);
        piece_error_ = std::isfinite(here) ? std::max(piece_error_, -here / unit) : infinity;
      }
    }
  }
  return is_feasible;
}

/// The slack of a position towards one end of its box, along x = lambda_0 - lambda.
Equation Walk::equation_of(std::size_t i, Tie end) const {
  const bool is_tied = ties_[static_cast<std::size_t>(arr_.who[i])] == end;
  const double s0 = is_tied ? 0.0 : slack(i, end);
  switch (arr_.side[i]) {
  case Side::zero:
    return {i, s0, arr_.targets[i], -1.0, is_tied};
  case Side::bound:
    return {i, s0, arr_.upper[i] - arr_.targets[i], 1.0, is_tied};
  default:
    return {i, s0, 0.0, end == Tie::zero ? -1.0 : 1.0, is_tied};
  }
}

/// How far this piece may go: to the end, and not beyond what its poles are made for.
double Walk::reach() const {
  const double left = direction_ * (lambda_ - options_.lambda_end);
  return std::min(left, step_share_ * lambda_);
}

} // namespace alphapath::secular
