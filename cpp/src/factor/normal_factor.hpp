// The Cholesky factor of one Newton system, kept as a preconditioner for those that follow.
//
// The systems of neighbouring C, and those of folds that share most of their rows, are spectrally
// close: doubling C moves no eigenvalue by more than a factor of two. So a factor serves many of
// them by a few conjugate gradient steps each, at a fraction of what a factor of their own costs.
#pragma once

#include <cstddef>
#include <vector>

namespace alphapath {

class NormalFactor {
public:
  /// Whether the next system should be factored rather than solved with what is there.
  bool is_outdated() const { return values_.empty() || is_outdated_; }
  void mark_outdated() { is_outdated_ = true; }

  /// Factors scale * G + diagonal; G: lower triangle, row-major, row by row of diagonal.size().
  /// Where rounding has made it indefinite, with as much of a ridge as it takes. `C`: of the
  /// system.
  void factor(const std::vector<double>& G, double scale, const std::vector<double>& diagonal,
              double C);
  double C() const { return C_; }

  /// x becomes (L L')^-1 x.
  void solve(std::vector<double>& x) const;

private:
  std::vector<double> values_; // L, column by column
  bool is_outdated_ = false;
  double C_ = 0.0;
};

} // namespace alphapath
