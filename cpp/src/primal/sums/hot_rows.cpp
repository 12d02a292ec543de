#include "primal/sums/hot_rows.hpp"

#include <algorithm>

namespace alphapath {

namespace {

// At most this share of the rows is copied: beyond it the copy neither fits a cache nor pays.
constexpr std::size_t max_share = 16;
constexpr std::size_t min_patience = 4;
constexpr std::size_t max_patience = 256;

} // namespace

std::pair<HotRows::Part, HotRows::Part> HotRows::split(std::span<std::int32_t> wanted) {
  if (n_cold_reads_ > patience_ * wanted.size() && wanted.size() * max_share <= rows_.size())
    pack(wanted);
  if (members_.empty()) {
    n_cold_reads_ += wanted.size();
    return {Part{&rows_, listed_rows({}), {}}, Part{&rows_, listed_rows(wanted), wanted}};
  }
  std::size_t n_hot = 0;
  std::size_t n_cold = 0;
  for (const std::int32_t i : wanted) {
    const std::int32_t place = place_[static_cast<std::size_t>(i)];
    hot_places_[n_hot] = place;
    hot_ids_[n_hot] = i;
    wanted[n_cold] = i;
    n_hot += place >= 0;
    n_cold += place < 0;
  }
  n_hot_reads_ += n_hot;
  n_cold_reads_ += n_cold;
  const auto cold = wanted.first(n_cold);
  return {Part{packed_.get(), {hot_places_.data(), 0, n_hot}, {hot_ids_.data(), n_hot}},
          Part{&rows_, listed_rows(cold), cold}};
}

void HotRows::pack(std::span<const std::int32_t> wanted) {
  // A copy that was hardly read did not pay: wait longer before the next.
  const bool has_paid = packed_ == nullptr || n_hot_reads_ > 2 * members_.size();
  patience_ = has_paid ? min_patience : std::min(2 * patience_, max_patience);
  n_cold_reads_ = n_hot_reads_ = 0;
  if (place_.empty())
    place_.assign(rows_.size(), -1);
  for (const std::int32_t i : members_)
    place_[static_cast<std::size_t>(i)] = -1;
  members_.assign(wanted.begin(), wanted.end());
  for (std::size_t k = 0; k < members_.size(); ++k)
    place_[static_cast<std::size_t>(members_[k])] = static_cast<std::int32_t>(k);
  hot_places_.resize(members_.size() + 1);
  hot_ids_.resize(members_.size() + 1);
  packed_.reset();
  packed_ = rows_.pack(members_);
}

} // namespace alphapath
