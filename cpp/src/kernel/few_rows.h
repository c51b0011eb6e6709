#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernel/arch.h"
#include "kernel/row_pointers.h"
#include "kernel/row_run.h"
#include "kernel/stored_rows.h"

namespace headwise::kernels {
namespace {

// Products of a few query rows with keys and values that are read where they lie. A *patch* is Q query rows by K key or
// value rows whose products stay in registers.

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
      touch(next + Count * lanes);
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

/// Q x K dot products of whole vectors. The partial sums in a vector's lanes are added at the end. Touches K rows from
/// row `ahead` on.
template <class Arch, int Q, int K, class T>
void dot_patch(const float* query, std::ptrdiff_t ldq, StoredRows<T> keys, std::int64_t key, std::int64_t ahead,
               std::ptrdiff_t depth, float* scores, std::ptrdiff_t lds) {
  using V = Floats<Arch>;
  constexpr int count = (Q * K + 3) / 4 * 4;
  V sum[count];
  for (V& each : sum) each = V(0.0f);
  RowPointers<const float, Q> q(query, ldq);
  RowPointers<const T, K> k(keys.row(key), keys.ld);
  for_each_vector<K, static_cast<std::ptrdiff_t>(V::size)>(
      depth, keys.row(ahead), keys.ld,
      [&](auto vectors) {
        V column[K][vectors()];
        for (int j = 0; j < K; ++j) load_widened<Arch>(k.at[j], column[j]);
        for (int v = 0; v < vectors(); ++v) {
          for (int r = 0; r < Q; ++r) {
            const V x = V::load_unaligned(q.at[r] + v * V::size);
            for (int j = 0; j < K; ++j) sum[r * K + j] = multiply_add<Arch>(x, column[j][v], sum[r * K + j]);
          }
        }
      },
      [&](std::ptrdiff_t step) { q.advance(step), k.advance(step); });
  float total[count];
  for (int i = 0; i < count; i += 4) sum_lanes<Arch>(sum + i, total + i);
  for (int r = 0; r < Q; ++r)
    for (int j = 0; j < K; ++j) scores[r * lds + key + j] = total[r * K + j];
}

template <class Arch, int Q, int K, class T>
void dot_patches(const float* query, std::ptrdiff_t ldq, StoredRows<T> keys, std::ptrdiff_t depth, float* scores,
                 std::ptrdiff_t lds) {
  std::int64_t j = 0;
  for (; j + K <= keys.count; j += K)
    dot_patch<Arch, Q, K>(query, ldq, keys, j, std::min(j + kRowsAhead, keys.count - K), depth, scores, lds);
  for (; j < keys.count; ++j) dot_patch<Arch, Q, 1>(query, ldq, keys, j, j, depth, scores, lds);
}

/// Adds the columns after the last whole vector, and applies the scales.
template <class Arch, class T>
void dot_rest(const float* query, std::ptrdiff_t ldq, std::int64_t rows, StoredRows<T> keys, std::int64_t depth,
              float* scores, std::ptrdiff_t lds) {
  constexpr std::int64_t lanes = Floats<Arch>::size;
  if (depth % lanes == 0 && !keys.kScaled) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < keys.count; ++j) {
      float score = scores[r * lds + j];
      for (std::int64_t d = depth / lanes * lanes; d < depth; ++d)
        score += query[r * ldq + d] * widened(keys.row(j)[d]);
      scores[r * lds + j] = score * keys.scale(j);
    }
  }
}

template <class Arch, class T>
void dot_stored_rows(const float* query, std::ptrdiff_t ldq, std::int64_t rows, StoredRows<T> keys, std::int64_t depth,
                     float* scores, std::ptrdiff_t lds) {
  // Called through pointers: V8 allocates registers better in small functions than in one large function.
  static constexpr decltype(&dot_patches<Arch, 1, 4, T>) patches[] = {dot_patches<Arch, 1, 4, T>,
                                                                      dot_patches<Arch, 4, 2, T>};
  keys.touch_first(depth);
  for (std::int64_t r = 0; r < rows;) {
    const bool four = r + 4 <= rows;
    patches[four](query + r * ldq, ldq, keys, depth, scores + r * lds, lds);
    r += four ? 4 : 1;
  }
  dot_rest<Arch>(query, ldq, rows, keys, depth, scores, lds);
}

template <class Arch>
void dot_rows(const float* query, std::ptrdiff_t ldq, std::int64_t rows, const RowRun& keys, std::int64_t depth,
              float* scores, std::ptrdiff_t lds) {
  as_stored(keys, [&](auto stored) { dot_stored_rows<Arch>(query, ldq, rows, stored, depth, scores, lds); });
}

/// Adds K weighted rows to Q rows of `out`, in whole vectors. Every element is summed in ascending order of keys.
/// Touches K rows from row `ahead` on.
template <class Arch, int Q, int K, class T>
void weighted_patch(const float* weights, std::ptrdiff_t ldw, StoredRows<T> values, std::int64_t key,
                    std::int64_t ahead, std::ptrdiff_t columns, float* out, std::ptrdiff_t ldo) {
  using V = Floats<Arch>;
  V weight[Q][K], scale[K];
  for (int j = 0; j < K; ++j) scale[j] = V(values.scale(key + j));
  for (int r = 0; r < Q; ++r)
    for (int j = 0; j < K; ++j) weight[r][j] = V(weights[r * ldw + key + j]);
  RowPointers<const T, K> v(values.row(key), values.ld);
  RowPointers<float, Q> o(out, ldo);
  for_each_vector<K, static_cast<std::ptrdiff_t>(V::size)>(
      columns, values.row(ahead), values.ld,
      [&](auto vectors) {
        V row[K][vectors()];
        for (int j = 0; j < K; ++j) values.template load<Arch>(v.at[j], scale[j], row[j]);
        for (int i = 0; i < vectors(); ++i) {
          for (int r = 0; r < Q; ++r) {
            V sum = V::load_unaligned(o.at[r] + i * V::size);
            for (int j = 0; j < K; ++j) sum = multiply_add<Arch>(weight[r][j], row[j][i], sum);
            sum.store_unaligned(o.at[r] + i * V::size);
          }
        }
      },
      [&](std::ptrdiff_t step) { v.advance(step), o.advance(step); });
}

template <class Arch, int Q, int K, class T>
void weighted_patches(const float* weights, std::ptrdiff_t ldw, StoredRows<T> values, std::ptrdiff_t columns,
                      float* out, std::ptrdiff_t ldo) {
  std::int64_t j = 0;
  for (; j + K <= values.count; j += K)
    weighted_patch<Arch, Q, K>(weights, ldw, values, j, std::min(j + kRowsAhead, values.count - K), columns, out, ldo);
  for (; j < values.count; ++j) weighted_patch<Arch, Q, 1>(weights, ldw, values, j, j, columns, out, ldo);
}

template <class Arch, class T>
void sum_stored_rows(const float* weights, std::ptrdiff_t ldw, std::int64_t rows, StoredRows<T> values,
                     std::int64_t columns, float* out, std::ptrdiff_t ldo) {
  static constexpr decltype(&weighted_patches<Arch, 1, 4, T>) patches[] = {weighted_patches<Arch, 1, 4, T>,
                                                                           weighted_patches<Arch, 4, 2, T>};
  values.touch_first(columns);
  for (std::int64_t r = 0; r < rows;) {
    const bool four = r + 4 <= rows;
    patches[four](weights + r * ldw, ldw, values, columns, out + r * ldo, ldo);
    r += four ? 4 : 1;
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
