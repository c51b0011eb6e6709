#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/arch.h"
#include "kernel/panel.h"
#include "kernel/row_run.h"
#include "kernel/stored_rows.h"

namespace headwise::kernels {
namespace {

template <class Arch>
void widen(const RowRun& run, std::int64_t columns, float* rows, std::ptrdiff_t ld) {
  using V = Floats<Arch>;
  constexpr std::int64_t lanes = V::size;
  const std::int64_t whole = run.column_stride == 1 ? columns / lanes * lanes : 0;
  as_stored(run, [&](auto stored) {
    for (std::int64_t r = 0; r < run.count; ++r) {
      const V unit(stored.unit(r));
      for (std::int64_t c = 0; c < whole; c += lanes) {
        V vector[1];
        stored.template load<Arch>(stored.row(r) + c, unit, vector);
        vector[0].store_unaligned(rows + r * ld + c);
      }
    }
  });
  for (std::int64_t c = whole; c < columns; ++c)  // columns in the outer loop: in the column form rows are neighbours
    for (std::int64_t r = 0; r < run.count; ++r) rows[r * ld + c] = element(run, r, c);
}

/// Transposes `count` rows of `columns` columns into panels of depth `depth`, in squares of lanes x lanes in registers.
/// `count` and `columns` must be multiples of lanes.
template <class Arch, class T>
void pack_squares(StoredRows<T> rows, std::int64_t count, std::int64_t columns, std::int64_t first, std::int64_t depth,
                  float* panels) {
  using V = Floats<Arch>;
  constexpr int lanes = V::size;
  constexpr int width = kPanelWidth<Arch>;
  for (std::int64_t r = 0; r < count; r += lanes) {
    float* out = panels + panel_index(depth, 0, first + r, width);
    V unit[lanes];
    for (int i = 0; i < lanes; ++i) unit[i] = V(rows.unit(r + i));
    for (std::int64_t d = 0; d < columns; d += lanes) {
      V square[lanes];
      for (int i = 0; i < lanes; ++i) {
        V row[1];
        rows.template load<Arch>(rows.row(r + i) + d, unit[i], row);
        square[i] = row[0];
      }
      xsimd::transpose(square, square + lanes);
      for (int i = 0; i < lanes; ++i) square[i].store_aligned(out + (d + i) * width);
    }
  }
}

template <class Arch>
void pack_transposed(const RowRun& run, std::int64_t columns, std::int64_t first, float* panels) {
  constexpr std::int64_t lanes = Floats<Arch>::size;
  constexpr int width = kPanelWidth<Arch>;
  const bool in_squares = run.column_stride == 1 && first % lanes == 0;
  const std::int64_t rows = in_squares ? run.count / lanes * lanes : 0, whole = columns / lanes * lanes;
  as_stored(run, [&](auto stored) { pack_squares<Arch>(stored, rows, whole, first, columns, panels); });
  for (std::int64_t r = 0; r < run.count; ++r) {
    float* out = panels + panel_index(columns, 0, first + r, width);
    for (std::int64_t d = r < rows ? whole : 0; d < columns; ++d) out[d * width] = element(run, r, d);
  }
}

/// Packs the whole panel that begins at column `c`.
template <class Arch, class T>
void pack_panel(StoredRows<T> rows, std::int64_t c, float* out) {
  using V = Floats<Arch>;
  for (std::int64_t r = 0; r < rows.count; ++r, out += kPanelWidth<Arch>) {
    const T* row = rows.row(r) + c;
    const V unit(rows.unit(r));
    for (int v = 0; v < kPanelVectors<Arch>; v += 2) {
      V vectors[2];
      rows.template load<Arch>(row + v * V::size, unit, vectors);
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

}  // namespace
}  // namespace headwise::kernels
