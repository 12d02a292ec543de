#include "kernel/dense_source.hpp"

#include "base/dispatch.hpp"

#include <cstring>
#include <type_traits>

namespace alphapath {

namespace {

// Columns handled at once: a multiple of 16 and of every panel width, and a square of them stays
// in the second-level cache.
constexpr std::size_t tile_size = 192;

// Elements of rows that are multiplied at once: a panel of so many stays in the second-level cache
// while all rows of a tile pass by it.
constexpr std::size_t slice_depth = 512;

// Columns of the smallest piece that is mapped, mirrored or padded.
constexpr std::size_t cell = 16;

/// The part of a sum over `depth` that begins with its element number `first`.
simd::Depth slice_of(const simd::Depth& depth, std::size_t first) {
  const std::size_t count = std::min(depth.count - first, slice_depth);
  return {count, depth.which == nullptr ? nullptr : depth.which + first, first > 0};
}

bool is_distance(KernelKind kind) {
  return kind == KernelKind::rbf || kind == KernelKind::squared_distance;
}

Route choose_route(const RowStatistics& rows, const KernelFunction& f, Precision precision) {
  // Offsets cancel what is common to all values; that must not be rounded before.
  if (f.kind == KernelKind::poly || f.kind == KernelKind::sigmoid)
    return Route::double_products;
  // Integers: products and distances, at most 4 max|x|^2, are exact in float below 2^24.
  const bool is_exact = rows.is_integer && rows.max_squared_norm <= 0x1p22;
  const bool is_exact_in_double = rows.is_integer && rows.max_squared_norm <= 0x1p50;
  const bool wants_float = precision == Precision::float32;
  if (wants_float && is_exact)
    return Route::float_products;
  // Products that are kept must serve every gamma.
  if (f.kind == KernelKind::squared_distance)
    return is_exact_in_double ? Route::double_products : Route::double_differences;
  // A linear kernel has no scale to compare with.
  if (f.kind != KernelKind::rbf)
    return Route::double_products;
  const double scale = f.gamma * rows.max_squared_norm;
  if (wants_float && scale * 0x1p-22 <= 2e-6)
    return Route::float_products;
  const bool is_accurate = is_exact_in_double || scale * 0x1p-51 <= 1e-11;
  return is_accurate ? Route::double_products : Route::double_differences;
}

/// How products are made of rows of d numbers of which `rows` is known.
ProductPlan plan_for(const RowStatistics& rows, std::size_t d, const KernelFunction& f,
                     Precision precision) {
  const Route route = choose_route(rows, f, precision);
  if (route == Route::double_differences || !rows.is_integer || rows.max_squared_norm >= 0x1p30)
    return {route, Elements::values};
  const bool fits_quads = rows.is_byte && d <= simd::most_quad_features && has_quads();
  return {route, fits_quads ? Elements::quads : Elements::pairs};
}

std::span<const double> shift_for(const Samples& samples, const ProductPlan& plan) {
  if (!plan.is_shifted)
    return {};
  return samples.centre();
}

template <class E, class P>
Offsets<P> offsets_for(const Samples& samples, const KernelFunction& f, const ProductPlan& plan,
                       const Panels<E, P>& panels) {
  const bool is_plain = f.kind == KernelKind::linear && !plan.is_shifted;
  if (is_plain || !has_centre(f.kind))
    return {constant_offsets(f.kind, samples.size()), true};
  CentreProducts centre = samples.products_with_centre();
  if (f.kind == KernelKind::linear) { // the panels hold centred rows
    for (double& product : centre.with_rows)
      product -= centre.squared_norm / 2;
    return {std::move(centre.with_rows), true};
  }
  const std::vector<double> squared_norms(panels.norms(), panels.norms() + samples.size());
  return {offsets_about(f, centre, squared_norms), false};
}

} // namespace

ProductPlan plan_products(const Samples& samples, const KernelFunction& f, Precision precision) {
  const RowStatistics &raw = samples.raw(), &centred = samples.centred();
  const bool is_shorter = centred.median_squared_norm < raw.median_squared_norm;
  const std::size_t d = samples.n_features();
  const ProductPlan plain = plan_for(raw, d, f, precision);
  if (!is_distance(f.kind) && !(f.kind == KernelKind::linear && is_shorter))
    return plain;
  ProductPlan shifted = plan_for(centred, d, f, precision);
  shifted.is_shifted = true;
  if (!is_distance(f.kind))
    return shifted;
  if (plain.elements == Elements::quads && plain.route == shifted.route)
    return plain;
  const bool is_as_fast = shifted.elements != Elements::values ? plain.elements != Elements::values
                                                               : plain.route == shifted.route;
  return raw.is_mostly_zero && is_as_fast && plain.route != Route::double_differences ? plain
                                                                                      : shifted;
}

template <class P, class T, class E> struct DenseSource<P, T, E>::Tile {
  std::size_t row, column, n_rows, n_columns;
};

template <class P, class T, class E> struct DenseSource<P, T, E>::Scratch {
  Buffer<P> products{tile_size * tile_size};
  Buffer<T> values{tile_size * tile_size};
  std::vector<Left> left;
};

template <class P, class T, class E>
DenseSource<P, T, E>::DenseSource(const Samples& samples, const KernelFunction& f,
                                  const ProductPlan& plan, const Team& team)
    : panels_(samples, shift_for(samples, plan), team), f_(f),
      is_difference_(plan.route == Route::double_differences),
      offsets_(offsets_for(samples, f, plan, panels_)) {}

/// products[i * tile_size + j] for all rows of `left` and n_columns (rounded up to whole panels)
/// from `column`, a multiple of the panel width. On the diagonal what lies wholly below it is
/// left out.
template <class P, class T, class E>
void DenseSource<P, T, E>::multiply(std::span<const Left> left, std::size_t column,
                                    std::size_t n_columns, bool is_diagonal, P* products) const {
  const auto& ops = panels_.ops();
  const auto multiply = is_difference_ ? ops.squared_differences : ops.products;
  constexpr bool is_whole = !std::is_same_v<E, P>; // integers: many features take little room
  const std::size_t step = is_whole ? std::max<std::size_t>(panels_.depth(), 1) : slice_depth;
  for (std::size_t first = 0; first == 0 || first < panels_.depth(); first += step)
    for (std::size_t j = 0; j < n_columns; j += ops.width) {
      const E* panel = panels_.panel((column + j) / ops.width);
      // Kernel values are made in cells of 16 columns, some of which reach below the diagonal.
      const std::size_t n_left =
          is_diagonal ? std::min(left.size(), (j + ops.width + 16) / ops.group) : left.size();
      for (std::size_t g = 0; g < n_left; ++g) {
        simd::Depth depth = is_difference_ ? simd::Depth{panels_.depth()} : left[g].depth;
        const std::size_t skipped = depth.which == nullptr ? first : 0;
        if constexpr (!is_whole) {
          if (first > 0 && first >= depth.count)
            continue;
          depth = slice_of(depth, first);
        }
        multiply(left[g].at + skipped * left[g].lda, left[g].lda, left[g].n_rows,
                 panel + skipped * ops.width, depth, products + g * ops.group * tile_size + j,
                 tile_size);
      }
    }
  clear_behind_panels(left, n_columns, products);
}

/// Kernel values are made up to the padding, which the last panel may not reach.
template <class P, class T, class E>
void DenseSource<P, T, E>::clear_behind_panels(std::span<const Left> left, std::size_t n_columns,
                                               P* products) const {
  const auto& ops = panels_.ops();
  const std::size_t from = (n_columns + ops.width - 1) / ops.width * ops.width;
  if (from >= padded(n_columns))
    return;
  for (std::size_t g = 0; g < left.size(); ++g)
    for (std::size_t r = 0; r < left[g].n_rows; ++r) {
      P* row = products + (g * ops.group + r) * tile_size;
      std::fill(row + from, row + padded(n_columns), P(0));
    }
}

template <class P, class T, class E>
void DenseSource<P, T, E>::apply(std::size_t row, std::size_t column, std::size_t n,
                                 const P* products, T* values) const {
  simd::Terms<P> terms = offsets_.terms(row, column);
  if (is_distance(f_.kind) && !is_difference_)
    terms = {panels_.norms()[row], panels_.norms() + column};
  apply_kernel<P, T>()(f_, terms, products, padded(n), values);
}

template <class P, class T, class E>
void DenseSource<P, T, E>::write_tile(const Tile& tile, std::span<const double> offset,
                                      Scratch& scratch, const MatrixOut<T>& matrix) const {
  const auto& ops = panels_.ops();
  scratch.left.clear();
  for (std::size_t i = 0; i < tile.n_rows; i += ops.group)
    scratch.left.push_back(
        {panels_.lane(tile.row + i), ops.width, ops.group, panels_.depth_of(tile.row + i)});
  const bool is_diagonal = tile.row == tile.column;
  multiply(scratch.left, tile.column, tile.n_columns, is_diagonal, scratch.products.data());
  for (std::size_t i = 0; i < tile.n_rows; ++i) {
    const std::size_t first = is_diagonal ? i / cell * cell : 0;
    const std::size_t at = i * tile_size + first;
    apply(tile.row + i, tile.column + first, tile.n_columns - first, scratch.products.data() + at,
          scratch.values.data() + at);
    if (!offset.empty())
      add_offsets<T>(offset, tile.row + i, tile.column + first,
                     {scratch.values.data() + at, tile.n_columns - first});
    std::memcpy(matrix.row(tile.row + i) + tile.column + first, scratch.values.data() + at,
                (tile.n_columns - first) * sizeof(T));
  }
  mirror(tile, scratch.values.data(), matrix);
}

/// Writes the transpose of a finished tile across the diagonal; of one on the diagonal the part
/// above it.
template <class P, class T, class E>
void DenseSource<P, T, E>::mirror(const Tile& tile, const T* values,
                                  const MatrixOut<T>& matrix) const {
  const std::size_t stride = matrix.stride;
  T* const to = matrix.row(tile.column) + tile.row;
  if (tile.row != tile.column) {
    transpose<T>({values, tile_size, tile.n_rows, tile.n_columns}, to, stride);
    return;
  }
  for (std::size_t i = 0; i + cell < tile.n_rows; i += cell) {
    const std::size_t j = i + cell;
    transpose<T>({values + i * tile_size + j, tile_size, cell, tile.n_columns - j},
                 to + j * stride + i, stride);
  }
}

template <class P, class T, class E>
void DenseSource<P, T, E>::write_tiles(const std::vector<double>& offset,
                                       const MatrixOut<T>& matrix, const Team& team) const {
  const std::size_t n = size();
  std::vector<Tile> tiles;
  for (std::size_t i = 0; i < n; i += tile_size)
    for (std::size_t j = i; j < n; j += tile_size)
      tiles.push_back({i, j, std::min(tile_size, n - i), std::min(tile_size, n - j)});
  for (std::size_t i = 0; i < n; ++i)
    clear_padding(matrix.row(i), n);
  std::vector<std::unique_ptr<Scratch>> scratch(std::max<std::size_t>(team.n_threads, 1));
  for_each_piece(tiles.size(), team, [&](std::size_t t, std::size_t worker) {
    if (!scratch[worker])
      scratch[worker] = std::make_unique<Scratch>();
    write_tile(tiles[t], offset, *scratch[worker], matrix);
  });
}

template <class P, class T, class E>
typename DenseSource<P, T, E>::Packed
DenseSource<P, T, E>::pack(std::span<const std::size_t> which) const {
  const std::size_t group = panels_.ops().group;
  const std::size_t depth = panels_.depth();
  Packed packed{Buffer<E>(which.size() * depth), {}, {}};
  packed.nonzero.resize((which.size() + group - 1) / group);
  for (std::size_t at = 0; at < which.size(); at += group) {
    const std::size_t n_rows = std::min(group, which.size() - at);
    E* to = packed.values.data() + at * depth;
    for (std::size_t r = 0; r < n_rows; ++r) {
      const E* from = panels_.lane(which[at + r]);
      for (std::size_t k = 0; k < depth; ++k)
        to[k * n_rows + r] = from[k * panels_.width()];
    }
    const simd::Depth some = depth_for<E>(to, n_rows, n_rows, depth, packed.nonzero[at / group]);
    packed.left.push_back({to, n_rows, n_rows, some});
  }
  return packed;
}

template <class P, class T, class E>
void DenseSource<P, T, E>::write_rows(std::span<const std::size_t> which,
                                      std::span<T* const> out) const {
  // As many rows at once as the scratch of a tile holds.
  for (; which.size() > tile_size; which = which.subspan(tile_size), out = out.subspan(tile_size))
    write_rows(which.first(tile_size), out.first(tile_size));
  const std::size_t n = size();
  const Packed packed = pack(which);
  Buffer<P> products(which.size() * tile_size);
  for (std::size_t j = 0; j < n; j += tile_size) {
    const std::size_t n_columns = std::min(tile_size, n - j);
    multiply(packed.left, j, n_columns, false, products.data());
    for (std::size_t r = 0; r < which.size(); ++r)
      apply(which[r], j, n_columns, products.data() + r * tile_size, out[r] + j);
  }
  for (T* row : out)
    clear_padding(row, n);
}

template <class P, class T, class E> std::vector<double> DenseSource<P, T, E>::diagonal() const {
  std::vector<double> values(size(), 0.0);
  if (is_distance(f_.kind))
    return values;
  alignas(64) P product[cell] = {};
  alignas(64) T value[cell];
  for (std::size_t i = 0; i < size(); ++i) {
    product[i % cell] = panels_.norms()[i];
    apply_kernel<P, T>()(f_, offsets_.terms(i, i / cell * cell), product, cell, value);
    values[i] = static_cast<double>(value[i % cell]);
  }
  return values;
}

template class DenseSource<float, float>;
template class DenseSource<double, float>;
template class DenseSource<double, double>;
template class DenseSource<float, float, simd::WholePair>;
template class DenseSource<double, float, simd::WholePair>;
template class DenseSource<double, double, simd::WholePair>;
#if defined(ALPHAPATH_X86)
template class DenseSource<float, float, simd::WholeQuad>;
template class DenseSource<double, float, simd::WholeQuad>;
template class DenseSource<double, double, simd::WholeQuad>;
#endif

} // namespace alphapath
