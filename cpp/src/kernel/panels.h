#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernel/arch.h"
#include "kernel/row_run.h"
#include "kernel/stored_rows.h"

namespace headwise::kernels {
namespace {

/// Vectors in a panel, and the rows that are multiplied with it at a time. There are always 8 accumulators. With 4
/// column vectors and 2 broadcast rows, or 2 and 4, they fit 16 registers. They must fit even where a compiler loads
/// all operands of a step before it multiplies, as V8 does. Four short vectors are faster than two. Four long vectors
/// would pad too much.
template <class Arch>
constexpr int kPanelVectors = Floats<Arch>::size == 4 ? 4 : 2;
template <class Arch>
constexpr int kRowStep = 8 / kPanelVectors<Arch>;
template <class Arch>
constexpr int kPanelWidth = kPanelVectors<Arch>* static_cast<int>(Floats<Arch>::size);

/// The index of element (depth k, column c) in panels of depth `depth`.
inline std::int64_t panel_index(std::int64_t depth, std::int64_t k, std::int64_t c, int width) {
  return (c / width) * depth * width + k * width + c % width;
}

template <class Arch>
void widen(const RowRun& run, std::int64_t columns, float* rows, std::ptrdiff_t ld) {
  using V = Floats<Arch>;
  constexpr std::int64_t lanes = V::size;
  const std::int64_t whole = run.column_stride == 1 ? columns / lanes * lanes : 0;
  as_stored_weight(run, [&](auto stored) {
    for (std::int64_t r = 0; r < run.count; ++r) {
      for (std::int64_t c = 0; c < whole; c += lanes) {
        V vector[1];
        stored.template load<Arch>(stored.row(r) + c, V(stored.unit(r, c)), vector);
        vector[0].store_unaligned(rows + r * ld + c);
      }
    }
  });
  for (std::int64_t c = whole; c < columns; ++c)  // columns in the outer loop: in the column form rows are neighbours
    for (std::int64_t r = 0; r < run.count; ++r) rows[r * ld + c] = element(run, r, c);
}

/// Transposes `lanes` rows from row r on, in squares of lanes x lanes in registers. They become neighbouring columns of
/// one panel, the first of them at `out`. `columns` must be a multiple of lanes.
template <class Arch, class T>
void pack_square(StoredRows<T> rows, std::int64_t r, std::int64_t columns, float* out) {
  using V = Floats<Arch>;
  constexpr int lanes = V::size;
  constexpr int width = kPanelWidth<Arch>;
  for (std::int64_t d = 0; d < columns; d += lanes) {
    V square[lanes];
    for (int i = 0; i < lanes; ++i) {
      V row[1];
      rows.template load<Arch>(rows.row(r + i) + d, V(rows.unit(r + i, d)), row);
      square[i] = row[0];
    }
    xsimd::transpose(square, square + lanes);
    for (int i = 0; i < lanes; ++i) square[i].store_unaligned(out + (d + i) * width);
  }
}

template <class Arch>
void pack_transposed(const RowRun& run, std::int64_t columns, std::int64_t first, float* panels) {
  constexpr std::int64_t lanes = Floats<Arch>::size;
  constexpr int width = kPanelWidth<Arch>;
  const auto place = [&](std::int64_t r) { return panels + panel_index(columns, 0, first + r, width); };
  const auto pack_elements = [&](std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t to) {
    for (std::int64_t r = begin; r < end; ++r)
      for (std::int64_t d = from; d < to; ++d) place(r)[d * width] = element(run, r, d);
  };
  const std::int64_t whole = run.column_stride == 1 ? columns / lanes * lanes : 0;
  const std::int64_t begin = std::min((lanes - first % lanes) % lanes, run.count);
  const std::int64_t end = begin + (run.count - begin) / lanes * lanes;
  as_stored_weight(run, [&](auto stored) {
    // The rows before and after the aligned squares [begin, end). Their square overlaps these, if it lies within the
    // run and within a panel.
    const auto pack_edge = [&](std::int64_t from, std::int64_t to, std::int64_t square) {
      if (from == to) return;
      if (run.count >= lanes && (first + square) % width + lanes <= width)
        pack_square<Arch>(stored, square, whole, place(square));
      else
        pack_elements(from, to, 0, whole);
    };
    pack_edge(0, begin, 0);
    for (std::int64_t r = begin; r < end; r += lanes) pack_square<Arch>(stored, r, whole, place(r));
    pack_edge(end, run.count, run.count - lanes);
  });
  pack_elements(0, run.count, whole, columns);
}

/// Packs the whole panel that begins at column `c`.
template <class Arch, class T>
void pack_panel(StoredRows<T> rows, std::int64_t c, float* out) {
  using V = Floats<Arch>;
  for (std::int64_t r = 0; r < rows.count; ++r, out += kPanelWidth<Arch>) {
    const T* row = rows.row(r) + c;
    for (int v = 0; v < kPanelVectors<Arch>; v += 2) {
      V vectors[2];
      rows.template load<Arch>(row + v * V::size, V(rows.unit(r, c + v * V::size)), vectors);
      for (int i = 0; i < 2; ++i) vectors[i].store_aligned(out + (v + i) * V::size);
    }
  }
}

template <class Arch>
void pack(const RowRun& run, std::int64_t columns, std::int64_t first, std::int64_t depth, float* panels) {
  constexpr int width = kPanelWidth<Arch>;
  const auto panel = [&](std::int64_t c) { return panels + panel_index(depth, first, c, width); };
  const std::int64_t whole = run.column_stride == 1 ? columns / width * width : 0;
  as_stored_weight(run, [&](auto stored) {
    for (std::int64_t c = 0; c < whole; c += width) pack_panel<Arch>(stored, c, panel(c));
  });
  for (std::int64_t c = whole; c < columns; c += width) {
    float* out = panel(c);
    for (std::int64_t r = 0; r < run.count; ++r, out += width)
      for (int i = 0; i < width; ++i) out[i] = c + i < columns ? element(run, r, c + i) : 0.0f;
  }
}

}  // namespace
}  // namespace headwise::kernels
