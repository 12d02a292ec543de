// Values K beta that are closer to each other than their rounding, summed again.
//
// A solver's gradient is a long sum whose rounding differs from row to row and, since the target is
// part of it, from label to label. Where values of held-out rows are ranked, that would decide
// between rows that are equal.
#pragma once

#include "kernel/kernel_rows.hpp"

#include <cstdint>
#include <span>

namespace alphapath {

/// The rows of interest under one beta, whose gradient is K beta - r. While it was made |beta|_1
/// was at most `size`, and it was scaled by no more than `growth` together with its rounding.
struct RankedRows {
  std::span<const std::int64_t> rows;
  double size, growth;
  std::span<const double> beta, gradient; // of all instances
  std::span<double> products;             // out: K[rows, :] beta
};

/// K[rows, :] beta as the gradient has it, where no other one of the same beta is so near that
/// rounding may decide which is larger; else summed again from the kernel row and beta alone.
/// Equal kernel rows then have equal products, to the bit. `targets` is r.
void read_products(const KernelRows& kernel, std::span<const double> targets,
                   std::span<const RankedRows> parts);

} // namespace alphapath
