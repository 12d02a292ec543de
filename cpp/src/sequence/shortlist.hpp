// The instances that may move between a solved problem and one that differs little from it: those
// inside their box, and of the others the ones that the slope keeps at their bound the least.
//
// Who begins from the solution iterates on these alone, in rows copied once for all folds of a
// parent, and looks at the others when it is done.
#pragma once

#include "problem/solution.hpp"
#include "sequence/sequence.hpp"

#include <cstdint>
#include <vector>

namespace alphapath {

/// How many are near among n with so many inside their box; 0 if working on all is as good.
std::size_t shortlist_size(std::size_t n_free, std::size_t n);

/// Ascending; none where shortlist_size is 0. `solved` is a problem of the family; what it holds
/// out is taken to be at 0 in an open box.
std::vector<std::uint32_t> make_shortlist(const Family& family, const BoxProblem& solved,
                                          const SolveResult& solution);

} // namespace alphapath
