#include "arrays.hpp"
#include "module.hpp"
#include "samples.hpp"

#include "base/buffer.hpp"
#include "base/dispatch.hpp"
#include "kernel/equal_rows.hpp"
#include "kernel/kernel_matrix.hpp"
#include "kernel/matrix_source.hpp"
#include "kernel/near_ties.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace alphapath::bindings {

namespace {

using nb::literals::operator""_a;

struct MatrixOptions {
  Precision precision;
  std::size_t capacity;
  std::size_t n_threads;
  bool may_defer; // rows of a whole matrix to when they are asked for
};

Precision parse_precision(const std::string& name) {
  if (name == "float32")
    return Precision::float32;
  if (name == "float64")
    return Precision::float64;
  throw std::invalid_argument("precision == '" + name + "'; it must be 'float32' or 'float64'.");
}

KernelKind parse_kind(const std::string& name) {
  if (name == "linear")
    return KernelKind::linear;
  if (name == "rbf")
    return KernelKind::rbf;
  if (name == "poly")
    return KernelKind::poly;
  if (name == "sigmoid")
    return KernelKind::sigmoid;
  if (name == "dot")
    return KernelKind::dot;
  if (name == "squared_distance")
    return KernelKind::squared_distance;
  throw std::invalid_argument("There is no native kernel '" + name + "'.");
}

template <class T, class MakeSource>
std::shared_ptr<KernelMatrix> build(const MatrixOptions& options, MakeSource make_source,
                                    Owner owner) {
  return run_released(options.n_threads, [&](const Team& team) -> std::shared_ptr<KernelMatrix> {
    std::unique_ptr<RowSource<T>> source = make_source(team);
    const std::size_t n = source->size();
    if (options.capacity == 0 && !(options.may_defer && is_touch_slow(n * padded(n) * sizeof(T))))
      return make_full_matrix<T>(*source, team);
    const std::size_t capacity = options.capacity == 0 ? n : options.capacity;
    return make_cached_matrix<T>(std::move(source), capacity, std::move(owner));
  });
}

/// Keeps a Python object alive from threads that may not hold the GIL.
Owner keep_alive(nb::handle object) {
  PyObject* owned = object.inc_ref().ptr();
  return Owner(owned, [](const void* p) {
    const HeldGil held;
    nb::handle(static_cast<PyObject*>(const_cast<void*>(p))).dec_ref();
  });
}

std::shared_ptr<KernelMatrix> kernel_of_samples(nb::handle samples, const KernelFunction& f,
                                                const MatrixOptions& options) {
  const Samples& data = nb::cast<const BoundSamples&>(samples).values;
  const auto source = [&]<class T>(const Team& team) { return make_source<T>(data, f, team); };
  if (options.precision == Precision::float32)
    return build<float>(
        options, [&](const Team& team) { return source.template operator()<float>(team); },
        keep_alive(samples));
  return build<double>(
      options, [&](const Team& team) { return source.template operator()<double>(team); },
      keep_alive(samples));
}

/// What keeps the memory of an array.
nb::capsule own(std::unique_ptr<Buffer<double>> values) {
  return {values.release(), [](void* p) noexcept { delete static_cast<Buffer<double>*>(p); }};
}

/// All values, offsets included, in memory that is NumPy's; rows are padded.
nb::ndarray<nb::numpy, double> matrix_of_samples(const BoundSamples& samples,
                                                 const KernelFunction& f, std::size_t n_threads) {
  const std::size_t n = samples.values.size(), stride = padded(n);
  auto values = run_released(n_threads, [&](const Team& team) {
    const auto source = make_source<double>(samples.values, f, team);
    auto matrix = std::make_unique<Buffer<double>>(n * stride);
    source->write_true_matrix({matrix->data(), stride}, team);
    return matrix;
  });
  double* const data = values->data();
  return nb::ndarray<nb::numpy, double>(data, {n, n}, own(std::move(values)),
                                        {static_cast<std::int64_t>(stride), std::int64_t{1}});
}

template <class P, class T>
std::shared_ptr<KernelMatrix> kernel_of_view(const MatrixView<P>& view, const KernelFunction& f,
                                             const MatrixOptions& options, Owner owner) {
  return build<T>(
      options,
      [&](const Team& team) { return std::make_unique<MatrixSource<P, T>>(view, f, team); },
      std::move(owner));
}

std::shared_ptr<KernelMatrix> kernel_of_products(const std::shared_ptr<KernelMatrix>& products,
                                                 const KernelFunction& f,
                                                 const MatrixOptions& options) {
  const void* data = products->full();
  if (data == nullptr)
    throw std::invalid_argument("Kernel values can be made from a whole matrix of products only.");
  const std::size_t n = products->size();
  const std::size_t stride = products->stride();
  if (products->precision() == Precision::float32) {
    if (options.precision == Precision::float64)
      throw std::invalid_argument(
          "Kernel values in float64 can not be made from products in float32.");
    if (f.kind != KernelKind::rbf)
      throw std::invalid_argument("Products in float32 serve the rbf kernel only.");
    return kernel_of_view<float, float>({static_cast<const float*>(data), n, stride}, f, options,
                                        products);
  }
  const MatrixView<double> view{static_cast<const double*>(data), n, stride};
  if (options.precision == Precision::float32)
    return kernel_of_view<double, float>(view, f, options, products);
  return kernel_of_view<double, double>(view, f, options, products);
}

std::shared_ptr<KernelMatrix> kernel_of_array(Matrix array, const MatrixOptions& options) {
  if (array.shape(0) != array.shape(1))
    throw std::invalid_argument("A kernel matrix must be square, got " +
                                std::to_string(array.shape(0)) + " x " +
                                std::to_string(array.shape(1)) + ".");
  const MatrixView<double> view{array.data(), array.shape(0), array.shape(1)};
  const KernelFunction as_it_is{KernelKind::linear};
  Owner owner = options.capacity == 0 ? Owner() : keep_alive(nb::cast(array));
  if (options.precision == Precision::float32)
    return kernel_of_view<double, float>(view, as_it_is, options, std::move(owner));
  return kernel_of_view<double, double>(view, as_it_is, options, std::move(owner));
}

std::shared_ptr<KernelMatrix> part_of(const std::shared_ptr<KernelMatrix>& kernel,
                                      const Indices& members) {
  const auto rows = as_positions(members, kernel->size());
  if (rows.empty())
    throw std::invalid_argument("A part of a kernel matrix needs at least one member.");
  return make_part_matrix(kernel, {rows.begin(), rows.end()});
}

nb::ndarray<nb::numpy, double> rows_of(const KernelMatrix& kernel, const Indices& indices) {
  const auto rows = as_positions(indices, kernel.size());
  auto out = std::make_unique_for_overwrite<double[]>(rows.size() * kernel.size());
  {
    const ReleasedGil released;
    write_true_rows(kernel, rows, out.get());
  }
  return to_numpy(std::move(out), {rows.size(), kernel.size()});
}

nb::ndarray<nb::numpy, double> block_of(const KernelMatrix& kernel, const Indices& row_indices,
                                        const Indices& column_indices) {
  const auto rows = as_positions(row_indices, kernel.size());
  const auto columns = as_positions(column_indices, kernel.size());
  auto out = std::make_unique_for_overwrite<double[]>(rows.size() * columns.size());
  {
    const ReleasedGil released;
    write_true_block(kernel, rows, columns, out.get());
  }
  return to_numpy(std::move(out), {rows.size(), columns.size()});
}

nb::ndarray<nb::numpy, double> multiply(const KernelMatrix& kernel, const Indices& indices,
                                        const Vector& coef) {
  const auto idx = as_positions(indices, kernel.size());
  if (coef.size() != idx.size())
    throw std::invalid_argument("There are " + std::to_string(idx.size()) + " indices but " +
                                std::to_string(coef.size()) + " coefficients.");
  auto out = std::make_unique_for_overwrite<double[]>(kernel.size());
  {
    const ReleasedGil released;
    multiply_true(kernel, idx, as_span(coef), {out.get(), kernel.size()});
  }
  return to_numpy(std::move(out), {kernel.size()});
}

/// Of rows or of columns.
using Multipliers = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::ndarray<nb::numpy, std::uint64_t> hashes_of(const Matrix& x, const Multipliers& multipliers) {
  if (multipliers.shape(0) != x.shape(1))
    throw std::invalid_argument("There are " + std::to_string(multipliers.shape(0)) +
                                " multipliers; there must be one for each of " +
                                std::to_string(x.shape(1)) + " columns.");
  const std::size_t n = x.shape(0), d = x.shape(1);
  auto hashes = std::make_unique_for_overwrite<std::uint64_t[]>(n);
  {
    const ReleasedGil released;
    hash_rows(x.data(), n, d, multipliers.data(), hashes.get());
  }
  std::uint64_t* const values = hashes.get();
  nb::capsule owner(hashes.release(),
                    [](void* p) noexcept { delete[] static_cast<std::uint64_t*>(p); });
  return nb::ndarray<nb::numpy, std::uint64_t>(values, {n}, owner);
}

nb::typed<nb::tuple, bool, double, double, double> facts_of(const Matrix& x) {
  if (x.shape(0) != x.shape(1))
    throw std::invalid_argument("A kernel matrix must be square.");
  const simd::PairFacts facts = [&] {
    const ReleasedGil released;
    return look_at_matrix(x.data(), x.shape(0));
  }();
  return nb::make_tuple(facts.is_finite, facts.lowest, facts.highest, facts.widest_gap);
}

/// Some rows, in memory that is kept for the next when it is released: see buffer.cpp.
nb::ndarray<nb::numpy, double> take_rows(const Matrix& x, const Indices& which) {
  const auto rows = as_positions(which, x.shape(0));
  const std::size_t d = x.shape(1);
  auto taken = std::make_unique<Buffer<double>>(rows.size() * d);
  {
    const ReleasedGil released;
    double* to = taken->data();
    for (const std::size_t i : rows)
      to = std::copy_n(x.data() + i * d, d, to);
  }
  double* const data = taken->data();
  return nb::ndarray<nb::numpy, double>(data, {rows.size(), d}, own(std::move(taken)));
}

nb::ndarray<nb::numpy, double> products_at(const KernelMatrix& kernel, const Matrix& gradient,
                                           const Vector& targets, const Matrix& beta,
                                           const Matrix& sizes, const Indices& rows,
                                           const Indices& ends) {
  const std::size_t n = kernel.size(), n_parts = beta.shape(0), m = rows.size();
  if (beta.shape(1) != n || gradient.shape(1) != n || gradient.shape(0) != n_parts ||
      sizes.shape(0) != n_parts || sizes.shape(1) != 2)
    throw std::invalid_argument("Each part needs a beta, a gradient of all instances, two sizes.");
  if (ends.size() != 0 && ends.size() != n_parts)
    throw std::invalid_argument("There must be rows for each beta.");
  const std::span<const double> all_targets = checked_span(targets, n, "targets");
  as_positions(rows, n);
  const std::size_t n_values = ends.size() == 0 ? n_parts * m : m;
  auto values = std::make_unique_for_overwrite<double[]>(n_values);
  std::vector<RankedRows> parts;
  std::size_t first = 0;
  for (std::size_t p = 0; p < n_parts; ++p) {
    const std::size_t end = ends.size() == 0 ? first + m : static_cast<std::size_t>(ends.data()[p]);
    if (end < first || end > n_values)
      throw std::invalid_argument("The parts must end in order, within the rows.");
    parts.push_back({as_span(rows).subspan(ends.size() == 0 ? 0 : first, end - first),
                     sizes.data()[2 * p],
                     sizes.data()[2 * p + 1],
                     {beta.data() + p * n, n},
                     {gradient.data() + p * n, n},
                     {values.get() + first, end - first}});
    first = end;
  }
  {
    const ReleasedGil released;
    read_products(kernel, all_targets, parts);
  }
  return to_numpy(std::move(values), {n_values});
}

nb::object first_equal_of(const Matrix& x, const Multipliers& hashes) {
  if (hashes.shape(0) != x.shape(0))
    throw std::invalid_argument("There must be a hash for each row.");
  std::vector<std::int64_t> firsts;
  {
    const ReleasedGil released;
    firsts = first_equal(x.data(), x.shape(0), x.shape(1), hashes.data());
  }
  if (firsts.empty())
    return nb::none();
  auto found = std::make_unique_for_overwrite<std::int64_t[]>(firsts.size());
  std::ranges::copy(firsts, found.get());
  std::int64_t* data = found.get();
  nb::capsule owner(found.release(),
                    [](void* p) noexcept { delete[] static_cast<std::int64_t*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, std::int64_t>(data, {firsts.size()}, owner));
}

void bind_samples(nb::module_& m) {
  nb::class_<BoundSamples>(m, "Samples", "Rows of numbers, dense or CSR, as the kernels read them.")
      .def(nb::init<Matrix, double>(), "x"_a, "step"_a = 0.0, nb::keep_alive<1, 2>(),
           "With a step, the whole numbers that are the rows divided by it.")
      .def(
          "__init__",
          [](BoundSamples* self, const Indices& indptr, const Indices& indices,
             const Vector& values, std::size_t n_features, std::size_t dense_limit) {
            new (self) BoundSamples(CsrView{as_span(indptr), as_span(indices), as_span(values)},
                                    n_features, dense_limit);
          },
          "indptr"_a, "indices"_a, "values"_a, "n_features"_a, "dense_limit"_a,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def_prop_ro("n", [](const BoundSamples& s) { return s.values.size(); })
      .def_prop_ro("is_dense", [](const BoundSamples& s) { return s.values.is_dense(); })
      .def_prop_ro("is_integer", [](const BoundSamples& s) { return s.values.raw().is_integer; })
      .def_prop_ro("max_squared_norm",
                   [](const BoundSamples& s) { return s.values.raw().max_squared_norm; });
  m.def("look_at_matrix", &facts_of, "x"_a,
        "(is finite, lowest, highest, largest |x_ij - x_ji|) of a square matrix.");
  m.def(
      "largest_squared_norm",
      [](const Matrix& x) {
        const ReleasedGil released;
        return largest_squared_norm(x.data(), x.shape(0), x.shape(1));
      },
      "x"_a, "The largest |x|^2 of the rows; not finite where one is not.");
  m.def("take_rows", &take_rows, "x"_a, "which"_a, "A copy of some rows, in this order.");
  m.def("hash_rows", &hashes_of, "x"_a, "multipliers"_a,
        "One number for each row: the sum of multipliers times mixed bits, modulo 2^64.");
  m.def("first_equal", &first_equal_of, "x"_a, "hashes"_a,
        "For each row the number of the first row that equals it; None where no two are equal.");
  m.def(
      "is_on_grid",
      [](const Matrix& x, double step, double tolerance) {
        return is_on_grid(x.data(), x.shape(0), x.shape(1), step, tolerance);
      },
      "x"_a, "step"_a, "tolerance"_a,
      "Whether no value is further than `tolerance` from a multiple of the step.");
}

void bind_gram(nb::module_& m) {
  nb::class_<KernelRows>(m, "KernelRows", "Kernel rows as the solvers read them.");
  nb::class_<KernelMatrix, KernelRows>(m, "Gram", "A kernel matrix, whole or row by row.")
      .def_prop_ro("n", &KernelMatrix::size)
      .def_prop_ro("precision",
                   [](const KernelMatrix& g) {
                     return g.precision() == Precision::float32 ? "float32" : "float64";
                   })
      .def_prop_ro("is_full", [](const KernelMatrix& g) { return g.full() != nullptr; })
      .def_prop_ro("nbytes", &KernelMatrix::nbytes)
      .def_prop_ro("n_rows_computed", &KernelMatrix::n_rows_computed)
      .def_prop_ro("n_hits", &KernelMatrix::n_hits)
      .def(
          "diagonal", [](const KernelMatrix& g) { return to_numpy(g.diagonal()); },
          "The stored diagonal; the true one is this plus twice the offset.")
      .def(
          "offset", [](const KernelMatrix& g) { return to_numpy(g.offset()); },
          "K_ij = stored_ij + offset_i + offset_j.")
      .def("rows", &rows_of, "idx"_a, "K[idx, :], offsets included.")
      .def("block", &block_of, "rows"_a, "columns"_a, "K[rows][:, columns], offsets included.")
      .def("part", &part_of, "members"_a, "The rows and columns of some instances, in this order.")
      .def("multiply", &multiply, "idx"_a, "coef"_a, "K[:, idx] @ coef, summed in double.")
      .def("products_at", &products_at, "gradient"_a, "targets"_a, "beta"_a, "sizes"_a, "rows"_a,
           "ends"_a,
           "K[rows, :] @ beta from gradients K beta - r, for several beta. The rows of each end at "
           "`ends`; without ends each has all rows. Products closer to another than their "
           "rounding are summed again from the kernel.");
}

} // namespace

std::vector<std::size_t> as_positions(const Indices& indices, std::size_t n) {
  std::vector<std::size_t> positions(indices.size());
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const std::int64_t i = indices.data()[k];
    if (i < 0 || static_cast<std::size_t>(i) >= n)
      throw nb::index_error(("Row " + std::to_string(i) + " does not exist; there are " +
                             std::to_string(n) + " rows.")
                                .c_str());
    positions[k] = static_cast<std::size_t>(i);
  }
  return positions;
}

void bind_kernel(nb::module_& m) {
  bind_samples(m);
  bind_gram(m);
  nb::class_<KernelFunction>(m, "KernelFunction", "A kernel's formula and its parameters.")
      .def(
          "__init__",
          [](KernelFunction* self, const std::string& kind, double gamma, double coef0,
             unsigned degree) {
            new (self) KernelFunction{parse_kind(kind), gamma, coef0, degree};
          },
          "kind"_a, "gamma"_a = 1.0, "coef0"_a = 0.0, "degree"_a = 3);
  nb::class_<MatrixOptions>(
      m, "GramOptions",
      "capacity: rows that a row cache holds, 0 for the whole matrix. may_defer: the rows "
      "of a large one are made when asked for, where memory is slow to get.")
      .def(
          "__init__",
          [](MatrixOptions* self, const std::string& precision, std::size_t capacity,
             std::size_t n_threads, bool may_defer) {
            new (self) MatrixOptions{parse_precision(precision), capacity, n_threads, may_defer};
          },
          "precision"_a = "float64", "capacity"_a = 0, "n_threads"_a = 1, "may_defer"_a = false);
  m.def("gram_of_samples", &kernel_of_samples, "samples"_a, "function"_a, "options"_a);
  m.def("matrix_of_samples", &matrix_of_samples, "samples"_a, "function"_a, "n_threads"_a);
  m.def("gram_of_products", &kernel_of_products, "products"_a, "function"_a, "options"_a);
  m.def("gram_of_array", &kernel_of_array, "array"_a, "options"_a);
}

} // namespace alphapath::bindings
