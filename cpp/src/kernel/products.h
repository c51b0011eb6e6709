#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernel/arch.h"
#include "kernel/panels.h"
#include "kernel/stored_rows.h"

namespace headwise::kernels {
namespace {

/// One pointer into each of Count rows of a matrix. All advance together. V8 would compute `row * stride` anew in every
/// step.
template <class T, int Count>
struct RowPointers {
  T* at[Count];
  RowPointers(T* first, std::ptrdiff_t ld) {
    for (int i = 0; i < Count; ++i) at[i] = first + i * ld;
  }
  void advance(std::ptrdiff_t step) {
    for (T*& each : at) each += step;
  }
};

/// Rows x Vectors sums of a product C, which stay in registers while columns come by. The loops differ in where a
/// column comes from.
template <class Arch, int Rows, int Vectors>
struct Block {
  using V = Floats<Arch>;
  V sum[Rows][Vectors];

  /// Begins with C, or with 0 if not `accumulate`.
  Block(const float* c, std::ptrdiff_t ldc, bool accumulate = true) {
    for (int r = 0; r < Rows; ++r)
      for (int v = 0; v < Vectors; ++v) sum[r][v] = accumulate ? V::load_unaligned(c + r * ldc + v * V::size) : V(0.0f);
  }
  /// Adds left(r) * column to each row r.
  template <class Left>
  void add(const V (&column)[Vectors], Left left) {
    for (int r = 0; r < Rows; ++r) {
      const V broadcast(left(r));
      for (int v = 0; v < Vectors; ++v) sum[r][v] = multiply_add<Arch>(broadcast, column[v], sum[r][v]);
    }
  }
  /// The same for vector v alone.
  template <class Left>
  void add(int v, V column, Left left) {
    for (int r = 0; r < Rows; ++r) sum[r][v] = multiply_add<Arch>(V(left(r)), column, sum[r][v]);
  }
  void store(float* c, std::ptrdiff_t ldc) const {
    for (int r = 0; r < Rows; ++r)
      for (int v = 0; v < Vectors; ++v) sum[r][v].store_unaligned(c + r * ldc + v * V::size);
  }
};

/// C = A * B or C += A * B for Rows rows of A and Vectors vectors of a panel's columns. If kTransposed, `a` holds the
/// columns of A as rows.
template <class Arch, int Rows, int Vectors, bool kTransposed>
inline void multiply_block(const float* a, std::ptrdiff_t lda, const float* b, const float* b_end, float* c,
                           std::ptrdiff_t ldc, bool accumulate) {
  using V = Floats<Arch>;
  Block<Arch, Rows, Vectors> block(c, ldc, accumulate);
  RowPointers<const float, Rows> left(a, kTransposed ? 1 : lda);
  for (; b != b_end; b += kPanelWidth<Arch>, left.advance(kTransposed ? lda : 1)) {
    V column[Vectors];
    for (int v = 0; v < Vectors; ++v) column[v] = V::load_aligned(b + v * V::size);
    block.add(column, [&](int r) { return *left.at[r]; });
  }
  block.store(c, ldc);
}

/// In blocks of Rows x Vectors; the last rows in blocks of kRowStep rows and whole panels.
template <class Arch, int Rows, int Vectors, bool kTransposed>
void multiply(const float* a, std::ptrdiff_t lda, const float* b_panels, std::ptrdiff_t panel_stride,
              std::int64_t depth, std::int64_t panels, float* c, std::ptrdiff_t ldc, std::int64_t rows,
              bool accumulate) {
  constexpr int width = kPanelWidth<Arch>;
  const std::ptrdiff_t next_row = kTransposed ? 1 : lda;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const float* b = b_panels + panel * panel_stride;
    const float* b_end = b + depth * width;
    float* c_panel = c + panel * width;
    std::int64_t row = 0;
    for (; row + Rows <= rows; row += Rows) {
      for (int first = 0; first < width; first += Vectors * static_cast<int>(Floats<Arch>::size))
        multiply_block<Arch, Rows, Vectors, kTransposed>(a + row * next_row, lda, b + first, b_end + first,
                                                         c_panel + row * ldc + first, ldc, accumulate);
    }
    if constexpr (Rows != kRowStep<Arch>) {
      for (; row < rows; row += kRowStep<Arch>)
        multiply_block<Arch, kRowStep<Arch>, kPanelVectors<Arch>, kTransposed>(a + row * next_row, lda, b, b_end,
                                                                               c_panel + row * ldc, ldc, accumulate);
    }
  }
}

// Products with panels that come from memory, as weights do: of float32, float16 or bfloat16, which are widened in
// registers. A block is Rows rows by Panels panels.

/// What a block touches while it computes: the panel that comes next, `step` bytes for each row of its own panel.
struct ReadAhead {
  const char* next;
  std::ptrdiff_t step;
};

template <class Arch, int Rows, int Panels, bool kTouches, class T>
inline void streamed_block(const float* a, std::ptrdiff_t lda, const T* panel, std::ptrdiff_t panel_stride,
                           std::int64_t depth, float* c, std::ptrdiff_t ldc, ReadAhead ahead) {
  using V = Floats<Arch>;
  constexpr int vectors = kPanelVectors<Arch>;
  constexpr std::ptrdiff_t width = kPanelWidth<Arch>;
  Block<Arch, Rows, Panels * vectors> block(c, ldc);
  RowPointers<const float, Rows> left(a, lda);
  RowPointers<const T, Panels> b(panel, panel_stride);
  for (const T* end = panel + depth * width; b.at[0] != end; b.advance(width), left.advance(1)) {
    if constexpr (kTouches) {
      touch(ahead.next);
      ahead.next += ahead.step;
    }
    V column[Panels * vectors];
    for (int p = 0; p < Panels; ++p) {
      V of_panel[vectors];
      StoredRows<T>::template load_unscaled<Arch>(b.at[p], of_panel);
      std::copy_n(of_panel, vectors, column + p * vectors);
    }
    block.add(column, [&](int r) { return *left.at[r]; });
  }
  block.store(c, ldc);
}

/// `rows` is a multiple of kRowStep. All rows meet a panel before the next panel. Together they touch each line of the
/// next panel once, evenly: the processor does not begin to fetch a panel on its own before it has been read for a
/// while.
template <class Arch, class T>
void streamed_rows(const float* a, std::ptrdiff_t lda, const T* panels, std::ptrdiff_t panel_stride, std::int64_t depth,
                   std::int64_t count, const T* after, float* c, std::ptrdiff_t ldc, std::int64_t rows) {
  constexpr int step = kRowStep<Arch>, width = kPanelWidth<Arch>;
  const std::ptrdiff_t bytes = width * static_cast<std::ptrdiff_t>(sizeof(T)) * step / rows;
  for (std::int64_t p = 0; p < count; ++p) {
    const T* panel = panels + p * panel_stride;
    const char* next = reinterpret_cast<const char*>(p + 1 < count ? panel + panel_stride : after ? after : panel);
    for (std::int64_t r = 0; r < rows; r += step, next += bytes * depth)
      streamed_block<Arch, step, 1, true>(a + r * lda, lda, panel, panel_stride, depth, c + r * ldc + p * width, ldc,
                                          {next, bytes});
  }
}

/// A row reads panels of so many bytes two at a time. Processors fetch one stream faster than two, but begin anew with
/// each page, which two streams hide.
constexpr std::ptrdiff_t kLongPanel = std::ptrdiff_t{128} * 1024;

template <class Arch, class T>
void streamed_row(const float* a, const T* panels, std::ptrdiff_t panel_stride, std::int64_t depth, std::int64_t count,
                  float* c) {
  constexpr int width = kPanelWidth<Arch>;
  const bool is_long = panel_stride * static_cast<std::ptrdiff_t>(sizeof(T)) >= kLongPanel;
  std::int64_t p = 0;
  for (; is_long && p + 2 <= count; p += 2)
    streamed_block<Arch, 1, 2, false>(a, 0, panels + p * panel_stride, panel_stride, depth, c + p * width, 0, {});
  for (; p < count; ++p)
    streamed_block<Arch, 1, 1, false>(a, 0, panels + p * panel_stride, panel_stride, depth, c + p * width, 0, {});
}

/// A function for each type: V8 compiles whole functions, and most programs use one type.
template <class Arch, class T>
[[gnu::noinline]] void stream(const float* a, std::ptrdiff_t lda, const T* panels, std::ptrdiff_t panel_stride,
                              std::int64_t depth, std::int64_t count, const void* after, float* c, std::ptrdiff_t ldc,
                              std::int64_t rows) {
  const std::int64_t whole = rows / kRowStep<Arch> * kRowStep<Arch>;
  if (whole > 0)
    streamed_rows<Arch>(a, lda, panels, panel_stride, depth, count, static_cast<const T*>(after), c, ldc, whole);
  for (std::int64_t r = whole; r < rows; ++r)
    streamed_row<Arch>(a + r * lda, panels, panel_stride, depth, count, c + r * ldc);
}

template <class Arch>
void multiply_streamed(const float* a, std::ptrdiff_t lda, ConstArray panels, std::ptrdiff_t panel_stride,
                       std::int64_t depth, std::int64_t count, const void* after, float* c, std::ptrdiff_t ldc,
                       std::int64_t rows) {
  const auto with = [&]<class T>(const T* numbers) {
    stream<Arch>(a, lda, numbers, panel_stride, depth, count, after, c, ldc, rows);
  };
  if (panels.dtype == Dtype::float16) return with(static_cast<const std::uint16_t*>(panels.data));
  if (panels.dtype == Dtype::bfloat16) return with(static_cast<const Bfloat16*>(panels.data));
  with(static_cast<const float*>(panels.data));
}

}  // namespace
}  // namespace headwise::kernels
