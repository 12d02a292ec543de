// Cholesky factor of the margin set's kernel block that follows a path: one member in or out in
// O(m^2).
//
//   A = K_MM + sigma 1 1' = L L'
//
// With the equality constraint sigma > 0 makes A positive definite exactly when the bordered system
// [0 1'; 1 K_MM] is nonsingular (K_MM alone need not be definite). p = L^-1 1 is kept along: it is
// one more row of L under every rotation, so the bias of a direction costs no solve of its own.
// L^-1 rhs is carried likewise, and so is what a member that comes or goes adds to it, a multiple
// of its own column: a direction takes one solve with L' alone. (Paper: M. Karasuyama, appendices A
// and B, for K_MM itself.)
#pragma once

#include "base/buffer.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace alphapath {

class MarginSetFactor {
public:
  MarginSetFactor() = default;
  MarginSetFactor(const MarginSetFactor& other) { *this = other; }
  MarginSetFactor(MarginSetFactor&&) = default;
  MarginSetFactor&
  operator=(const MarginSetFactor& other); // into the memory there is, where it is enough
  MarginSetFactor& operator=(MarginSetFactor&&) = default;

  std::size_t size() const { return size_; }
  void clear() {
    size_ = 0;
    ones_.clear();
    carried_.clear();
  }

  /// Factors the m x m matrix whose lower triangle `fill(column, out)` writes: out[r] = A(r,
  /// column) for r >= column. False where a relative pivot is not above `least`; the factor is then
  /// empty.
  template <class Fill> bool assign(std::size_t m, double least, Fill fill) {
    reserve(m);
    std::vector<double> diagonal(m);
    for (std::size_t c = 0; c < m; ++c) {
      fill(c, lower_.data() + c * capacity_);
      diagonal[c] = lower_[c * capacity_ + c];
    }
    return factor(m, least, diagonal);
  }

  /// L^-1 a for a new member with A-column `a` and diagonal `own`; returns the relative pivot.
  /// The first n_solved numbers are those of L^-1 a already.
  double try_insert(std::span<const double> a, double own, std::size_t n_solved = 0);
  /// L^-1 of simd::right_sides columns, side by side.
  void solve_together(std::span<double> columns) const;
  /// The member of the last try becomes the last one; `rhs` is its entry of what is carried.
  void insert_tried(double rhs);
  /// Several members at once, who become the last ones: their rows of L, `left` of what is new by
  /// columns, then the `corner` by rows, `stride` apart. What was carried is lost.
  void append(std::span<const double> left, std::span<const double> corner, std::size_t n_new,
              std::size_t stride);
  /// p
  std::span<const double> ones() const { return ones_; }
  /// z with A (z, 1) = 0 but for the pivot of the last try: -A^-1 a.
  void null_direction(std::span<double> z) const;
  void remove(std::size_t k);
  /// Several members at once, ascending. What was carried is lost.
  void remove_all(std::span<const std::size_t> positions);

  /// From here on L^-1 rhs is carried through every change.
  void carry(std::span<const double> rhs);
  /// The rhs carried gets `by` times the A-column of the last try, and `shift` in every entry.
  void add_tried(double by, double shift);
  /// The same with the A-column of member k.
  void add_column(std::size_t k, double by, double shift);
  /// x = A^-1 (rhs - shift 1) of the rhs carried, where shift, returned, makes sum(x) = total.
  double solve_bordered(std::span<double> x, double total) const;
  /// x = A^-1 rhs of the rhs carried.
  void solve(std::span<double> x) const;

private:
  bool factor(std::size_t m, double least, std::span<const double> diagonal);
  void reserve(std::size_t m);
  void take_up(std::size_t column, std::size_t n_left, std::size_t n_rows, std::size_t own);
  void solve_forward(double* x) const;
  void solve_backward(double* x) const;

  std::size_t size_ = 0, capacity_ = 0;
  Buffer<double> lower_;        // column-major, leading dimension capacity_
  std::vector<double> ones_;    // p
  std::vector<double> carried_; // L^-1 rhs
  std::vector<double> tried_;   // L^-1 a of the last try
  double tried_pivot_ = 0;
  std::vector<double> scratch_, reflector_;
};

} // namespace alphapath
