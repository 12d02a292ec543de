#include "primal/sums/bounds_probe.hpp"

#include <algorithm>

namespace alphapath {

namespace {

// At most so many rows, and no more than one in `least_spacing`.
constexpr std::size_t max_sample = 2048, least_spacing = 16;

} // namespace

std::vector<std::int32_t> BoundsProbe::choose_rows(std::size_t n) {
  const std::size_t spacing = std::max(least_spacing, (n + max_sample - 1) / max_sample);
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < n; i += spacing)
    rows.push_back(static_cast<std::int32_t>(i));
  return rows;
}

BoundsProbe::BoundsProbe(const MarginTask& task)
    : task_(task), ids_(choose_rows(task.rows.size())), rows_(task.rows.pack(ids_)),
      bounds_(*rows_, false), dots_(ids_.size()), along_(ids_.size()), across_(ids_.size()) {}

void BoundsProbe::take_references(const double* w, double b) {
  const RowList all = all_rows(0, ids_.size());
  const MarginBounds::Plane plane = bounds_.begin_plane();
  rows_->dots(all, w, dots_.data());
  rows_->dots(all, plane.v, along_.data());
  rows_->dots(all, plane.u, across_.data());
  for (std::size_t k = 0; k < ids_.size(); ++k) {
    const std::size_t i = static_cast<std::size_t>(ids_[k]);
    const double y = task_.labels[i], m = y * (dots_[k] + b);
    bounds_.set_along(k, along_[k], across_[k]);
    const Segment now = task_.weights[i] > 0.0 ? task_.loss.segment(m) : Segment::absent;
    set_reference(bounds_, k, task_.loss, now, m, y);
  }
}

double BoundsProbe::share_unproven() {
  return static_cast<double>(bounds_.find_unproven().size()) / static_cast<double>(ids_.size());
}

void set_reference(MarginBounds& bounds, std::size_t i, const MarginLoss& loss, Segment now,
                   double m, double y) {
  switch (now) {
  case Segment::flat:
    return bounds.set(i, m - loss.high, y);
  case Segment::linear:
    return bounds.set(i, loss.low - m, -y);
  case Segment::quadratic:
    return bounds.set(i, MarginBounds::never, y);
  case Segment::absent:
    return bounds.set(i, MarginBounds::always, y);
  }
}

} // namespace alphapath
