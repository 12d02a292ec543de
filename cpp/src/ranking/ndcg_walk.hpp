// NDCG@k along scores that are affine between given times: exactly where it changes, and to what.
//
// DCG@k of one query = sum over positions r < k of gain / log2(r + 2), rows by falling score, equal
// scores sharing their mean gain; NDCG divides by the best DCG there is (0 where that is 0). The
// order of two rows changes at most once between two times, where their scores cross; so the orders
// at both ends tell which pairs cross, and in between crossings nothing changes but ties: scores
// are equal where they differ by at most `tie_share` of the largest one of their query. (Paper: M.
// Karasuyama, section 4.5.2, figure 4.13.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

constexpr double tie_share = 1e-9;
/// Of t, what rounding may put between events at one t.
constexpr double shortest_stretch = 1e-11;

/// From times[k] on (to the next change of that query), the NDCG of queries[k] is values[k].
struct NdcgChanges {
  std::vector<double> times;
  std::vector<std::int64_t> queries;
  std::vector<double> values;
};

class NdcgWalk {
public:
  /// `first_row`: where the rows of each query begin, last their number.
  NdcgWalk(std::span<const double> gains, std::span<const std::int64_t> first_row, std::size_t k);

  std::size_t n_rows() const { return n_rows_; }

  /// Scores are affine from values[a] at times[a] to values[a + 1] at times[a + 1] (row-major, one
  /// column a row of data). Another call goes on where the last one ended.
  NdcgChanges run(std::span<const double> times, const double* values);

private:
  struct Query {
    std::size_t first, n;
    double best;                      // DCG of the best order
    std::vector<std::uint32_t> order; // rows of the query by falling score
    double now = -1;                  // NDCG; -1: not known yet
    bool is_stale = false;            // the last stretch was too short to be looked at
    std::vector<char> ties;           // whether order[r] was tied to order[r - 1] at the last look
  };

  double evaluate(const Query& query, const double* scores);
  bool find_ties(Query& query, const double* scores);
  void pass(std::size_t q, std::span<const double> times, const double* from, const double* to,
            NdcgChanges& changes);

  std::vector<double> gains_, discounts_; // discounts_[r]: sum over positions before r
  std::size_t n_rows_;
  std::vector<Query> queries_;
  // Scratch.
  std::vector<std::uint32_t> sorted_;
  std::vector<double> crossings_, middle_;
};

} // namespace alphapath
