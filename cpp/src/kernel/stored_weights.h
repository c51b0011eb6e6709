#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernel/arch.h"
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
  using V = Floats<Arch>;
  constexpr int kVectors = 2;
  V sum[Q][kVectors];
  for (int q = 0; q < Q; ++q)
    for (int v = 0; v < kVectors; ++v) sum[q][v] = V::load_unaligned(y + q * ldy + v * V::size);
  for (int i = 0; i < Inputs; ++i) {
    V row[kVectors];
    StoredRows<T>::template load_unscaled<Arch>(weight + i * ld, row);
    for (int q = 0; q < Q; ++q) {
      const V broadcast(x[q * ldx + i]);
      for (int v = 0; v < kVectors; ++v) sum[q][v] = multiply_add<Arch>(broadcast, row[v], sum[q][v]);
    }
  }
  for (int q = 0; q < Q; ++q)
    for (int v = 0; v < kVectors; ++v) sum[q][v].store_unaligned(y + q * ldy + v * V::size);
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
void add_weight_columns(const float* x, std::ptrdiff_t ldx, StoredRows<T> weight, std::int64_t i,
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
  as_stored(run, [&](auto weight) {
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

/// Adds the products of Q rows of X with kGroups vectors of outputs, whose weights lie as rows from row `first` on.
/// Rows past the end count as the last one. Touches the rows that lie behind, in the order of memory.
template <class Arch, int Q, class T>
void add_outputs(const float* x, std::ptrdiff_t ldx, StoredRows<T> weight, std::int64_t first, std::int64_t depth,
                 float* y, std::ptrdiff_t ldy) {
  using V = Floats<Arch>;
  constexpr std::ptrdiff_t lanes = V::size, outputs = kGroups * lanes, inputs = kColumnsAtATime<Arch, T>;
  constexpr std::ptrdiff_t kLine = 64, bytes = outputs * inputs * static_cast<std::ptrdiff_t>(sizeof(T));
  const T* row[outputs];
  for (int o = 0; o < outputs; ++o) row[o] = weight.row(std::min(first + o, weight.count - 1));
  const bool is_last = first + 2 * outputs > weight.count;
  const char* ahead = reinterpret_cast<const char*>(is_last ? row[0] : weight.row(first + outputs));
  V sum[Q][kGroups];
  for (int q = 0; q < Q; ++q)
    for (int g = 0; g < kGroups; ++g) sum[q][g] = V::load_unaligned(y + q * ldy + g * lanes);
  std::int64_t d = 0;
  for (; d + inputs <= depth; d += inputs) {
    for (int g = 0; g < kGroups; ++g) {
      V column[inputs];
      load_columns<Arch>(row + g * lanes, d, column);
      for (int i = 0; i < inputs; ++i) {
        if constexpr (kStoredUnit<T> != 1.0f) column[i] = column[i] * V(kStoredUnit<T>);
        for (int q = 0; q < Q; ++q) sum[q][g] = multiply_add<Arch>(V(x[q * ldx + d + i]), column[i], sum[q][g]);
      }
    }
    if (kTouches<T> && !is_last)
      for (std::ptrdiff_t line = 0; line < bytes; line += kLine) touch(ahead + line);
    ahead += bytes;
  }
  for (; d < depth; ++d)
    for (int g = 0; g < kGroups; ++g) {
      float elements[lanes];
      for (int o = 0; o < lanes; ++o) elements[o] = widened(row[g * lanes + o][d]);
      const V column = V::load_unaligned(elements);
      for (int q = 0; q < Q; ++q) sum[q][g] = multiply_add<Arch>(V(x[q * ldx + d]), column, sum[q][g]);
    }
  for (int q = 0; q < Q; ++q)
    for (int g = 0; g < kGroups; ++g) sum[q][g].store_unaligned(y + q * ldy + g * lanes);
}

template <class Arch>
void multiply_stored_transposed(const float* x, std::ptrdiff_t ldx, std::int64_t rows, const RowRun& run,
                                std::int64_t depth, float* y, std::ptrdiff_t ldy) {
  constexpr std::int64_t lanes = Floats<Arch>::size;
  as_stored(run, [&](auto weight) {
    for (std::int64_t o = 0; o < weight.count; o += kGroups * lanes)
      for_each_input_rows(rows, [&](std::int64_t r, auto q) {
        add_outputs<Arch, q()>(x + r * ldx, ldx, weight, o, depth, y + r * ldy + o, ldy);
      });
  });
}

}  // namespace
}  // namespace headwise::kernels
