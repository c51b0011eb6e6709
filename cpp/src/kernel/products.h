#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/arch.h"
#include "kernel/panel.h"
#include "kernel/row_pointers.h"

namespace headwise::kernels {
namespace {

template <class Arch>
void multiply(const float* a, std::ptrdiff_t lda, const float* b_panels, std::ptrdiff_t panel_stride,
              std::int64_t depth, std::int64_t panels, float* c, std::ptrdiff_t ldc, std::int64_t rows,
              bool accumulate) {
  using V = Floats<Arch>;
  constexpr int width = kPanelWidth<Arch>;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const float* b_panel = b_panels + panel * panel_stride;
    const float* b_end = b_panel + depth * width;
    for (std::int64_t row = 0; row < rows; row += kRowStep<Arch>) {
      const float* a_row = a + row * lda;
      float* c_row = c + row * ldc + panel * width;
      V sum[kRowStep<Arch>][kPanelVectors<Arch>];
      for (int r = 0; r < kRowStep<Arch>; ++r)
        for (int v = 0; v < kPanelVectors<Arch>; ++v)
          sum[r][v] = accumulate ? V::load_unaligned(c_row + r * ldc + v * V::size) : V(0.0f);
      RowPointers<const float, kRowStep<Arch>> left(a_row, lda);
      for (const float* b = b_panel; b != b_end; b += width, left.advance(1)) {
        V column[kPanelVectors<Arch>];
        for (int v = 0; v < kPanelVectors<Arch>; ++v) column[v] = V::load_aligned(b + v * V::size);
        for (int r = 0; r < kRowStep<Arch>; ++r) {
          const V broadcast(*left.at[r]);
          for (int v = 0; v < kPanelVectors<Arch>; ++v) sum[r][v] = multiply_add<Arch>(broadcast, column[v], sum[r][v]);
        }
      }
      for (int r = 0; r < kRowStep<Arch>; ++r)
        for (int v = 0; v < kPanelVectors<Arch>; ++v) sum[r][v].store_unaligned(c_row + r * ldc + v * V::size);
    }
  }
}

}  // namespace
}  // namespace headwise::kernels
