#include "quadratic/walk.hpp"

#include "base/blas.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace alphapath::quadratic {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double one_value = 1.0, zero_value = 0.0, minus_one = -1.0;
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
/// Error that the poles may leave in a, in units of its scale.
constexpr double pole_tol = 1e-13;
/// Derivatives of tied slacks below this share of their terms are zero.
constexpr double slope_rounding = 1e-11;
/// Within this share of lambda a walk has not moved.
constexpr double standstill = 1e-11;
/// What decision values of kept fractions may be off by, relative to the targets.
constexpr double exact_enough = 1e-6;
constexpr double longest_step = 0.75, shortest_reach = 0.02;

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
  else
    unseen_ = {unseen_.second == from ? unseen_.first : from, lambda_};
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

/// From there to lambda, the path is not known exactly; nor where short jumps led there.
void Walk::add_gap(double from) {
  if (unseen_.second == from)
    from = unseen_.first;
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

bool Walk::begin(std::span<const double> guess) {
  const QuadraticSolution start = solve_newton(arr_.view(), lambda_, guess, {1e-11, 200, {}});
  if (!start.is_convex || !arrange(start.a, false))
    return false;
  path_.first_sides.resize(arr_.size());
  for (std::size_t i = 0; i < arr_.size(); ++i)
    path_.first_sides[static_cast<std::size_t>(arr_.who[i])] = arr_.side[i];
  update_products();
  refine();
  find_ties();
  return true;
}

/// D and W: one row a position (free: of a; others: of Q a), one column a pole.
bool Walk::make_poles() {
  const std::size_t n = arr_.size(), m = arr_.n_free;
  v_.resize(m);
  double scale = 0;
  for (std::size_t i = 0; i < m; ++i) {
    v_[i] = arr_.targets[i] - arr_.a[i];
    scale = std::max(scale, arr_.targets[i]);
  }
  const double length = reach();
  if (options_.uses_eigen) {
    poles_.from_eigen(arr_.row(0), arr_.stride(), v_);
  } else {
    const double far = lambda_ - direction_ * length;
    if (inverse_.shift() > 2.6 * lambda_ || inverse_.shift() < lambda_ / 2.6)
      if (!factor())
        return false;
    poles_.from_lanczos(inverse_, v_, lambda_, far, pole_tol * scale / length);
  }
  const std::size_t k = poles_.count();
  path_.n_poles += static_cast<std::int64_t>(k);
  D_.resize(k);
  for (std::size_t j = 0; j < k; ++j)
    D_[j] = poles_.sigma[j] + lambda_;
  W_.resize(n * std::max<std::size_t>(k, 1));
  for (std::size_t j = 0; j < k; ++j)
    std::copy_n(poles_.Z.begin() + static_cast<std::ptrdiff_t>(j * m), m,
                W_.begin() + static_cast<std::ptrdiff_t>(j * n));
  const int rows = static_cast<int>(n - m), inner = static_cast<int>(m),
            columns = static_cast<int>(k);
  const int stride = static_cast<int>(arr_.stride()), ld = static_cast<int>(n);
  if (rows > 0 && inner > 0 && columns > 0)
    blas().dgemm("N", "N", &rows, &columns, &inner, &one_value, arr_.row(0) + m, &stride,
                 poles_.Z.data(), &inner, &zero_value, W_.data() + m, &ld);
  return true;
}

/// Whether a tied instance had to change sides: the one of lowest index whose slack would fall.
bool Walk::flip_wrong_tie() {
  std::size_t chosen = arr_.size();
  for (std::size_t i = 0; i < arr_.size(); ++i) {
    const Tie tie = ties_[static_cast<std::size_t>(arr_.who[i])];
    if (tie == Tie::none || (chosen < arr_.size() && arr_.who[i] > arr_.who[chosen]))
      continue;
    const Equation equation = equation_of(i, tie);
    double slope = equation.e, size = std::abs(equation.e);
    for (std::size_t k = 0; k < D_.size(); ++k) {
      const double term = equation.sign * W_[i + k * arr_.size()] / D_[k];
      slope += term;
      size += std::abs(term);
    }
    if (direction_ * slope < -slope_rounding * size)
      chosen = i;
  }
  if (chosen == arr_.size())
    return false;
  const Tie tie = ties_[static_cast<std::size_t>(arr_.who[chosen])];
  const Side end = tie == Tie::zero ? Side::zero : Side::bound;
  flip(chosen, arr_.side[chosen] == Side::free ? end : Side::free);
  return true;
}

void Walk::list_equations() {
  equations_.clear();
  ends_.clear();
  const auto add = [&](std::size_t i, Tie end) {
    const Equation equation = equation_of(i, end);
    if (equation.is_tied) {
      // A slack that stays zero to rounding has no root of its own.
      double size = std::abs(equation.e), slope = equation.e;
      for (std::size_t k = 0; k < D_.size(); ++k) {
        const double term = equation.sign * W_[i + k * arr_.size()] / D_[k];
        slope += term;
        size += std::abs(term);
      }
      if (std::abs(slope) <= slope_rounding * size)
        return;
    }
    equations_.push_back(equation);
    ends_.push_back(end);
  };
  for (std::size_t i = 0; i < arr_.size(); ++i) {
    if (arr_.side[i] != Side::bound)
      add(i, Tie::zero);
    if (arr_.side[i] != Side::zero && std::isfinite(arr_.upper[i]))
      add(i, Tie::bound);
  }
}

void Walk::begin_piece() {
  if (!options_.keeps_segments)
    return;
  const auto m = static_cast<std::ptrdiff_t>(arr_.n_free);
  QuadraticSegment piece;
  piece.first = lambda_;
  piece.n_events = path_.events.size();
  piece.members.assign(arr_.who.begin(), arr_.who.begin() + m);
  piece.a.assign(arr_.a.begin(), arr_.a.begin() + m);
  piece.poles = D_;
  piece.residues.assign(poles_.Z.begin(),
                        poles_.Z.begin() + m * static_cast<std::ptrdiff_t>(D_.size()));
  path_.segments.push_back(std::move(piece));
}

/// Before any instance changes sides. Fractions that are not exact give way to a straight line.
void Walk::end_piece(double first, bool is_exact) {
  if (!is_exact)
    add_gap(first);
  if (!options_.keeps_segments)
    return;
  QuadraticSegment& piece = path_.segments.back();
  piece.last = lambda_;
  if (!is_exact) {
    D_.clear();
    piece.poles.clear();
    piece.residues.clear();
  }
  const std::size_t m = arr_.n_free;
  const double x = piece.first - piece.last;
  piece.drift.assign(m, 0.0);
  if (x == 0)
    return;
  for (std::size_t i = 0; i < m; ++i)
    piece.drift[i] = (piece.a[i] - arr_.a[i]) / x;
  for (std::size_t k = 0; k < D_.size(); ++k) {
    const double factor = 1 / (D_[k] - x);
    for (std::size_t i = 0; i < m; ++i)
      piece.drift[i] -= factor * piece.residues[i + k * m];
  }
}

/// Along the piece from x to x + dx, the optimality condition restored to rounding.
void Walk::advance(double x, double dx) {
  const int m = static_cast<int>(arr_.n_free), k = static_cast<int>(D_.size());
  work_.resize(D_.size());
  for (std::size_t j = 0; j < D_.size(); ++j)
    work_[j] = dx * D_[j] / ((D_[j] - x) * (D_[j] - x - dx));
  if (m > 0 && k > 0)
    blas().dgemv("N", &m, &k, &minus_one, poles_.Z.data(), &m, work_.data(), &one, &one_value,
                 arr_.a.data(), &one);
  lambda_ -= dx;
  update_products();
  piece_error_ = std::max(piece_error_, relative_residual());
  restore();
}

/// To the event: the slack of its instance is brought to zero to rounding by Newton steps on
/// lambda.
void Walk::reach_event(double t, std::size_t j) {
  const Equation& equation = equations_[j];
  double x = direction_ * t;
  advance(0, x);
  for (int k = 0; k < 3; ++k) {
    const double off = slack(equation.row, ends_[j]);
    if (std::abs(off) <= 0.01 * tie_width(equation.row))
      return;
    Equation plain = equation;
    plain.is_tied = false;
    const Local local = evaluate({W_.data(), arr_.size(), D_}, plain, x, direction_);
    const double dx = off / (local.loss - local.gain);
    if (!(std::abs(dx) < 1e-3 * lambda_))
      return;
    advance(x, dx);
    x += dx;
  }
}

/// Whether there were more set changes than pivoting can need while lambda stood still, but for
/// rounding: events that undo each other within it would go on for ever.
bool Walk::has_cycled() {
  if (std::abs(lambda_ - flips_from_) > standstill * lambda_) {
    flips_from_ = lambda_;
    n_flips_here_ = 0;
  }
  return n_flips_here_ > 20 + 4 * arr_.size();
}

QuadraticPathStatus Walk::walk() {
  const double end = options_.lambda_end;
  while (direction_ * (lambda_ - end) > 0) {
    if (options_.max_events >= 0 &&
        path_.events.size() >= static_cast<std::size_t>(options_.max_events))
      return QuadraticPathStatus::event_limit;
    if (watch_.should_stop())
      return watch_.is_interrupted() ? QuadraticPathStatus::interrupted
                                     : QuadraticPathStatus::time_limit;
    if (!make_poles())
      return QuadraticPathStatus::not_convex;
    if (flip_wrong_tie()) {
      if (has_cycled() && !jump())
        return QuadraticPathStatus::not_convex;
      continue;
    }
    list_equations();
    const double length = reach();
    const FirstEvent event = search_.find({W_.data(), arr_.size(), D_}, equations_, arr_.size(),
                                          length, direction_, options_.has_cutoff);
    path_.n_equations += static_cast<std::int64_t>(equations_.size());
    path_.n_iterations += event.n_iterations;
    const double share = event.t / lambda_;
    const bool is_last = !event.is_found && length == direction_ * (lambda_ - end);
    begin_piece();
    const double first = lambda_;
    piece_error_ = 0;
    if (event.is_found)
      reach_event(event.t, event.equation);
    else
      advance(0, direction_ * event.t);
    if (is_last)
      lambda_ = end;
    path_.largest_residual = std::max(path_.largest_residual, worst_residual());
    const bool is_feasible = find_ties();
    end_piece(first, piece_error_ <= exact_enough);
    step_share_ = std::clamp(event.is_found ? 0.7 * step_share_ + 0.3 * 8 * share : 2 * step_share_,
                             shortest_reach, longest_step);
    if (is_last)
      break;
    if (!is_feasible || has_cycled()) {
      if (!jump())
        return QuadraticPathStatus::not_convex;
    } else if (event.is_found) {
      const std::size_t i = equations_[event.equation].row;
      const Tie tie = ends_[event.equation];
      const Side to = tie == Tie::zero ? Side::zero : Side::bound;
      ties_[static_cast<std::size_t>(arr_.who[i])] = tie;
      flip(i, arr_.side[i] == Side::free ? to : Side::free);
    }
  }
  return QuadraticPathStatus::finished;
}

QuadraticPath Walk::run(std::span<const double> guess) {
  path_.status = begin(guess) ? walk() : QuadraticPathStatus::not_convex;
  if (path_.segments.empty()) { // ended before its first piece
    D_.clear();
    begin_piece();
    end_piece(lambda_, true);
  }
  path_.lambda_end = lambda_;
  path_.last_a.resize(arr_.size());
  for (std::size_t i = 0; i < arr_.size(); ++i)
    path_.last_a[static_cast<std::size_t>(arr_.who[i])] = arr_.a[i];
  return std::move(path_);
}

} // namespace alphapath::quadratic

namespace alphapath {

QuadraticPath follow_quadratic_path(const QuadraticProblem& problem, std::span<const double> guess,
                                    const QuadraticPathOptions& options) {
  return quadratic::Walk(problem, options).run(guess);
}

} // namespace alphapath
