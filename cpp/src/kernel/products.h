#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/arch.h"
#include "kernel/panel.h"
#include "kernel/row_pointers.h"

namespace headwise::kernels {
namespace {

/// C = A * B or C += A * B for Rows rows of A and Vectors vectors of a panel's columns. The sums stay in registers. If
/// kTransposed, `a` holds the columns of A as rows.
template <class Arch, int Rows, int Vectors, bool kTransposed>
inline void multiply_block(const float* a, std::ptrdiff_t lda, const float* b, const float* b_end, float* c,
                           std::ptrdiff_t ldc, bool accumulate) {
  using V = Floats<Arch>;
  V sum[Rows][Vectors];
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) sum[r][v] = accumulate ? V::load_unaligned(c + r * ldc + v * V::size) : V(0.0f);
  RowPointers<const float, Rows> left(a, kTransposed ? 1 : lda);
  for (; b != b_end; b += kPanelWidth<Arch>, left.advance(kTransposed ? lda : 1)) {
    V column[Vectors];
    for (int v = 0; v < Vectors; ++v) column[v] = V::load_aligned(b + v * V::size);
    for (int r = 0; r < Rows; ++r) {
      const V broadcast(*left.at[r]);
      for (int v = 0; v < Vectors; ++v) sum[r][v] = multiply_add<Arch>(broadcast, column[v], sum[r][v]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) sum[r][v].store_unaligned(c + r * ldc + v * V::size);
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

}  // namespace
}  // namespace headwise::kernels
