#pragma once

// The kernels, written once over xsimd's architecture type. Each instruction set has a file of two lines that
// instantiates `make_kernel_table`. Not to be included from anywhere else.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "half.h"
#include "kernel/exponential.h"
#include "kernel/kernel_table.h"

// Unnamed inside: the files are compiled for different machines, so the linker must not let them share a function.
namespace headwise::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Vectors in a panel. Two vectors by four rows keep 8 accumulators, 2 columns and 1 broadcast in 16 registers.
constexpr int kPanelVectors = 2;
constexpr int kRowBlock = 4;

// ---- matrix products ------------------------------------------------------------------------------------------------

template <class Arch>
void multiply(const float* a, std::ptrdiff_t lda, const float* b_panels, std::ptrdiff_t panel_stride,
              std::int64_t depth, std::int64_t panels, float* c, std::ptrdiff_t ldc, std::int64_t rows,
              bool accumulate) {
  using V = Floats<Arch>;
  constexpr int width = kPanelVectors * static_cast<int>(V::size);
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const float* b_panel = b_panels + panel * panel_stride;
    for (std::int64_t row = 0; row < rows; row += kRowBlock) {
      const float* a_row = a + row * lda;
      float* c_row = c + row * ldc + panel * width;
      V sum[kRowBlock][kPanelVectors];
      for (int r = 0; r < kRowBlock; ++r)
        for (int v = 0; v < kPanelVectors; ++v)
          sum[r][v] = accumulate ? V::load_unaligned(c_row + r * ldc + v * V::size) : V(0.0f);
      const float* b = b_panel;
      for (std::int64_t k = 0; k < depth; ++k, b += width) {
        V column[kPanelVectors];
        for (int v = 0; v < kPanelVectors; ++v) column[v] = V::load_aligned(b + v * V::size);
        for (int r = 0; r < kRowBlock; ++r) {
          const V broadcast(a_row[r * lda + k]);
          for (int v = 0; v < kPanelVectors; ++v) sum[r][v] = multiply_add<Arch>(broadcast, column[v], sum[r][v]);
        }
      }
      for (int r = 0; r < kRowBlock; ++r)
        for (int v = 0; v < kPanelVectors; ++v) sum[r][v].store_unaligned(c_row + r * ldc + v * V::size);
    }
  }
}

/// Rows x 4 keys of dot products straight from rows; the partial sums of a vector's lanes meet at the end.
template <class Arch, int Rows, int Keys>
void dot_block(const float* query, std::ptrdiff_t ldq, const float* keys, std::ptrdiff_t ldk, std::int64_t depth,
               float* scores, std::ptrdiff_t lds) {
  using V = Floats<Arch>;
  V sum[Rows][Keys];
  for (int r = 0; r < Rows; ++r)
    for (int j = 0; j < Keys; ++j) sum[r][j] = V(0.0f);
  std::int64_t d = 0;
  for (; d + static_cast<std::int64_t>(V::size) <= depth; d += V::size) {
    V q[Rows];
    for (int r = 0; r < Rows; ++r) q[r] = V::load_unaligned(query + r * ldq + d);
    for (int j = 0; j < Keys; ++j) {
      const V k = V::load_unaligned(keys + j * ldk + d);
      for (int r = 0; r < Rows; ++r) sum[r][j] = multiply_add<Arch>(q[r], k, sum[r][j]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int j = 0; j < Keys; ++j) {
      float total = xsimd::reduce_add(sum[r][j]);
      for (std::int64_t t = d; t < depth; ++t) total += query[r * ldq + t] * keys[j * ldk + t];
      scores[r * lds + j] = total;
    }
  }
}

/// Rows read straight from memory are taken in chunks: fetched in order, then near for all that is done with them.
constexpr std::int64_t kChunkRows = 16;

/// Reads a word of every cache line of some rows, in order. Processors prefetch such a stream, but not the interleaved
/// ones of the loops that follow; WebAssembly has no prefetch instruction.
inline void fetch(const float* rows, std::ptrdiff_t ld, std::int64_t count, std::int64_t columns) {
  constexpr std::int64_t kLine = 64 / sizeof(float);
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t c = 0; c < columns; c += kLine) {
      std::uint32_t word;
      std::memcpy(&word, rows + r * ld + c, sizeof word);
      asm volatile("" : : "r"(word));  // or the compiler drops the load
    }
  }
}

/// All query rows against a few keys.
template <class Arch, int Keys>
void dot_keys(const float* query, std::ptrdiff_t ldq, std::int64_t rows, const float* keys, std::ptrdiff_t ldk,
              std::int64_t depth, float* scores, std::ptrdiff_t lds) {
  std::int64_t r = 0;
  for (; r + 2 <= rows; r += 2)
    dot_block<Arch, 2, Keys>(query + r * ldq, ldq, keys, ldk, depth, scores + r * lds, lds);
  for (; r < rows; ++r) dot_block<Arch, 1, Keys>(query + r * ldq, ldq, keys, ldk, depth, scores + r * lds, lds);
}

template <class Arch>
void dot_rows(const float* query, std::ptrdiff_t ldq, std::int64_t rows, const float* keys, std::ptrdiff_t ldk,
              std::int64_t num_keys, std::int64_t depth, float* scores, std::ptrdiff_t lds) {
  for (std::int64_t first = 0; first < num_keys; first += kChunkRows) {
    const std::int64_t end = std::min(first + kChunkRows, num_keys);
    fetch(keys + first * ldk, ldk, end - first, depth);
    std::int64_t j = first;
    for (; j + 4 <= end; j += 4) dot_keys<Arch, 4>(query, ldq, rows, keys + j * ldk, ldk, depth, scores + j, lds);
    for (; j < end; ++j) dot_keys<Arch, 1>(query, ldq, rows, keys + j * ldk, ldk, depth, scores + j, lds);
  }
}

/// Rows x Vectors vectors of columns of the weighted sum; every element adds its keys in ascending order.
template <class Arch, int Rows, int Vectors>
void weighted_block(const float* weights, std::ptrdiff_t ldw, const float* values, std::ptrdiff_t ldv,
                    std::int64_t num_keys, float* out, std::ptrdiff_t ldo) {
  using V = Floats<Arch>;
  V sum[Rows][Vectors];
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) sum[r][v] = V::load_unaligned(out + r * ldo + v * V::size);
  for (std::int64_t j = 0; j < num_keys; ++j) {
    V column[Vectors];
    for (int v = 0; v < Vectors; ++v) column[v] = V::load_unaligned(values + j * ldv + v * V::size);
    for (int r = 0; r < Rows; ++r) {
      const V weight(weights[r * ldw + j]);
      for (int v = 0; v < Vectors; ++v) sum[r][v] = multiply_add<Arch>(weight, column[v], sum[r][v]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) sum[r][v].store_unaligned(out + r * ldo + v * V::size);
}

template <class Arch, int Rows, int Vectors>
void weighted_rows(const float* weights, std::ptrdiff_t ldw, const float* values, std::ptrdiff_t ldv,
                   std::int64_t num_keys, std::int64_t columns, float* out, std::ptrdiff_t ldo) {
  constexpr std::int64_t lanes = Floats<Arch>::size;
  std::int64_t d = 0;
  for (; d + Vectors * lanes <= columns; d += Vectors * lanes)
    weighted_block<Arch, Rows, Vectors>(weights, ldw, values + d, ldv, num_keys, out + d, ldo);
  for (; d + lanes <= columns; d += lanes)
    weighted_block<Arch, Rows, 1>(weights, ldw, values + d, ldv, num_keys, out + d, ldo);
  for (; d < columns; ++d)
    for (int r = 0; r < Rows; ++r)
      for (std::int64_t j = 0; j < num_keys; ++j) out[r * ldo + d] += weights[r * ldw + j] * values[j * ldv + d];
}

template <class Arch>
void weighted_sum(const float* weights, std::ptrdiff_t ldw, std::int64_t rows, const float* values, std::ptrdiff_t ldv,
                  std::int64_t num_keys, std::int64_t columns, float* out, std::ptrdiff_t ldo) {
  for (std::int64_t j = 0; j < num_keys; j += kChunkRows) {
    const std::int64_t count = std::min(kChunkRows, num_keys - j);
    const float* chunk = values + j * ldv;
    fetch(chunk, ldv, count, columns);
    std::int64_t r = 0;
    for (; r + 4 <= rows; r += 4)
      weighted_rows<Arch, 4, 2>(weights + r * ldw + j, ldw, chunk, ldv, count, columns, out + r * ldo, ldo);
    for (; r < rows; ++r)
      weighted_rows<Arch, 1, 8>(weights + r * ldw + j, ldw, chunk, ldv, count, columns, out + r * ldo, ldo);
  }
}

// ---- packing --------------------------------------------------------------------------------------------------------

/// One element of a run as float32.
inline float element(const RowRun& run, std::int64_t row, std::int64_t column) {
  const std::ptrdiff_t at = row * run.row_stride + column * run.column_stride;
  switch (run.dtype) {
    case Dtype::float16: return half_to_float(static_cast<const std::uint16_t*>(run.data)[at]);
    case Dtype::int8:
      return static_cast<float>(static_cast<const std::int8_t*>(run.data)[at]) * run.scales[row * run.scale_stride];
    case Dtype::float32: break;
  }
  return static_cast<const float*>(run.data)[at];
}

inline bool has_float_rows(const RowRun& run) { return run.dtype == Dtype::float32 && run.column_stride == 1; }

template <class Arch>
void widen(const RowRun& run, std::int64_t columns, float* rows, std::ptrdiff_t ld) {
  if (run.column_stride != 1) {
    for (std::int64_t c = 0; c < columns; ++c)  // columns outside: in the column form rows are neighbours
      for (std::int64_t r = 0; r < run.count; ++r) rows[r * ld + c] = element(run, r, c);
    return;
  }
  for (std::int64_t r = 0; r < run.count; ++r) {
    float* out = rows + r * ld;
    if (run.dtype == Dtype::float32) {
      std::memcpy(out, static_cast<const float*>(run.data) + r * run.row_stride, columns * sizeof(float));
    } else if (run.dtype == Dtype::float16) {
      const auto* in = static_cast<const std::uint16_t*>(run.data) + r * run.row_stride;
      for (std::int64_t c = 0; c < columns; ++c) out[c] = half_to_float(in[c]);
    } else {
      const auto* in = static_cast<const std::int8_t*>(run.data) + r * run.row_stride;
      const float scale = run.scales[r * run.scale_stride];
      for (std::int64_t c = 0; c < columns; ++c) out[c] = static_cast<float>(in[c]) * scale;
    }
  }
}

/// Where element (depth k, column c) of panels of depth `depth` lies.
inline std::int64_t panel_index(std::int64_t depth, std::int64_t k, std::int64_t c, int width) {
  return (c / width) * depth * width + k * width + c % width;
}

template <class Arch>
void pack_transposed(const RowRun& run, std::int64_t columns, std::int64_t first, float* panels) {
  using V = Floats<Arch>;
  constexpr int lanes = V::size;
  constexpr int width = kPanelVectors * lanes;
  const auto* data = static_cast<const float*>(run.data);
  std::int64_t r = 0;
  if (has_float_rows(run) && first % lanes == 0) {
    for (; r + lanes <= run.count; r += lanes) {  // square blocks of lanes x lanes turned in registers
      const float* in = data + r * run.row_stride;
      float* out = panels + panel_index(columns, 0, first + r, width);
      std::int64_t d = 0;
      for (; d + lanes <= columns; d += lanes) {
        V block[lanes];
        for (int i = 0; i < lanes; ++i) block[i] = V::load_unaligned(in + i * run.row_stride + d);
        xsimd::transpose(block, block + lanes);
        for (int i = 0; i < lanes; ++i) block[i].store_aligned(out + (d + i) * width);
      }
      for (; d < columns; ++d)
        for (int i = 0; i < lanes; ++i) out[d * width + i] = in[i * run.row_stride + d];
    }
  }
  for (; r < run.count; ++r) {
    float* out = panels + panel_index(columns, 0, first + r, width);
    for (std::int64_t d = 0; d < columns; ++d) out[d * width] = element(run, r, d);
  }
}

template <class Arch>
void pack(const RowRun& run, std::int64_t columns, std::int64_t first, std::int64_t depth, float* panels) {
  using V = Floats<Arch>;
  constexpr int width = kPanelVectors * static_cast<int>(V::size);
  const auto* data = static_cast<const float*>(run.data);
  for (std::int64_t c = 0; c < columns; c += width) {
    float* out = panels + panel_index(depth, first, c, width);
    const bool whole = has_float_rows(run) && c + width <= columns;
    for (std::int64_t r = 0; r < run.count; ++r, out += width) {
      if (whole) {
        for (int v = 0; v < kPanelVectors; ++v)
          V::load_unaligned(data + r * run.row_stride + c + v * V::size).store_aligned(out + v * V::size);
      } else {
        for (int i = 0; i < width; ++i) out[i] = c + i < columns ? element(run, r, c + i) : 0.0f;
      }
    }
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

/// Maximum of a row, and whether it is poisoned: NaN or +inf inside. Finite scores whose sum overflows to both
/// infinities would also look so, hence the second, exact look.
template <class Arch>
float row_maximum(const float* scores, std::int64_t count, bool* poisoned) {
  using V = Floats<Arch>;
  V highest(-kInfinity), total(0.0f);
  for (std::int64_t j = 0; j < count; j += V::size) {
    const V s = V::load_unaligned(scores + j);
    highest = xsimd::max(highest, s);
    total += s;  // NaN survives addition; a vector maximum may drop it
  }
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
  V total(0.0f);
  for (std::int64_t j = 0; j < count; j += V::size) {
    const V weight = exponential<Arch>(V::load_unaligned(scores + j) - shift);
    weight.store_unaligned(scores + j);
    total += weight;
  }
  const float factor = *maximum == raised ? 1.0f : std::exp(*maximum - raised);
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
  for (std::int64_t j = 0; j < count; j += V::size)
    (exponential<Arch>(V::load_unaligned(values + j) - shift) * scale).store_unaligned(values + j);
}

template <class Arch>
void softcap(float* scores, std::int64_t count, float cap) {
  using V = Floats<Arch>;
  const V factor(cap);
  for (std::int64_t j = 0; j < count; j += V::size)
    (factor * hyperbolic_tangent<Arch>(V::load_unaligned(scores + j) / factor)).store_unaligned(scores + j);
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
          kPanelVectors * static_cast<int>(Floats<Arch>::size),
          kRowBlock,
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
