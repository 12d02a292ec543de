#include "quadratic/arrangement.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace alphapath::quadratic {

Arrangement::Arrangement(const QuadraticProblem& problem)
    : who(problem.size()), side(problem.size(), Side::zero),
      targets(problem.targets().begin(), problem.targets().end()),
      upper(problem.upper().begin(), problem.upper().end()), a(problem.size(), 0.0),
      bound_part(problem.size(), 0.0), q(problem.size(), 0.0), stride_(problem.stride()),
      Q_(problem.size() * problem.stride()) {
  std::iota(who.begin(), who.end(), 0);
  std::memcpy(Q_.data(), problem.matrix(), Q_.nbytes());
}

void Arrangement::swap(std::size_t i, std::size_t j) {
  if (i == j)
    return;
  double* Q = Q_.data();
  std::swap_ranges(Q + i * stride_, Q + (i + 1) * stride_, Q + j * stride_);
  for (std::size_t k = 0; k < size(); ++k)
    std::swap(Q[k * stride_ + i], Q[k * stride_ + j]);
  std::swap(who[i], who[j]);
  std::swap(side[i], side[j]);
  std::swap(targets[i], targets[j]);
  std::swap(upper[i], upper[j]);
  std::swap(a[i], a[j]);
  std::swap(bound_part[i], bound_part[j]);
  std::swap(q[i], q[j]);
}

void Arrangement::add_row(std::size_t position, double coefficient) {
  add_scaled_rows(view(), {&position, 1}, {&coefficient, 1}, bound_part);
  bound_terms += std::abs(coefficient) * std::sqrt(std::abs(row(position)[position]));
}

std::size_t Arrangement::make_free(std::size_t position) {
  if (side[position] == Side::bound)
    add_row(position, -upper[position]);
  side[position] = Side::free;
  swap(position, n_free);
  return n_free++;
}

std::size_t Arrangement::make_fixed(std::size_t position, Side to) {
  side[position] = to;
  a[position] = to == Side::zero ? 0.0 : upper[position];
  if (to == Side::bound)
    add_row(position, upper[position]);
  swap(position, --n_free);
  return n_free;
}

void Arrangement::refresh_bound_part() {
  std::vector<std::size_t> rows;
  std::vector<double> values;
  for (std::size_t i = n_free; i < size(); ++i)
    if (side[i] == Side::bound) {
      rows.push_back(i);
      values.push_back(upper[i]);
    }
  std::fill(bound_part.begin(), bound_part.end(), 0.0);
  bound_terms = 0;
  add_scaled_rows(view(), rows, values, bound_part);
}

} // namespace alphapath::quadratic
