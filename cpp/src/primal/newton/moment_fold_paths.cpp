#include "primal/newton/moment_fold_paths.hpp"

#include "base/isa.hpp"

#include <algorithm>
#include <cmath>

namespace alphapath {

namespace {

constexpr std::size_t lanes = simd::n_together;

} // namespace

MomentFoldPaths::MomentFoldPaths(const std::vector<MarginTask>& tasks,
                                 const NewtonPathOptions& options,
                                 const std::vector<const double*>& grams)
    : FoldPaths(tasks, options), needs_values_(!options.are_signs_enough),
      columns_(task_.rows.indicator_columns()), bounds_(task_.rows, has_bias_),
      together_(task_.rows.n_columns() * lanes) {
  std::fill_n(together_.data(), together_.size(), 0.0);
  // The moments of a fold at theta = 0: those of all rows less those that it holds out.
  for (std::size_t i = 0; i < rows_.weights.size(); ++i)
    common_[rows_.lanes[i].holder].add(static_cast<std::int32_t>(i), rows_.weights[i]);
  sum_common(grams.empty());
  const auto factor = std::make_shared<NormalFactor>();
  for (std::size_t f = 0; f < tasks.size(); ++f) {
    ParabolaMoments start = whole_;
    if (!common_[f].rows.empty())
      start.add(moments_[f], -1.0);
    if (!grams.empty())
      start.gram.assign(grams[f], grams[f] + whole_size() * whole_size());
    paths_.push_back(std::make_unique<NewtonPath>(tasks[f], options, std::move(start), factor));
  }
  clear_common();
}

std::vector<NewtonResult> MomentFoldPaths::solve(double C, Watch& watch) {
  for (auto& path : paths_)
    path->begin(C);
  Lanes moving = 0;
  for (std::size_t f = 0; f < paths_.size(); ++f)
    if (paths_[f]->propose(watch))
      moving = static_cast<Lanes>(moving | 1u << f);
  while (moving != 0)
    moving = move(moving, watch);
  if (needs_values_)
    update_held_out();
  std::vector<NewtonResult> results;
  for (const auto& path : paths_)
    results.push_back(path->result());
  return results;
}

/// Moves those to what they propose; returns which of them have another proposal.
Lanes MomentFoldPaths::move(Lanes moving, Watch& watch) {
  double longest = 0.0; // squared
  for (std::size_t f = 0; f < paths_.size(); ++f) {
    if (!(moving >> f & 1u))
      continue;
    const std::vector<double>& theta = paths_[f]->trial();
    const double bias = has_bias_ ? theta.back() : 0.0;
    double squares = (bias - bias_[f]) * (bias - bias_[f]);
    for (std::size_t j = 0; j < task_.rows.n_columns(); ++j) {
      double& w = together_[j * lanes + f];
      squares += (theta[j] - w) * (theta[j] - w);
      w = theta[j];
    }
    bias_[f] = bias;
    longest = std::max(longest, squares);
    state(f).begin_joint_move(theta);
  }
  bounds_.move_by(std::sqrt(longest));
  find_crossings(moving);
  apply_crossings(moving);
  Lanes next = 0; // one fold after the other, while its moments are in the cache
  for (std::size_t f = 0; f < paths_.size(); ++f) {
    if (!(moving >> f & 1u))
      continue;
    paths_[f]->take(state(f).end_joint_move());
    if (paths_[f]->propose(watch))
      next = static_cast<Lanes>(next | 1u << f);
  }
  return next;
}

void MomentFoldPaths::find_crossings(Lanes moving) {
  const auto unproven = bounds_.find_unproven();
  const std::size_t n = rows_.weights.size();
  // Rows in their order stream from memory: half of them scattered costs as much as all.
  const bool takes_all = 2 * unproven.size() > n;
  const std::size_t n_taken = takes_all ? n : unproven.size();
  crossings_.clear();
  for (std::size_t first = 0; first < n_taken; first += margin_block) {
    const std::size_t count = std::min(margin_block, n_taken - first);
    take_block(takes_all ? all_rows(first, count) : RowList{unproven.data() + first, 0, count},
               moving);
  }
}

void MomentFoldPaths::take_block(const RowList& rows, Lanes moving) {
  alignas(64) double dots[margin_block * lanes];
  double distances[margin_block];
  Lanes now[margin_block];
  take_products(rows, dots);
  ALPHAPATH_DISPATCH(find_below)
  (dots, {task_.loss.high, bias_, rows_.lanes.data()}, rows, now, distances, held_out_.data());
  for (std::size_t k = 0; k < rows.count; ++k) {
    const std::size_t i =
        rows.list != nullptr ? static_cast<std::size_t>(rows.list[k]) : rows.first + k;
    simd::JointRow& row = rows_.lanes[i];
    const Lanes crossed = static_cast<Lanes>((now[k] ^ row.below) & row.trains & moving);
    if (crossed != 0) {
      crossings_.push_back({static_cast<std::int32_t>(i), crossed, now[k]});
      row.below ^= crossed;
    }
    bounds_.set(i, distances[k]);
  }
}

void MomentFoldPaths::take_products(const RowList& rows, double* dots) const {
  if (columns_.empty())
    return task_.rows.dots_together(rows, together_.data(), dots);
  ALPHAPATH_DISPATCH(dots_together_indicator)
  (columns_.view(), rows, together_.data(), dots);
}

/// Where bounds left out rows, only the signs of their decision values are up to date.
void MomentFoldPaths::update_held_out() {
  alignas(64) double dots[margin_block * lanes];
  for (std::size_t first = 0; first < held_out_.size(); first += margin_block) {
    const std::size_t count = std::min(margin_block, held_out_.size() - first);
    take_products(all_rows(first, count), dots);
    for (std::size_t k = 0; k < count; ++k)
      if (const std::uint8_t holder = rows_.lanes[first + k].holder; holder < lanes)
        held_out_[first + k] = dots[k * lanes + holder] + bias_[holder];
  }
}

bool MomentFoldPaths::is_common(const Crossing& c, Lanes moving) const {
  const Lanes all = rows_.lanes[static_cast<std::size_t>(c.row)].trains & moving;
  const Lanes below = c.below & c.lanes;
  return c.lanes == all && (below == 0 || below == all);
}

void MomentFoldPaths::apply_crossings(Lanes moving) {
  const auto is_moving = [&](std::size_t f) { return f < lanes && (moving >> f & 1u); };
  const std::size_t n_common = static_cast<std::size_t>(
      std::count_if(crossings_.begin(), crossings_.end(),
                    [&](const Crossing& c) { return is_common(c, moving); }));
  // The sums of whole matrices must cost less than what is saved.
  const double d = static_cast<double>(whole_size());
  const double length = task_.rows.row_length();
  const bool goes_together = static_cast<double>(n_common) * length * length > 4.0 * d * d;
  for (const Crossing& c : crossings_) {
    const std::size_t i = static_cast<std::size_t>(c.row);
    const bool is_together = goes_together && is_common(c, moving);
    const bool is_below = (c.below & c.lanes) != 0;
    for (std::size_t f = 0; f < paths_.size(); ++f)
      if (c.lanes >> f & 1u) {
        if (is_together)
          state(f).mark_crossed(i, is_below);
        else
          state(f).cross_alone(i, c.below >> f & 1u);
      }
    if (is_together) {
      const std::size_t holder = rows_.lanes[i].holder;
      const double weight = is_below ? rows_.weights[i] : -rows_.weights[i];
      common_[is_moving(holder) ? holder : lanes].add(c.row, weight);
    }
  }
  if (goes_together)
    cross_together(moving);
}

/// moments_ and whole_ from the rows of common_.
void MomentFoldPaths::sum_common(bool keeps_gram) {
  whole_.reset(whole_size(), keeps_gram);
  for (std::size_t h = 0; h <= lanes; ++h) {
    if (common_[h].rows.empty())
      continue;
    moments_[h].reset(whole_size(), keeps_gram);
    moments_[h].add(task_, common_[h].rows, common_[h].weights);
    whole_.add(moments_[h], 1.0);
  }
}

void MomentFoldPaths::clear_common() {
  for (Common& common : common_) {
    common.rows.clear();
    common.weights.clear();
  }
}

void MomentFoldPaths::cross_together(Lanes moving) {
  sum_common(true);
  for (std::size_t f = 0; f < paths_.size(); ++f) {
    if (!(moving >> f & 1u))
      continue;
    state(f).cross_together(whole_, 1.0);
    if (!common_[f].rows.empty())
      state(f).cross_together(moments_[f], -1.0);
  }
  clear_common();
}

} // namespace alphapath
