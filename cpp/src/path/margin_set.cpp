#include "path/margin_set.hpp"

#include <utility>

namespace alphapath {

std::span<const double> MarginSet::column_of(std::size_t i, const double* row,
                                             std::span<const std::uint32_t> others) {
  column_.resize(others.size());
  for (std::size_t k = 0; k < others.size(); ++k)
    column_[k] = block_value(row, i, others[k]);
  return column_;
}

void MarginSet::assign(const KernelRows& kernel, std::vector<std::uint32_t> those) {
  std::vector<KernelRow> pins;
  members = std::move(those);
  pointers.clear();
  for (const std::uint32_t i : members) {
    pins.push_back(kernel.row(i));
    pointers.push_back(static_cast<const double*>(pins.back().data));
  }
  rows = std::move(pins);
}

void MarginSet::append(std::size_t i, KernelRow pin) {
  members.push_back(static_cast<std::uint32_t>(i));
  pointers.push_back(static_cast<const double*>(pin.data));
  rows.push_back(std::move(pin));
}

void MarginSet::clear() {
  members.clear();
  rows.clear();
  pointers.clear();
}

void MarginSet::find_rows(const KernelRows& kernel) {
  for (std::size_t k = 0; k < members.size(); ++k) {
    rows[k] = kernel.row(members[k]);
    pointers[k] = static_cast<const double*>(rows[k].data);
  }
}

void MarginSet::take_out(std::size_t position) {
  factor.remove(position);
  const auto at = static_cast<std::ptrdiff_t>(position);
  members.erase(members.begin() + at);
  rows.erase(rows.begin() + at);
  pointers.erase(pointers.begin() + at);
}

double MarginSet::solve(std::vector<double>& x, double total, bool has_equality) {
  factor.carry(x);
  is_carried = false;
  if (!has_equality) {
    factor.solve(x);
    return 0;
  }
  double shift = factor.solve_bordered(x, total) + sigma * total;
  for (std::size_t k = 0; k < members.size(); ++k)
    shift -= origin[members[k]] * x[k];
  return shift;
}

} // namespace alphapath
