#pragma once

// The kernels, written once over xsimd's architecture type. Each instruction set has a file of two lines that
// instantiates `make_kernel_table`. Not to be included from anywhere else.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "kernel/exponential.h"
#include "kernel/kernel_table.h"

// Unnamed inside: the files are compiled for different machines, so the linker must not let them share a function.
namespace headwise::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Vectors in a panel, and rows that are multiplied with it at a time: 8 accumulators, 4 columns and 2 broadcasts, or 2
/// and 4, fit 16 registers even where a compiler loads all of a step's operands before it multiplies, as V8 does. Four
/// short vectors are faster than two; four long ones would pad too much.
template <class Arch>
constexpr int kPanelVectors = Floats<Arch>::size == 4 ? 4 : 2;
template <class Arch>
constexpr int kRowBlock = 8 / kPanelVectors<Arch>;
template <class Arch>
constexpr int kPanelWidth = kPanelVectors<Arch>* static_cast<int>(Floats<Arch>::size);

// ---- matrix products ------------------------------------------------------------------------------------------------

/// Where Count rows of a matrix are read, all advanced together: a pointer each, since V8 computes `row * stride` anew
/// in every step.
template <class T, int Count>
struct Rows {
  T* at[Count];
  Rows(T* first, std::ptrdiff_t ld) {
    for (int i = 0; i < Count; ++i) at[i] = first + i * ld;
  }
  void advance(std::ptrdiff_t step) {
    for (T*& each : at) each += step;
  }
};

template <class Arch>
void multiply(const float* a, std::ptrdiff_t lda, const float* b_panels, std::ptrdiff_t panel_stride,
              std::int64_t depth, std::int64_t panels, float* c, std::ptrdiff_t ldc, std::int64_t rows,
              bool accumulate) {
  using V = Floats<Arch>;
  constexpr int width = kPanelWidth<Arch>;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const float* b_panel = b_panels + panel * panel_stride;
    const float* b_end = b_panel + depth * width;
    for (std::int64_t row = 0; row < rows; row += kRowBlock<Arch>) {
      const float* a_row = a + row * lda;
      float* c_row = c + row * ldc + panel * width;
      V sum[kRowBlock<Arch>][kPanelVectors<Arch>];
      for (int r = 0; r < kRowBlock<Arch>; ++r)
        for (int v = 0; v < kPanelVectors<Arch>; ++v)
          sum[r][v] = accumulate ? V::load_unaligned(c_row + r * ldc + v * V::size) : V(0.0f);
      Rows<const float, kRowBlock<Arch>> left(a_row, lda);
      for (const float* b = b_panel; b != b_end; b += width, left.advance(1)) {
        V column[kPanelVectors<Arch>];
        for (int v = 0; v < kPanelVectors<Arch>; ++v) column[v] = V::load_aligned(b + v * V::size);
        for (int r = 0; r < kRowBlock<Arch>; ++r) {
          const V broadcast(*left.at[r]);
          for (int v = 0; v < kPanelVectors<Arch>; ++v) sum[r][v] = multiply_add<Arch>(broadcast, column[v], sum[r][v]);
        }
      }
      for (int r = 0; r < kRowBlock<Arch>; ++r)
        for (int v = 0; v < kPanelVectors<Arch>; ++v) sum[r][v].store_unaligned(c_row + r * ldc + v * V::size);
    }
  }
}

// ---- few query rows against rows where they lie ---------------------------------------------------------------------

/// An element as float32, for int8 before its scale.
inline float widened(float x) { return x; }
inline float widened(std::uint16_t half) { return half_to_float(half); }
inline float widened(std::int8_t byte) { return byte; }

/// Count vectors of them.
template <class Arch, int Count>
void load_widened(const float* x, Floats<Arch> (&vectors)[Count]) {
  for (int v = 0; v < Count; ++v) vectors[v] = Floats<Arch>::load_unaligned(x + v * Floats<Arch>::size);
}
template <class Arch, int Count>
void load_widened(const std::uint16_t* x, Floats<Arch> (&vectors)[Count]) {
  load_halves<Arch>(x, vectors);
  for (Floats<Arch>& each : vectors) each = each * Floats<Arch>(0x1p112f);
}
template <class Arch, int Count>
void load_widened(const std::int8_t* x, Floats<Arch> (&vectors)[Count]) {
  Integers<Arch> integers[Count];
  load_bytes<Arch>(x, integers);
  for (int v = 0; v < Count; ++v) vectors[v] = xsimd::to_float(integers[v]);
}

/// Reads a byte, so that the cache fetches its line: WebAssembly has no prefetch instruction. Nothing is moved across.
inline void touch(const void* address) {
  std::uint8_t byte;
  std::memcpy(&byte, address, sizeof byte);
  asm volatile("" : : "r"(byte) : "memory");  // or the compiler drops the load
}

/// How many rows before their use rows are touched. Processors prefetch the stream of touches, which come in order and
/// evenly, but not the interleaved ones of a block; a burst of touches between blocks would have to be waited for.
constexpr std::int64_t kRowsAhead = 4;

/// Rows of keys or values as they lie: row j at data + j * ld, for int8 times scales[j * scale_step].
template <class T>
struct StoredRows {
  static constexpr bool kScaled = std::is_same_v<T, std::int8_t>;
  const T* data;
  std::ptrdiff_t ld;
  const float* scales;
  std::ptrdiff_t scale_step;
  std::int64_t count;

  explicit StoredRows(const RowRun& run)
      : data(static_cast<const T*>(run.data)),
        ld(run.row_stride),
        scales(run.scales),
        scale_step(run.scale_stride),
        count(run.count) {}
  [[nodiscard]] const T* row(std::int64_t j) const { return data + j * ld; }
  [[nodiscard]] float scale(std::int64_t j) const { return kScaled ? scales[j * scale_step] : 1.0f; }
  [[nodiscard]] float element(std::int64_t j, std::int64_t column) const { return widened(row(j)[column]) * scale(j); }

  /// Count vectors of a row as float32; `scale` is that of the row.
  template <class Arch, int Count>
  static void load(const T* x, Floats<Arch> scale, Floats<Arch> (&vectors)[Count]) {
    load_widened<Arch>(x, vectors);
    if constexpr (kScaled)
      for (Floats<Arch>& each : vectors) each = each * scale;
  }

  /// Touches the first rows, which no block was ahead of.
  void touch_first(std::ptrdiff_t columns) const {
    constexpr std::ptrdiff_t kLine = 64 / sizeof(T);
    for (std::int64_t j = 0; j < std::min(kRowsAhead, count); ++j)
      for (std::ptrdiff_t c = 0; c < columns; c += kLine) touch(row(j) + c);
  }
};

/// Calls visit(rows) with rows of the type that they are stored as, their columns side by side.
template <class Visit>
void as_stored(const RowRun& run, Visit visit) {
  switch (run.dtype) {
    case Dtype::float32:
      return visit(StoredRows<float>(run));
    case Dtype::float16:
      return visit(StoredRows<std::uint16_t>(run));
    case Dtype::int8:
      return visit(StoredRows<std::int8_t>(run));
  }
}

/// Calls step(vectors) for every whole vector of `columns`, two at a time while there are, and advance(2 * lanes) after
/// each two. Meanwhile touches Count rows from `ahead` on, never past their ends.
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

/// Q x K dot products of whole vectors; the partial sums of a vector's lanes meet at the end. Touches K rows from
/// row `ahead` on.
template <class Arch, int Q, int K, class T>
void dot_block(const float* query, std::ptrdiff_t ldq, StoredRows<T> keys, std::int64_t key, std::int64_t ahead,
               std::ptrdiff_t depth, float* scores, std::ptrdiff_t lds) {
  using V = Floats<Arch>;
  constexpr int count = (Q * K + 3) / 4 * 4;
  V sum[count];
  for (V& each : sum) each = V(0.0f);
  Rows<const float, Q> q(query, ldq);
  Rows<const T, K> k(keys.row(key), keys.ld);
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
void dot_blocks(const float* query, std::ptrdiff_t ldq, StoredRows<T> keys, std::ptrdiff_t depth, float* scores,
                std::ptrdiff_t lds) {
  std::int64_t j = 0;
  for (; j + K <= keys.count; j += K)
    dot_block<Arch, Q, K>(query, ldq, keys, j, std::min(j + kRowsAhead, keys.count - K), depth, scores, lds);
  for (; j < keys.count; ++j) dot_block<Arch, Q, 1>(query, ldq, keys, j, j, depth, scores, lds);
}

/// What whole vectors leave over, and the scales.
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
  // called through pointers: V8 keeps the registers of small functions better than those of one large one
  static constexpr decltype(&dot_blocks<Arch, 1, 4, T>) blocks[] = {dot_blocks<Arch, 1, 4, T>,
                                                                    dot_blocks<Arch, 4, 2, T>};
  keys.touch_first(depth);
  for (std::int64_t r = 0; r < rows;) {
    const bool four = r + 4 <= rows;
    blocks[four](query + r * ldq, ldq, keys, depth, scores + r * lds, lds);
    r += four ? 4 : 1;
  }
  dot_rest<Arch>(query, ldq, rows, keys, depth, scores, lds);
}

template <class Arch>
void dot_rows(const float* query, std::ptrdiff_t ldq, std::int64_t rows, const RowRun& keys, std::int64_t depth,
              float* scores, std::ptrdiff_t lds) {
  as_stored(keys, [&](auto stored) { dot_stored_rows<Arch>(query, ldq, rows, stored, depth, scores, lds); });
}

/// Adds K weighted rows to Q rows of `out`, whole vectors, every element in ascending order of keys. Touches K rows
/// from row `ahead` on.
template <class Arch, int Q, int K, class T>
void weighted_block(const float* weights, std::ptrdiff_t ldw, StoredRows<T> values, std::int64_t key,
                    std::int64_t ahead, std::ptrdiff_t columns, float* out, std::ptrdiff_t ldo) {
  using V = Floats<Arch>;
  V weight[Q][K], scale[K];
  for (int j = 0; j < K; ++j) scale[j] = V(values.scale(key + j));
  for (int r = 0; r < Q; ++r)
    for (int j = 0; j < K; ++j) weight[r][j] = V(weights[r * ldw + key + j]);
  Rows<const T, K> v(values.row(key), values.ld);
  Rows<float, Q> o(out, ldo);
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
void weighted_blocks(const float* weights, std::ptrdiff_t ldw, StoredRows<T> values, std::ptrdiff_t columns, float* out,
                     std::ptrdiff_t ldo) {
  std::int64_t j = 0;
  for (; j + K <= values.count; j += K)
    weighted_block<Arch, Q, K>(weights, ldw, values, j, std::min(j + kRowsAhead, values.count - K), columns, out, ldo);
  for (; j < values.count; ++j) weighted_block<Arch, Q, 1>(weights, ldw, values, j, j, columns, out, ldo);
}

template <class Arch, class T>
void sum_stored_rows(const float* weights, std::ptrdiff_t ldw, std::int64_t rows, StoredRows<T> values,
                     std::int64_t columns, float* out, std::ptrdiff_t ldo) {
  static constexpr decltype(&weighted_blocks<Arch, 1, 4, T>) blocks[] = {weighted_blocks<Arch, 1, 4, T>,
                                                                         weighted_blocks<Arch, 4, 2, T>};
  values.touch_first(columns);
  for (std::int64_t r = 0; r < rows;) {
    const bool four = r + 4 <= rows;
    blocks[four](weights + r * ldw, ldw, values, columns, out + r * ldo, ldo);
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

// ---- packing --------------------------------------------------------------------------------------------------------

/// One element of a run as float32, wherever its columns lie.
inline float element(const RowRun& run, std::int64_t row, std::int64_t column) {
  const std::ptrdiff_t at = row * run.row_stride + column * run.column_stride;
  switch (run.dtype) {
    case Dtype::float16:
      return widened(static_cast<const std::uint16_t*>(run.data)[at]);
    case Dtype::int8:
      return widened(static_cast<const std::int8_t*>(run.data)[at]) * run.scales[row * run.scale_stride];
    case Dtype::float32:
      break;
  }
  return static_cast<const float*>(run.data)[at];
}

template <class Arch>
void widen(const RowRun& run, std::int64_t columns, float* rows, std::ptrdiff_t ld) {
  using V = Floats<Arch>;
  constexpr std::int64_t lanes = V::size;
  const std::int64_t whole = run.column_stride == 1 ? columns / lanes * lanes : 0;
  as_stored(run, [&](auto stored) {
    for (std::int64_t r = 0; r < run.count; ++r) {
      const V scale(stored.scale(r));
      for (std::int64_t c = 0; c < whole; c += lanes) {
        V vector[1];
        stored.template load<Arch>(stored.row(r) + c, scale, vector);
        vector[0].store_unaligned(rows + r * ld + c);
      }
    }
  });
  for (std::int64_t c = whole; c < columns; ++c)  // columns outside: in the column form rows are neighbours
    for (std::int64_t r = 0; r < run.count; ++r) rows[r * ld + c] = element(run, r, c);
}

/// Where element (depth k, column c) of panels of depth `depth` lies.
inline std::int64_t panel_index(std::int64_t depth, std::int64_t k, std::int64_t c, int width) {
  return (c / width) * depth * width + k * width + c % width;
}

/// Turns square blocks of lanes x lanes in registers: `count` rows of `columns` columns, multiples of lanes, to panels
/// of depth `depth`.
template <class Arch, class T>
void pack_turned(StoredRows<T> rows, std::int64_t count, std::int64_t columns, std::int64_t first, std::int64_t depth,
                 float* panels) {
  using V = Floats<Arch>;
  constexpr int lanes = V::size;
  constexpr int width = kPanelWidth<Arch>;
  for (std::int64_t r = 0; r < count; r += lanes) {
    float* out = panels + panel_index(depth, 0, first + r, width);
    V scale[lanes];
    for (int i = 0; i < lanes; ++i) scale[i] = V(rows.scale(r + i));
    for (std::int64_t d = 0; d < columns; d += lanes) {
      V block[lanes];
      for (int i = 0; i < lanes; ++i) {
        V row[1];
        rows.template load<Arch>(rows.row(r + i) + d, scale[i], row);
        block[i] = row[0];
      }
      xsimd::transpose(block, block + lanes);
      for (int i = 0; i < lanes; ++i) block[i].store_aligned(out + (d + i) * width);
    }
  }
}

template <class Arch>
void pack_transposed(const RowRun& run, std::int64_t columns, std::int64_t first, float* panels) {
  constexpr std::int64_t lanes = Floats<Arch>::size;
  constexpr int width = kPanelWidth<Arch>;
  const bool turns = run.column_stride == 1 && first % lanes == 0;
  const std::int64_t rows = turns ? run.count / lanes * lanes : 0, whole = columns / lanes * lanes;
  as_stored(run, [&](auto stored) { pack_turned<Arch>(stored, rows, whole, first, columns, panels); });
  for (std::int64_t r = 0; r < run.count; ++r) {
    float* out = panels + panel_index(columns, 0, first + r, width);
    for (std::int64_t d = r < rows ? whole : 0; d < columns; ++d) out[d * width] = element(run, r, d);
  }
}

/// Packs the panel that begins at column `c`, whole.
template <class Arch, class T>
void pack_panel(StoredRows<T> rows, std::int64_t c, float* out) {
  using V = Floats<Arch>;
  for (std::int64_t r = 0; r < rows.count; ++r, out += kPanelWidth<Arch>) {
    const T* row = rows.row(r) + c;
    const V scale(rows.scale(r));
    for (int v = 0; v < kPanelVectors<Arch>; v += 2) {
      V vectors[2];
      rows.template load<Arch>(row + v * V::size, scale, vectors);
      for (int i = 0; i < 2; ++i) vectors[i].store_aligned(out + (v + i) * V::size);
    }
  }
}

template <class Arch>
void pack(const RowRun& run, std::int64_t columns, std::int64_t first, std::int64_t depth, float* panels) {
  constexpr int width = kPanelWidth<Arch>;
  for (std::int64_t c = 0; c < columns; c += width) {
    float* out = panels + panel_index(depth, first, c, width);
    if (run.column_stride == 1 && c + width <= columns) {
      as_stored(run, [&](auto stored) { pack_panel<Arch>(stored, c, out); });
      continue;
    }
    for (std::int64_t r = 0; r < run.count; ++r, out += width)
      for (int i = 0; i < width; ++i) out[i] = c + i < columns ? element(run, r, c + i) : 0.0f;
  }
}

// ---- softmax --------------------------------------------------------------------------------------------------------

/// The rare row that holds a NaN or +inf among what it may see: it is NaN from now on, hidden keys stay 0.
inline float poisoned_step(float* scores, std::int64_t count, float* maximum, float* sum) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t j = 0; j < count; ++j) scores[j] = scores[j] == -kInfinity ? 0.0f : nan;
  *maximum = *sum = nan;
  return nan;
}

/// Calls visit(first, vectors) for all vectors of a row, some at a time and then one at a time: running sums and maxima
/// then wait for each other less often.
template <class Arch, int at_a_time, class Visit>
inline void for_each_vectors(std::int64_t count, Visit visit) {
  constexpr std::int64_t lanes = Floats<Arch>::size;
  std::int64_t j = 0;
  for (; j + at_a_time * lanes <= count; j += at_a_time * lanes) visit(j, std::integral_constant<int, at_a_time>());
  for (; j < count; j += lanes) visit(j, std::integral_constant<int, 1>());
}

template <class V, std::size_t count, class Combine>
inline V fold(V (&vectors)[count], Combine combine) {
  if constexpr (count == 4)
    return combine(combine(vectors[0], vectors[1]), combine(vectors[2], vectors[3]));
  else if constexpr (count == 2)
    return combine(vectors[0], vectors[1]);
  else
    return vectors[0];
}

/// Maximum of a row, and whether it is poisoned: NaN or +inf inside. Finite scores whose sum overflows to both
/// infinities would also look so, hence the second, exact look.
template <class Arch>
float row_maximum(const float* scores, std::int64_t count, bool* poisoned) {
  using V = Floats<Arch>;
  V highest(-kInfinity), total(0.0f);
  for_each_vectors<Arch, 4>(count, [&](std::int64_t j, auto vectors) {
    V s[vectors()];
    for (int v = 0; v < vectors(); ++v) s[v] = V::load_unaligned(scores + j + v * V::size);
    highest = xsimd::max(highest, fold(s, [](V x, V y) { return xsimd::max(x, y); }));
    total += fold(s, [](V x, V y) { return x + y; });  // NaN survives addition; a vector maximum may drop it
  });
  float maximum = xsimd::reduce_max(highest);
  const float sum = xsimd::reduce_add(total);
  *poisoned = false;
  if (sum != sum || maximum == kInfinity || maximum != maximum) {
    maximum = -kInfinity;
    for (std::int64_t j = 0; j < count; ++j) {
      *poisoned |= scores[j] != scores[j] || scores[j] == kInfinity;
      maximum = scores[j] > maximum ? scores[j] : maximum;
    }
  }
  return maximum;
}

template <class Arch>
float softmax_step(float* scores, std::int64_t count, float* maximum, float* sum) {
  using V = Floats<Arch>;
  bool poisoned;
  const float tile_maximum = row_maximum<Arch>(scores, count, &poisoned);
  if (poisoned || *maximum != *maximum) return poisoned_step(scores, count, maximum, sum);
  const float raised = tile_maximum > *maximum ? tile_maximum : *maximum;
  if (raised == -kInfinity) {  // exp(-inf - -inf) would be NaN: nothing visible yet, keep factor 1
    std::memset(scores, 0, count * sizeof(float));
    return 1.0f;
  }
  const V shift(raised);
  const Exponential<Arch> exponential;
  V total(0.0f);
  for_each_vectors<Arch, 2>(count, [&](std::int64_t j, auto vectors) {
    V weight[vectors()];
    for (int v = 0; v < vectors(); ++v) {
      weight[v] = exponential(V::load_unaligned(scores + j + v * V::size) - shift);
      weight[v].store_unaligned(scores + j + v * V::size);
    }
    total += fold(weight, [](V x, V y) { return x + y; });
  });
  // before the first key there is nothing to scale
  const float factor = *maximum == raised || *maximum == -kInfinity ? 1.0f : std::exp(*maximum - raised);
  *sum = *sum * factor + xsimd::reduce_add(total);
  *maximum = raised;
  return factor;
}

template <class Arch>
void exponentials(float* values, std::int64_t count, float maximum, float factor) {
  using V = Floats<Arch>;
  bool poisoned = maximum != maximum || factor != factor;
  if (!poisoned) row_maximum<Arch>(values, count, &poisoned);
  if (maximum == -kInfinity) {
    std::memset(values, 0, count * sizeof(float));
    return;
  }
  if (poisoned) {
    float ignored_maximum, ignored_sum;
    poisoned_step(values, count, &ignored_maximum, &ignored_sum);
    return;
  }
  const V shift(maximum), scale(factor);
  const Exponential<Arch> exponential;
  for (std::int64_t j = 0; j < count; j += V::size)
    (exponential(V::load_unaligned(values + j) - shift) * scale).store_unaligned(values + j);
}

template <class Arch>
void softcap(float* scores, std::int64_t count, float cap) {
  using V = Floats<Arch>;
  const V factor(cap);
  const HyperbolicTangent<Arch> hyperbolic_tangent;
  for (std::int64_t j = 0; j < count; j += V::size)
    (factor * hyperbolic_tangent(V::load_unaligned(scores + j) / factor)).store_unaligned(scores + j);
}

template <class Arch>
void scale(float* values, std::int64_t count, float factor) {
  using V = Floats<Arch>;
  std::int64_t j = 0;
  for (; j + static_cast<std::int64_t>(V::size) <= count; j += V::size)
    (V::load_unaligned(values + j) * V(factor)).store_unaligned(values + j);
  for (; j < count; ++j) values[j] *= factor;
}

template <class Arch>
constexpr KernelTable make_kernel_table(const char* name) {
  return {name,
          static_cast<int>(Floats<Arch>::size),
          kPanelWidth<Arch>,
          kRowBlock<Arch>,
          multiply<Arch>,
          pack_transposed<Arch>,
          pack<Arch>,
          widen<Arch>,
          dot_rows<Arch>,
          weighted_sum<Arch>,
          softmax_step<Arch>,
          exponentials<Arch>,
          softcap<Arch>,
          scale<Arch>};
}

}  // namespace
}  // namespace headwise::kernels
