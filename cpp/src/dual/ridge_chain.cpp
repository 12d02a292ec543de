// On one kernel, D -> D' changes the gradient by (D' - D) beta: moving to the next C costs one
// pass, no kernel row, and what remains are the steps of the coordinate solver.
#include "dual/ridge_chain.hpp"

#include "dual/coordinate.hpp"

namespace alphapath {

RidgeChainResult solve_ridge_chain(const BoxProblem& problem, std::span<const double> factors,
                                   const std::optional<StartPoint>& start,
                                   const SolveOptions& options) {
  Coordinate descent(problem, start, options);
  RidgeChainResult result;
  const std::size_t n = problem.kernel.size();
  result.nodes.reserve(factors.size());
  result.beta.reserve(factors.size() * n);
  result.gradient.reserve(factors.size() * n);
  for (const double factor : factors) {
    const std::int64_t n_iter = descent.n_iter(), n_refreshes = descent.n_refreshes();
    const double begin = descent.seconds();
    descent.set_ridge_factor(factor);
    const Status status = descent.descend();
    result.nodes.push_back({status, descent.n_iter() - n_iter, descent.n_refreshes() - n_refreshes,
                            descent.gap(), descent.seconds() - begin});
    result.beta.insert(result.beta.end(), descent.beta().begin(), descent.beta().end());
    result.gradient.insert(result.gradient.end(), descent.gradient().begin(),
                           descent.gradient().end());
    if (status == Status::interrupted || status == Status::time_limit)
      break;
  }
  return result;
}

} // namespace alphapath
