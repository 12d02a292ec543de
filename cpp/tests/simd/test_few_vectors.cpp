// Products of rows with a few vectors, judged by plain loops.
#include "support/check.hpp"
#include "support/numbers.hpp"

#include "base/isa.hpp"
#include "simd/few_vectors.hpp"

namespace alphapath {
namespace {

using test::is_close;
using test::numbers;

TEST(few_vectors_match_plain_loops) {
  for (const std::size_t n_rows : {1, 5, 8})
    for (const std::size_t length : {1, 9, 1030})
      for (const std::size_t k : {1, 3, 4, 18}) {
        const auto x = numbers(n_rows * length), v = numbers(k * length), c = numbers(k * n_rows);
        std::vector<const double*> rows;
        for (std::size_t i = n_rows; i-- > 0;)
          rows.push_back(x.data() + i * length);
        std::vector<double> products(k * n_rows), sums(k * length, 0.0);
        const simd::LongRows all{rows.data(), n_rows, length};
        ALPHAPATH_DISPATCH(multiply_few)(all, v.data(), k, products.data());
        ALPHAPATH_DISPATCH(combine_few)(all, c.data(), k, sums.data());
        for (std::size_t a = 0; a < k; ++a) {
          for (std::size_t i = 0; i < n_rows; ++i) {
            double sum = 0;
            for (std::size_t j = 0; j < length; ++j)
              sum += rows[i][j] * v[a * length + j];
            CHECK(is_close(products[a * n_rows + i], sum, 1e-11));
          }
          for (std::size_t j = 0; j < length; ++j) {
            double sum = 0;
            for (std::size_t i = 0; i < n_rows; ++i)
              sum += c[a * n_rows + i] * rows[i][j];
            CHECK(is_close(sums[a * length + j], sum, 1e-12));
          }
        }
      }
}

} // namespace
} // namespace alphapath
