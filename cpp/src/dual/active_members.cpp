// Who is a member of an active set, and the factor of their block.

#include "dual/active_set.hpp"

#include <algorithm>
#include <utility>

namespace alphapath {

namespace {

// Changes, as a share of the members, beyond which the factor is made anew.
constexpr double share_to_build = 0.5;
constexpr double few_changes = 64;
// How often all members may have been replaced before it is, for the sake of rounding.
constexpr double max_turnover = 20;

} // namespace

void ActiveSet::choose_origin() {
  const std::size_t chosen = members_.empty() ? 0 : members_.front();
  const KernelRow pin = kernel_.row(chosen);
  const double* values = values_of(pin);
  origin_.resize(kernel_.size());
  for (std::size_t i = 0; i < origin_.size(); ++i)
    origin_[i] = values[i] - kernel_.diagonal()[chosen] / 2;
  double sum = 0;
  for (const std::uint32_t i : members_)
    sum += kernel_.diagonal()[i] - 2 * origin_[i];
  sigma_ = sum > 0 ? sum / static_cast<double>(members_.size()) : 1.0;
}

bool ActiveSet::is_worth_building(std::size_t n_changes) const {
  return static_cast<double>(n_changes) >
         few_changes + share_to_build * static_cast<double>(members_.size());
}

bool ActiveSet::is_worn() const {
  return n_updates_ > few_changes + max_turnover * static_cast<double>(members_.size());
}

/// Everybody who is strictly inside its box is a member, and nobody else.
void ActiveSet::take_free(const BoxProblem& problem, std::span<const double> beta) {
  std::vector<std::uint32_t> more;
  leaves_.assign(members_.size(), 0);
  const auto is_free = [&](std::size_t i) {
    return beta[i] > problem.lower[i] && beta[i] < problem.upper[i];
  };
  for (std::size_t k = 0; k < members_.size(); ++k)
    leaves_[k] = !is_free(members_[k]);
  for (std::size_t i = 0; i < beta.size(); ++i)
    if (is_free(i) && !is_member_[i])
      more.push_back(static_cast<std::uint32_t>(i));
  const bool builds = members_.empty() || is_worth_building(more.size()) || is_worn();
  if (!builds) {
    remove_leavers();
    for (const std::uint32_t i : more)
      insert(i);
    return;
  }
  for (std::size_t k = 0; k < members_.size(); ++k)
    is_member_[members_[k]] = !leaves_[k];
  std::erase_if(members_, [&](std::uint32_t i) { return !is_member_[i]; });
  members_.insert(members_.end(), more.begin(), more.end());
  drop_twins();
  build();
}

bool ActiveSet::insert(std::uint32_t i) {
  column_.resize(members_.size());
  const KernelRow pin = kernel_.row(i);
  for (std::size_t k = 0; k < members_.size(); ++k)
    column_[k] = block_value(values_of(pin), i, members_[k]);
  if (!(factor_.try_insert(column_, own_value(i)) > least_pivot))
    return false;
  factor_.insert_tried(0);
  members_.push_back(i);
  is_member_[i] = 1;
  ++n_updates_;
  return true;
}

/// The factor of the members from nothing; those that depend on earlier ones are left out.
void ActiveSet::build() {
  choose_origin();
  n_updates_ = 0;
  const std::size_t m = members_.size();
  const bool is_sound = factor_.assign(m, least_pivot, [&](std::size_t c, double* out) {
    const KernelRow pin = kernel_.row(members_[c]);
    const double* values = values_of(pin);
    for (std::size_t r = c; r < m; ++r)
      out[r] = block_value(values, members_[c], members_[r]);
  });
  if (!is_sound) {
    factor_.clear();
    const std::vector<std::uint32_t> queue = std::exchange(members_, {});
    for (const std::uint32_t i : queue) {
      is_member_[i] = 0;
      insert(i);
    }
  }
  for (const std::uint32_t i : members_)
    is_member_[i] = 1;
}

/// Of equal members one stays. Equal ones have equal values with the origin.
void ActiveSet::drop_twins() {
  if (members_.empty())
    return;
  choose_origin();
  std::stable_sort(members_.begin(), members_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return origin_[a] < origin_[b]; });
  std::size_t n_kept = 0;
  for (const std::uint32_t i : members_) {
    const KernelRow pin = kernel_.row(i);
    const auto is_twin = [&](std::uint32_t j) {
      return kernel_.diagonal()[i] + kernel_.diagonal()[j] - 2 * values_of(pin)[j] <=
             least_pivot * sigma_;
    };
    is_member_[i] = n_kept == 0 || !is_twin(members_[n_kept - 1]);
    if (is_member_[i])
      members_[n_kept++] = i;
  }
  members_.resize(n_kept);
}

/// Takes those marked in leaves_ out of the members and their factor.
void ActiveSet::remove_leavers() {
  std::vector<std::size_t> positions;
  for (std::size_t k = 0; k < members_.size(); ++k)
    if (leaves_[k]) {
      is_member_[members_[k]] = 0;
      positions.push_back(k);
    }
  if (positions.empty())
    return;
  const bool builds = is_worth_building(positions.size());
  if (!builds) {
    factor_.remove_all(positions);
    n_updates_ += static_cast<double>(positions.size());
  }
  std::erase_if(members_, [&](std::uint32_t i) { return !is_member_[i]; });
  if (builds)
    build();
}

} // namespace alphapath
