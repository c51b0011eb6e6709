#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/numbers.h"
#include "kernel/arch.h"
#include "kernel/products.h"
#include "kernel/row_run.h"
#include "kernel/stored_rows.h"

namespace headwise::kernels {
namespace {

// Products of a few rows of X with a weight that is read once, where it lies. Every element of Y is
// y + x_0 w_0 + x_1 w_1 + … in that order, as in `multiply`.

/// Calls visit(row, count) for 4 rows of X at a time, then for 2 and for 1; `count` is a constant. These rows meet a
/// part of the weight together. The next ones read it again, from a cache.
template <class Visit>
void for_each_input_rows(std::int64_t rows, Visit visit) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) visit(r, std::integral_constant<int, 4>());
  for (; r + 2 <= rows; r += 2) visit(r, std::integral_constant<int, 2>());
  if (r < rows) visit(r, std::integral_constant<int, 1>());
}

/// Whether rows that come next are touched. Processors prefetch the rows of float32, which are longer, by themselves,
/// and fetch more lines at a time than touches do.
template <class T>
constexpr bool kTouches = sizeof(T) < sizeof(float);

/// Rows of the weight that are added at a time, so that each sum is loaded and stored once for all of them.
template <class T>
constexpr int kInputsAtATime = kTouches<T> ? 4 : 8;

/// Columns that are added at a time.
template <class Arch>
constexpr std::ptrdiff_t kColumns = 2 * static_cast<std::ptrdiff_t>(Floats<Arch>::size);

/// Adds Inputs rows of the weight to kColumns columns of Q rows of Y.
template <class Arch, int Q, int Inputs, class T>
inline void add_weight_rows(const float* x, std::ptrdiff_t ldx, const T* weight, std::ptrdiff_t ld, float* y,
                            std::ptrdiff_t ldy) {
  constexpr int kVectors = 2;
  Block<Arch, Q, kVectors> block(y, ldy);
  for (int i = 0; i < Inputs; ++i) {
    Floats<Arch> row[kVectors];
    StoredRows<T>::template load_unscaled<Arch>(weight + i * ld, row);
    block.add(row, [&](int q) { return x[q * ldx + i]; });
  }
  block.store(y, ldy);
}

/// Adds all rows of the weight to fewer columns than a vector has, or as many.
template <class Arch, class T>
void add_last_columns(const float* x, StoredRows<T> weight, std::int64_t column, std::int64_t columns, float* y) {
  using V = Floats<Arch>;
  float sums[V::size] = {};
  std::copy_n(y + column, columns, sums);
  V sum = V::load_unaligned(sums);
  for (std::int64_t i = 0; i < weight.count; ++i) {
    T padded[V::size] = {};
    std::copy_n(weight.row(i) + column, columns, padded);
    V row[1];
    StoredRows<T>::template load_unscaled<Arch>(padded, row);
    sum = multiply_add<Arch>(V(x[i]), row[0], sum);
  }
  sum.store_unaligned(sums);
  std::copy_n(sums, columns, y + column);
}

/// Adds Inputs rows of the weight, from row `i` on, to all of the first `columns` columns of Q rows of Y. Touches the
/// rows that come next.
template <class Arch, int Q, int Inputs, class T>
[[gnu::noinline]] void add_weight_columns(const float* x, std::ptrdiff_t ldx, StoredRows<T> weight, std::int64_t i,
                                          std::ptrdiff_t columns, float* y, std::ptrdiff_t ldy) {
  constexpr std::ptrdiff_t line = 64 / sizeof(T);
  const T *row = weight.row(i), *ahead = weight.row(std::min(i + Inputs, weight.count - Inputs));
  for (std::ptrdiff_t c = 0; c < columns; c += kColumns<Arch>) {
    for (int next = 0; kTouches<T> && c % line == 0 && next < Inputs; ++next) touch(ahead + next * weight.ld + c);
    add_weight_rows<Arch, Q, Inputs>(x + i, ldx, row + c, weight.ld, y + c, ldy);
  }
}

template <class Arch>
void multiply_stored(const float* x, std::ptrdiff_t ldx, std::int64_t rows, const RowRun& run, std::int64_t columns,
                     float* y, std::ptrdiff_t ldy) {
  as_stored_weight(run, [&](auto weight) {
    const std::int64_t whole = columns / kColumns<Arch> * kColumns<Arch>;
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(weight.data)>>;
    constexpr int kInputs = kInputsAtATime<T>;
    std::int64_t i = 0;
    for (; i + kInputs <= weight.count; i += kInputs)
      for_each_input_rows(rows, [&](std::int64_t r, auto q) {
        add_weight_columns<Arch, q(), kInputs>(x + r * ldx, ldx, weight, i, whole, y + r * ldy, ldy);
      });
    for (; i < weight.count; ++i)
      for (std::int64_t r = 0; r < rows; ++r)
        add_weight_columns<Arch, 1, 1>(x + r * ldx, ldx, weight, i, whole, y + r * ldy, ldy);
    constexpr std::int64_t lanes = Floats<Arch>::size;
    for (std::int64_t c = whole; c < columns; c += lanes)
      for (std::int64_t r = 0; r < rows; ++r)
        add_last_columns<Arch>(x + r * ldx, weight, c, std::min(lanes, columns - c), y + r * ldy);
  });
}

/// Vectors of outputs that are summed at a time: a sum must wait for the one before, so there are several.
constexpr int kGroups = 4;
template <class Arch>
constexpr std::ptrdiff_t kOutputs = kGroups* static_cast<std::ptrdiff_t>(Floats<Arch>::size);

/// Loads columns of rows as they are.
template <class Arch, class T>
struct AnyColumns {
  static constexpr float kUnit = 1.0f;  ///< what rows of X are multiplied by beforehand
  static void load(const T* const* rows, std::ptrdiff_t first, Floats<Arch> (&columns)[kColumnsAtATime<Arch, T>]) {
    load_columns<Arch>(rows, first, columns);
    if constexpr (kStoredUnit<T> != 1.0f)
      for (auto& column : columns) column = column * Floats<Arch>(kStoredUnit<T>);
  }
  [[nodiscard]] static bool are_right() { return true; }
};

/// Loads columns of float16 without their unit, which X has instead.
template <class Arch>
struct FiniteColumns {
  static constexpr float kUnit = kStoredUnit<std::uint16_t>;
  FiniteHalves<Arch> finite;
  void load(const std::uint16_t* const* rows, std::ptrdiff_t first,
            Floats<Arch> (&columns)[kColumnsAtATime<Arch, std::uint16_t>]) {
    load_finite_columns<Arch>(rows, first, columns, finite);
  }
  [[nodiscard]] bool are_right() const { return finite.all(); }
};

/// Adds the products of Q rows of X with kGroups vectors of outputs, whose weights lie as rows from row `first` on.
/// Rows past the end count as the last one. Touches the rows that lie behind, in the order of memory. Returns false,
/// and adds nothing, if Columns cannot load the weights.
template <class Arch, int Q, class Columns, class T>
[[gnu::noinline]] bool add_outputs(const float* x, std::ptrdiff_t ldx, StoredRows<T> weight, std::int64_t first,
                                   std::int64_t depth, float* y, std::ptrdiff_t ldy) {
  using V = Floats<Arch>;
  constexpr std::ptrdiff_t lanes = V::size, outputs = kOutputs<Arch>, inputs = kColumnsAtATime<Arch, T>;
  constexpr std::ptrdiff_t kLine = 64, bytes = outputs * inputs * static_cast<std::ptrdiff_t>(sizeof(T));
  const T* row[outputs];
  for (int o = 0; o < outputs; ++o) row[o] = weight.row(std::min(first + o, weight.count - 1));
  // Rows that overlap end before their lengths have passed.
  const bool touches = kTouches<T> && first + 2 * outputs <= weight.count && weight.ld >= depth;
  const char* ahead = reinterpret_cast<const char*>(touches ? weight.row(first + outputs) : row[0]);
  Block<Arch, Q, kGroups> block(y, ldy);
  Columns columns;
  std::int64_t d = 0;
  for (; d + inputs <= depth; d += inputs) {
    for (int g = 0; g < kGroups; ++g) {
      V column[inputs];
      columns.load(row + g * lanes, d, column);
      for (int i = 0; i < inputs; ++i) block.add(g, column[i], [&](int q) { return x[q * ldx + d + i]; });
    }
    if (touches)
      for (std::ptrdiff_t line = 0; line < bytes; line += kLine) touch(ahead + line);
    ahead += bytes;
  }
  for (; d < depth; ++d)
    for (int g = 0; g < kGroups; ++g) {
      float elements[lanes];
      for (int o = 0; o < lanes; ++o) elements[o] = widened(row[g * lanes + o][d]) / Columns::kUnit;
      block.add(g, V::load_unaligned(elements), [&](int q) { return x[q * ldx + d]; });
    }
  if (!columns.are_right()) return false;
  block.store(y, ldy);
  return true;
}

/// For float32 and bfloat16.
template <class Arch, class T>
void multiply_floats_transposed(const float* x, std::ptrdiff_t ldx, std::int64_t rows, StoredRows<T> weight,
                                std::int64_t depth, float* y, std::ptrdiff_t ldy) {
  for (std::int64_t o = 0; o < weight.count; o += kOutputs<Arch>)
    for_each_input_rows(rows, [&](std::int64_t r, auto q) {
      add_outputs<Arch, q(), AnyColumns<Arch, T>>(x + r * ldx, ldx, weight, o, depth, y + r * ldy + o, ldy);
    });
}

/// Multiplies a row by the unit of float16. Returns false if a product is not finite.
inline bool apply_unit(const float* x, std::int64_t depth, float* products) {
  std::uint32_t most = 0;
  for (std::int64_t d = 0; d < depth; ++d) {
    products[d] = x[d] * kStoredUnit<std::uint16_t>;
    most = std::max(most, std::bit_cast<std::uint32_t>(products[d]) & 0x7fffffffu);
  }
  return most < 0x7f800000u;
}

/// A product (x * unit) * (w / unit) has the bits of x * w if both factors are finite: the unit is a power of two. So
/// vectors of weights need not be multiplied by it.
template <class Arch>
void multiply_halves_transposed(const float* x, std::ptrdiff_t ldx, std::int64_t rows, StoredRows<std::uint16_t> weight,
                                std::int64_t depth, float* y, std::ptrdiff_t ldy) {
  constexpr std::int64_t kInputs = 2048;  // 8 KiB of the stack
  float inputs[kInputs];
  const std::int64_t most =
      kInputs / rows / kColumnsAtATime<Arch, std::uint16_t> * kColumnsAtATime<Arch, std::uint16_t>;
  for (std::int64_t d = 0; d < depth; d += most, x += most, weight.data += most) {
    const std::int64_t count = std::min(most, depth - d);
    bool fits = true;
    for (std::int64_t r = 0; r < rows; ++r) fits = apply_unit(x + r * ldx, count, inputs + r * count) && fits;
    for (std::int64_t o = 0; o < weight.count; o += kOutputs<Arch>)
      for_each_input_rows(rows, [&](std::int64_t r, auto q) {
        float* const sums = y + r * ldy + o;
        if (fits && add_outputs<Arch, q(), FiniteColumns<Arch>>(inputs + r * count, count, weight, o, count, sums, ldy))
          return;
        for (std::int64_t n = 0; n < q(); ++n)
          add_outputs<Arch, 1, AnyColumns<Arch, std::uint16_t>>(x + (r + n) * ldx, ldx, weight, o, count,
                                                                sums + n * ldy, ldy);
      });
  }
}

/// Rows of X that are multiplied together, so that the weight is read from the processor's cache.
constexpr std::int64_t kRowsAtATime = 16;

template <class Arch>
void multiply_stored_transposed(const float* x, std::ptrdiff_t ldx, std::int64_t rows, const RowRun& run,
                                std::int64_t depth, float* y, std::ptrdiff_t ldy) {
  for (std::int64_t r = 0; r < rows; r += kRowsAtATime) {
    const std::int64_t count = std::min(kRowsAtATime, rows - r);
    if (run.dtype == Dtype::float16)
      multiply_halves_transposed<Arch>(x + r * ldx, ldx, count, StoredRows<std::uint16_t>(run), depth, y + r * ldy,
                                       ldy);
    else if (run.dtype == Dtype::bfloat16)
      multiply_floats_transposed<Arch>(x + r * ldx, ldx, count, StoredRows<Bfloat16>(run), depth, y + r * ldy, ldy);
    else
      multiply_floats_transposed<Arch>(x + r * ldx, ldx, count, StoredRows<float>(run), depth, y + r * ldy, ldy);
  }
}

/// Adds the products of a block of inputs, whose first is `first`, to the sums of kByteRows outputs. The products are
/// summed as whole numbers, without an error.
inline void add_block(const FixedPoint& x, std::int64_t first, const std::int8_t* const (&row)[kByteRows],
                      float (&sums)[kByteRows]) {
  const std::int64_t count = std::min(kFixedBlock, x.count - first);
  const std::int64_t whole = count / kByteColumns * kByteColumns;
  const std::int16_t* const factors[] = {x.high + first, x.low + first};
  const std::int8_t* bytes[kByteRows];
  for (int n = 0; n < kByteRows; ++n) bytes[n] = row[n] + first;
  std::int32_t products[2][kByteRows];
  dot_bytes(factors, bytes, whole, products);
  for (std::int64_t i = whole; i < count; ++i)
    for (int s = 0; s < 2; ++s)
      for (int n = 0; n < kByteRows; ++n) products[s][n] += std::int32_t{factors[s][i]} * bytes[n][i];
  const float unit = x.units[first / kFixedBlock], low_unit = unit * kFixedLow;
  for (int n = 0; n < kByteRows; ++n)
    sums[n] = sums[n] + static_cast<float>(products[0][n]) * unit + static_cast<float>(products[1][n]) * low_unit;
}

/// Touches the rows that lie behind, in the order of memory: processors do not prefetch the streams of four rows.
inline void multiply_bytes(const FixedPoint& x, const RowRun& weight, float* y) {
  constexpr std::ptrdiff_t kLine = 64;
  const auto* const data = static_cast<const std::int8_t*>(weight.data);
  for (std::int64_t o = 0; o < weight.count; o += kByteRows) {
    const std::int64_t outputs = std::min<std::int64_t>(kByteRows, weight.count - o);
    const std::int8_t* row[kByteRows];  // rows past the end count as the last one
    for (int n = 0; n < kByteRows; ++n) row[n] = data + std::min(o + n, weight.count - 1) * weight.row_stride;
    const bool touches = o + kByteRows + kByteRows <= weight.count && weight.row_stride >= x.count;
    const std::int8_t* const ahead = data + (o + kByteRows) * weight.row_stride;
    float sums[kByteRows] = {};
    std::copy_n(y + o, outputs, sums);
    for (std::int64_t first = 0; first < x.count; first += kFixedBlock) {
      const std::int64_t last = std::min(first + kFixedBlock, x.count);
      for (std::int64_t byte = first * kByteRows; touches && byte < last * kByteRows; byte += kLine)
        touch(ahead + byte);
      add_block(x, first, row, sums);
    }
    std::copy_n(sums, outputs, y + o);
  }
}

}  // namespace
}  // namespace headwise::kernels
