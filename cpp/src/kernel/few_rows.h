#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernel/arch.h"
#include "kernel/products.h"
#include "kernel/row_run.h"
#include "kernel/stored_rows.h"

namespace headwise::kernels {
namespace {

// Products of a few query rows with keys and values that are read where they lie. A *patch* is Q query rows by K key or
// value rows whose products stay in registers.

/// Query rows that meet a row of keys or values at a time. More rows read it again.
constexpr std::int64_t kMostRows = 4;

/// Calls step(vectors) for every whole vector of `columns`: two at a time as long as two are left, then one. Calls
/// advance(2 * lanes) after each two. Between the steps it touches Count rows from `ahead` on, never past their ends.
template <int Count, std::ptrdiff_t lanes, class T, class Step, class Advance>
inline void for_each_vector(std::ptrdiff_t columns, const T* ahead, std::ptrdiff_t ld, Step step, Advance advance) {
  const std::ptrdiff_t pairs = columns / (2 * lanes);
  constexpr std::integral_constant<int, 2> two;
  for (int row = 0; row < Count; ++row, ahead += ld) {
    const T* next = ahead;
    for (std::ptrdiff_t left = pairs / Count; left > 0; --left, next += Count * (2 * lanes)) {
      touch(next);
      if constexpr (sizeof(T) == sizeof(float)) touch(next + Count * lanes);
      step(two);
      advance(2 * lanes);
    }
  }
  for (std::ptrdiff_t left = pairs % Count; left > 0; --left) {
    step(two);
    advance(2 * lanes);
  }
  if (columns % (2 * lanes) >= lanes) step(std::integral_constant<int, 1>());
}

/// The sums of the lanes of four vectors, in the same order wherever a vector stands.
template <class Arch>
void sum_lanes(const Floats<Arch>* vectors, float* sums) {
  if constexpr (Floats<Arch>::size == 4) {
    xsimd::haddp(vectors).store_unaligned(sums);
  } else {
    for (int i = 0; i < 4; ++i) sums[i] = xsimd::reduce_add(vectors[i]);
  }
}

/// Q x K dot products of whole vectors. The partial sums in a vector's lanes are added at the end; those of a
/// block of int8 are multiplied by its scale before. Touches K rows from row `ahead` on.
template <class Arch, int Q, int K, class T>
void dot_patch(const float* query, std::ptrdiff_t ldq, StoredRows<T> keys, std::int64_t key, std::int64_t ahead,
               std::ptrdiff_t depth, float* scores, std::ptrdiff_t lds) {
  using V = Floats<Arch>;
  constexpr int count = (Q * K + 3) / 4 * 4;
  V sum[count], scaled[count];
  for (V& each : sum) each = V(0.0f);
  for (V& each : scaled) each = V(0.0f);
  RowPointers<const float, Q> q(query, ldq);
  RowPointers<const T, K> k(keys.row(key), keys.ld);
  const std::ptrdiff_t block = StoredRows<T>::kScaled ? kScaleBlock : depth;
  for (std::ptrdiff_t first = 0; first < depth; first += block) {
    for_each_vector<K, static_cast<std::ptrdiff_t>(V::size)>(
        std::min(block, depth - first), keys.row(ahead) + first, keys.ld,
        [&](auto vectors) {
          V column[K][vectors()];
          for (int j = 0; j < K; ++j) keys.template load_unscaled<Arch>(k.at[j], column[j]);
          for (int v = 0; v < vectors(); ++v) {
            for (int r = 0; r < Q; ++r) {
              const V x = V::load_unaligned(q.at[r] + v * V::size);
              for (int j = 0; j < K; ++j) sum[r * K + j] = multiply_add<Arch>(x, column[j][v], sum[r * K + j]);
            }
          }
        },
        [&](std::ptrdiff_t step) { q.advance(step), k.advance(step); });
    for (int j = 0; StoredRows<T>::kScaled && j < K; ++j) {
      const V scale(keys.scale(key + j, first));
      for (int r = 0; r < Q; ++r) {
        scaled[r * K + j] = multiply_add<Arch>(scale, sum[r * K + j], scaled[r * K + j]);
        sum[r * K + j] = V(0.0f);
      }
    }
  }
  float total[count];
  for (int i = 0; i < count; i += 4) sum_lanes<Arch>((StoredRows<T>::kScaled ? scaled : sum) + i, total + i);
  for (int r = 0; r < Q; ++r)
    for (int j = 0; j < K; ++j) scores[r * lds + key + j] = total[r * K + j];
}

/// The scores of Q rows against K keys at least. The last patch may meet some keys again, with the same result.
template <class Arch, int Q, int K, class T>
void dot_patches(const float* query, std::ptrdiff_t ldq, StoredRows<T> keys, std::ptrdiff_t depth, float* scores,
                 std::ptrdiff_t lds) {
  for (std::int64_t next = 0; next < keys.count; next += K) {
    const std::int64_t j = std::min(next, keys.count - K);
    dot_patch<Arch, Q, K>(query, ldq, keys, j, std::min(j + kRowsAhead, keys.count - K), depth, scores, lds);
  }
}

/// Adds the columns after the last whole vector.
template <class Arch, class T>
void dot_rest(const float* query, std::ptrdiff_t ldq, std::int64_t rows, StoredRows<T> keys, std::int64_t depth,
              float* scores, std::ptrdiff_t lds) {
  constexpr std::int64_t lanes = Floats<Arch>::size;
  for (std::int64_t d = depth / lanes * lanes; d < depth; ++d)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < keys.count; ++j) scores[r * lds + j] += query[r * ldq + d] * keys.element(j, d);
}

template <class Arch, class T>
void dot_stored_rows(const float* query, std::ptrdiff_t ldq, std::int64_t rows, StoredRows<T> keys, std::int64_t depth,
                     float* scores, std::ptrdiff_t lds) {
  // Called through pointers: V8 allocates registers better in small functions than in one large function.
  constexpr std::int64_t kMostKeys = 4;
  static constexpr decltype(&dot_patches<Arch, 1, 4, T>) patches[] = {
      dot_patches<Arch, 1, 1, T>, dot_patches<Arch, 1, 4, T>, dot_patches<Arch, 2, 4, T>, dot_patches<Arch, 3, 2, T>,
      dot_patches<Arch, 4, 2, T>};
  keys.touch_first(depth);
  const bool few_keys = keys.count < kMostKeys;
  const std::int64_t at_a_time = few_keys ? 1 : kMostRows;
  for (std::int64_t r = 0; r < rows; r += at_a_time) {
    const std::int64_t count = std::min(at_a_time, rows - r);
    patches[few_keys ? 0 : count](query + r * ldq, ldq, keys, depth, scores + r * lds, lds);
  }
  dot_rest<Arch>(query, ldq, rows, keys, depth, scores, lds);
}

template <class Arch>
void dot_rows(const float* query, std::ptrdiff_t ldq, std::int64_t rows, const RowRun& keys, std::int64_t depth,
              float* scores, std::ptrdiff_t lds) {
  as_stored(keys, [&](auto stored) { dot_stored_rows<Arch>(query, ldq, rows, stored, depth, scores, lds); });
}

/// Adds K weighted values, from value `j` on, to Q rows of outputs, in whole vectors. The outputs stay in the
/// first-level cache. Values are read as they lie, row after row, and every element is summed in ascending order of
/// values. Touches K rows from row `ahead` on.
template <class Arch, int Q, int K, class T>
void add_patch(const float* weights, std::ptrdiff_t ldw, StoredRows<T> values, std::int64_t j, std::int64_t ahead,
               std::ptrdiff_t columns, float* out, std::ptrdiff_t ldo) {
  using V = Floats<Arch>;
  RowPointers<const T, K> value(values.row(j), values.ld);
  RowPointers<float, Q> sums(out, ldo);
  const std::ptrdiff_t block = StoredRows<T>::kScaled ? kScaleBlock : columns;
  for (std::ptrdiff_t first = 0; first < columns; first += block) {
    V weight[Q][K];
    for (int r = 0; r < Q; ++r)
      for (int k = 0; k < K; ++k) weight[r][k] = V(weights[r * ldw + j + k] * values.unit(j + k, first));
    for_each_vector<K, static_cast<std::ptrdiff_t>(V::size)>(
        std::min(block, columns - first), values.row(ahead) + first, values.ld,
        [&](auto vectors) {
          V column[K][vectors()];
          for (int k = 0; k < K; ++k) load_stored<Arch>(value.at[k], column[k]);
          for (int v = 0; v < vectors(); ++v)
            for (int r = 0; r < Q; ++r) {
              V sum = V::load_unaligned(sums.at[r] + v * V::size);
              for (int k = 0; k < K; ++k) sum = multiply_add<Arch>(weight[r][k], column[k][v], sum);
              sum.store_unaligned(sums.at[r] + v * V::size);
            }
        },
        [&](std::ptrdiff_t step) { value.advance(step), sums.advance(step); });
  }
}

/// Values are touched this many rows before they are used: twice as many as keys, which wait for more multiplications.
constexpr std::int64_t kValuesAhead = 2 * kRowsAhead;

/// out[r] += weights[r] * values for Q rows, K values at a time.
template <class Arch, int Q, int K, class T>
void add_values(const float* weights, std::ptrdiff_t ldw, StoredRows<T> values, std::ptrdiff_t columns, float* out,
                std::ptrdiff_t ldo) {
  std::int64_t j = 0;
  for (; j + K <= values.count; j += K)
    add_patch<Arch, Q, K>(weights, ldw, values, j, std::min(j + kValuesAhead, values.count - K), columns, out, ldo);
  for (; j < values.count; ++j) add_patch<Arch, Q, 1>(weights, ldw, values, j, j, columns, out, ldo);
}

template <class Arch, class T>
void sum_stored_rows(const float* weights, std::ptrdiff_t ldw, std::int64_t rows, StoredRows<T> values,
                     std::int64_t columns, float* out, std::ptrdiff_t ldo) {
  static constexpr decltype(&add_values<Arch, 1, 4, T>) forms[] = {
      add_values<Arch, 1, 4, T>, add_values<Arch, 2, 4, T>, add_values<Arch, 3, 2, T>, add_values<Arch, 4, 2, T>};
  values.touch_first(columns);
  for (std::int64_t r = 0; r < rows; r += kMostRows) {
    const std::int64_t count = std::min(kMostRows, rows - r);
    forms[count - 1](weights + r * ldw, ldw, values, columns, out + r * ldo, ldo);
  }
  constexpr std::int64_t lanes = Floats<Arch>::size;
  for (std::int64_t d = columns / lanes * lanes; d < columns; ++d)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < values.count; ++j) out[r * ldo + d] += weights[r * ldw + j] * values.element(j, d);
}

template <class Arch>
void weighted_sum(const float* weights, std::ptrdiff_t ldw, std::int64_t rows, const RowRun& values,
                  std::int64_t columns, float* out, std::ptrdiff_t ldo) {
  as_stored(values, [&](auto stored) { sum_stored_rows<Arch>(weights, ldw, rows, stored, columns, out, ldo); });
}

}  // namespace
}  // namespace headwise::kernels
