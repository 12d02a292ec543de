// The data a kernel is made of: n rows of d numbers, dense or CSR, borrowed from the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace alphapath {

/// Borrowed CSR arrays; column indices ascend within a row and occur once.
struct CsrView {
  std::span<const std::int64_t> indptr;
  std::span<const std::int64_t> indices;
  std::span<const double> values;
};

/// What is known of the rows after a shift by -centre.
struct RowStatistics {
  /// Infinite where the data holds a NaN or an infinity, or the norms overflow.
  double max_squared_norm = 0;
  /// Dense data only.
  double median_squared_norm = 0;
  /// All numbers are integers, so that products are exact while they stay below 2^24 (2^53).
  bool is_integer = false;
  /// They are integers from 0 to 255. Dense data as it is only.
  bool is_byte = false;
  /// Few numbers are not zero. Dense data only.
  bool is_mostly_zero = false;
};

/// Inner products of the rows with a centre m.
struct CentreProducts {
  std::vector<double> with_rows; // m'x_i
  double squared_norm = 0;       // m'm
};

class Samples {
public:
  /// Row-major, n x d; the memory must outlive this. With a step, the whole numbers that are the
  /// values divided by it: see is_on_grid.
  Samples(const double* values, std::size_t n, std::size_t d, double step = 0);
  /// `dense_limit` bytes at most for a dense copy; 0 keeps the data sparse.
  Samples(const CsrView& csr, std::size_t d, std::size_t dense_limit);

  std::size_t size() const { return n_; }
  std::size_t n_features() const { return d_; }
  /// False where products are to be made from the CSR arrays as they are.
  bool is_dense() const { return is_dense_; }
  const CsrView& csr() const { return csr_; }

  /// Column means, rounded to integers where the data is integer-valued (products and distances
  /// stay exact). Sparse rows are never shifted by them.
  const std::vector<double>& centre() const { return centre_; }
  const RowStatistics& centred() const { return centred_; }
  const RowStatistics& raw() const { return raw_; }

  /// Writes row i minus `shift` (d values, or empty for none) to out[0 .. d). Dense data only.
  void copy_row(std::size_t i, std::span<const double> shift, double* out) const;

  /// Of every row, unshifted, with centre().
  CentreProducts products_with_centre() const;

private:
  /// Whether rows are in memory as they are read.
  bool is_stored() const { return dense_ != nullptr && step_ == 0; }
  /// Row i, in `room` where it is not stored so.
  const double* dense_row(std::size_t i, std::vector<double>& room) const;
  void compute_dense_statistics();
  void compute_sparse_statistics();
  void finish_centre();
  void mark_not_finite();

  std::size_t n_ = 0;
  std::size_t d_ = 0;
  const double* dense_ = nullptr;
  double step_ = 0; // of the grid; 0: the values as they are
  CsrView csr_;
  bool is_dense_ = true;
  std::vector<double> centre_;
  RowStatistics centred_, raw_;
};

/// The hash of every row: see simd::hash_row. Row-major, n x d.
void hash_rows(const double* values, std::size_t n, std::size_t d, const std::uint64_t* multipliers,
               std::uint64_t* hashes);

/// The largest |x|^2 of the rows; not finite where one is not.
double largest_squared_norm(const double* values, std::size_t n, std::size_t d);

/// Whether no value is further than `tolerance` from a multiple of the step.
bool is_on_grid(const double* values, std::size_t n, std::size_t d, double step, double tolerance);

/// The median of |value|.
double median_magnitude(std::vector<double> values);

} // namespace alphapath
