// The margin set of a path: its members, their kernel rows, and the factor of their block.
#pragma once

#include "base/buffer.hpp"
#include "factor/margin_set_factor.hpp"
#include "kernel/kernel_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

/// The block is of kernel values about `origin`, with sigma added; rows are those of the kernel.
class MarginSet {
public:
  double block_value(const double* row, std::size_t own, std::size_t other) const {
    return row[other] - origin[own] - origin[other] + sigma;
  }
  const double* row_of(std::size_t position) const {
    return static_cast<const double*>(rows[position].data);
  }
  /// The column that instance i, whose kernel row is given, would have beside `others`; valid until
  /// the next call.
  std::span<const double> column_of(std::size_t i, const double* row,
                                    std::span<const std::uint32_t> others);

  /// Members in the order in which they are in the factor, which is the caller's to make.
  void assign(const KernelRows& kernel, std::vector<std::uint32_t> those);
  void append(std::size_t i, KernelRow pin);
  void clear();
  /// The rows of a kernel that grew are elsewhere now.
  void find_rows(const KernelRows& kernel);

  /// The pivot that instance i would have in the factor.
  double try_insert(std::size_t i, const double* row) {
    return factor.try_insert(column_of(i, row, members), block_value(row, i, i));
  }
  /// Out of the set and of the factor.
  void take_out(std::size_t position);

  /// x <- A^-1 (x - shift 1) with the sum given; returns the change of the bias that goes with it.
  double solve(std::vector<double>& x, double total, bool has_equality);
  /// What goes into every entry of the right-hand side where the rate of i changes, beside -change
  /// times its column of the factored matrix: h and the sum of rates move together.
  double carried_shift(std::size_t i, double change) const { return change * (sigma - origin[i]); }

  std::vector<std::uint32_t> members;
  std::vector<KernelRow> rows;
  std::vector<const double*> pointers;
  MarginSetFactor factor;
  AlignedVector<double> origin; // of feature space, one value an instance
  double sigma = 0;
  // Whether the factor carries the right-hand side of the present rates, and since how many turns.
  bool is_carried = false;
  int n_carried = 0;
  double carried_total = 0; // that its solution sums to
  double carried_size = 0;  // of the rates when it was computed

private:
  std::vector<double> column_;
};

} // namespace alphapath
