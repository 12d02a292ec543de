// The rows near a kink are computed again and again, but lie scattered over the data. A packed copy
// of them stays in the cache; everything else is read where it is.
#pragma once

#include "primal/margin_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace alphapath {

class HotRows {
public:
  explicit HotRows(const MarginRows& rows) : rows_(rows) {}

  /// Some rows of one store; `ids` are their numbers in the data.
  struct Part {
    const MarginRows* store;
    RowList rows;
    std::span<const std::int32_t> ids;
  };

  /// `wanted` (increasing row numbers), in two parts: packed ones first; the others take its
  /// place. Packs anew where that has become cheaper than to go on reading scattered rows.
  std::pair<Part, Part> split(std::span<std::int32_t> wanted);

private:
  void pack(std::span<const std::int32_t> wanted);

  const MarginRows& rows_;
  std::unique_ptr<MarginRows> packed_;
  std::vector<std::int32_t> place_; // of each row among the packed ones, or -1
  std::vector<std::int32_t> members_;
  std::vector<std::int32_t> hot_places_, hot_ids_; // one more than members
  std::size_t n_cold_reads_ = 0;                   // since the last packing
  std::size_t n_hot_reads_ = 0;
  std::size_t patience_ = 4;
};

} // namespace alphapath
