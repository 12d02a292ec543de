// Cholesky factor of the free set's kernel block, kept from one solve to the next.
//
//   A = K_MM - h 1' - 1 h' + sigma 1 1' + ridge I = L L'
//
// On sum(delta) = 0 the terms in h and sigma change nothing; they make A positive definite exactly
// when the bordered system of the equality-constrained problem is nonsingular (K_MM alone need not
// be definite, and the stored kernel is centred anyway). h_i = K_i,ref - K_ref,ref / 2 moves the
// origin of feature space to one instance, sigma is the mean diagonal.
#pragma once

#include "base/buffer.hpp"
#include "base/interrupt.hpp"
#include "kernel/kernel_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

class FreeSetFactor {
public:
  explicit FreeSetFactor(const KernelRows& kernel) : kernel_(kernel) {}

  /// The same factor as `other`, of the same kernel.
  void copy_from(const FreeSetFactor& other);

  std::size_t size() const { return members_.size(); }

  /// Bytes a factor of n members takes at most.
  static double bytes_for(std::size_t n) {
    const double capacity = 1.25 * static_cast<double>(n) + 16;
    return capacity * capacity * sizeof(double);
  }
  const std::vector<std::uint32_t>& members() const { return members_; }

  /// Factor the block of `members`, of which the first `n_kept` are those of the last call.
  /// Members that depend on earlier ones (duplicates, a kernel of low rank or not definite) get a
  /// pivot so large that solves leave them at 0. False where it was stopped.
  bool set_members(std::vector<std::uint32_t> members, std::size_t n_kept, Watch& watch);

  /// Takes the members at these positions (ascending) out again. None at or before the last of
  /// them may be dependent, and set_members must follow before anything is solved.
  void remove(std::span<const std::size_t> positions);

  /// Members removed since the factor was last recomputed: rounding grows with them.
  std::size_t n_removed() const { return n_removed_; }

  /// A^-1 1 and its sum.
  std::span<const double> ones() const { return ones_; }
  double ones_sum() const { return ones_sum_; }

  /// Column of A that `instance` would have: its entries with the members.
  void fill_column(std::size_t instance, std::span<double> column) const;

  /// x <- A^-1 x
  void solve(std::span<double> x) const;

  /// x <- A^-1 e_p; cheaper the later p stands.
  void solve_unit(std::size_t p, std::span<double> x) const;

  /// Whether member k is a combination of those before it.
  bool is_dependent(std::size_t k) const { return is_dependent_[k]; }

  bool has_dependents() const {
    return std::find(is_dependent_.begin(), is_dependent_.end(), 1) != is_dependent_.end();
  }

  /// z with z_k = 1 and A z = 0 up to rounding, for a dependent member k; returns z'Az.
  double null_vector(std::size_t k, std::span<double> z) const;

private:
  /// As solve, for an x that is zero before `first`.
  void solve_from(std::size_t first, std::span<double> x) const;
  void choose_origin();
  void fill_rows(std::size_t first);
  template <class T> void gather_column(std::size_t instance, std::span<double> column) const;
  void solve_few_rows(std::size_t start, std::size_t n_rows);
  bool factor_rows(std::size_t first, Watch& watch);
  void factor_guarded(std::size_t start, std::size_t width, std::span<const double> diagonal);
  void take_up(double* x, double* v, std::size_t ld, std::size_t n_v, std::size_t n_rows);
  void reserve(std::size_t n, std::size_t n_kept);

  const KernelRows& kernel_;
  std::vector<std::uint32_t> members_;
  std::vector<char> is_dependent_;
  std::vector<double> pivots_; // of the dependent members, before they were replaced
  Buffer<double> lower_;       // L, column-major, leading dimension capacity_
  std::size_t capacity_ = 0;
  std::size_t n_removed_ = 0;
  std::vector<double> leaving_; // columns of the members taken out, below them
  std::vector<double> reflector_, few_rows_;
  std::vector<double> ones_;
  double ones_sum_ = 0;
  std::vector<double> origin_row_; // K_i,ref for every instance i
  double origin_norm_ = 0, sigma_ = 0, ridge_ = 0;
};

} // namespace alphapath
