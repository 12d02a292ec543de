// The exact path of a quadratic-loss SVM over lambda (paper's chapter 5, in difference form).
//
//   solve at lambda_start
//   repeat  poles of the free set:  a(lambda_0 - x) = a_0 - x sum_k Z_k / (D_k - x)
//           tied instances whose slack would turn negative change sides, lowest index first
//           first zero among all slacks  s_0 + x (e + sign sum_k W_k / (D_k - x))
//           move there; its instance changes sides
//   until lambda_end
//
// With v = (r - a_0)_F the residue of a is Z = v's fractions, of Q_OF a it is Q_OF Z. Ties
// (duplicates, symmetric data) are resolved with lambda fixed, by signs of derivatives only:
// least-index pivoting on a positive definite complementarity problem, which is finite. Every piece
// ends with all slacks recomputed; one that is negative beyond rounding, or a place where pivoting
// does not end, is left behind by a jump: the Newton solver a little further along (n_resets).
#include "base/blas.hpp"
#include "quadratic/walk.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath::secular {

namespace {

constexpr double one_value = 1.0, zero_value = 0.0, minus_one = -1.0;
constexpr int one = 1;
/// Error that the poles may leave in a, in units of its scale.
constexpr double pole_tol = 1e-13;
/// Derivatives of tied slacks below this share of their terms are zero.
constexpr double slope_rounding = 1e-11;
/// Within this share of lambda a walk has not moved.
constexpr double standstill = 1e-11;
/// What decision values of kept fractions may be off by, relative to the targets.
constexpr double exact_enough = 1e-6;
constexpr double longest_step = 0.75, shortest_reach = 0.02;

} // namespace

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

} // namespace alphapath::secular

namespace alphapath {

QuadraticPath follow_quadratic_path(const QuadraticProblem& problem, std::span<const double> guess,
                                    const QuadraticPathOptions& options) {
  return secular::Walk(problem, options).run(guess);
}

} // namespace alphapath
