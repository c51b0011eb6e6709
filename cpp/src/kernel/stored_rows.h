#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/numbers.h"
#include "kernel/arch.h"
#include "kernel/row_run.h"

namespace headwise::kernels {
namespace {

/// An element as float32. For int8 the scale is not applied yet.
inline float widened(float x) { return x; }
inline float widened(std::uint16_t half) { return half_to_float(half); }
inline float widened(Bfloat16 number) { return bfloat_to_float(number); }
inline float widened(std::int8_t byte) { return byte; }

/// What the vectors of `load_stored` must be multiplied by, beside the scales of int8.
template <class T>
constexpr float kStoredUnit = std::is_same_v<T, std::uint16_t> ? 0x1p112f : 1.0f;

/// Loads Count vectors of stored elements as float32, without unit and scale. Count is 1 or even.
template <class Arch, int Count>
inline void load_stored(const float* x, Floats<Arch> (&vectors)[Count]) {
  for (int v = 0; v < Count; ++v) vectors[v] = Floats<Arch>::load_unaligned(x + v * Floats<Arch>::size);
}
template <class Arch, int Count>
inline void load_stored(const std::int8_t* x, Floats<Arch> (&vectors)[Count]) {
  constexpr int step = Count == 1 ? 1 : 2;
  for (int v = 0; v < Count; v += step) {
    Integers<Arch> bytes[step];
    load_bytes<Arch>(x + v * Floats<Arch>::size, bytes);
    for (int i = 0; i < step; ++i) vectors[v + i] = xsimd::to_float(bytes[i]);
  }
}

/// float16 or bfloat16.
template <class Arch, int Count, class T>
inline void load_stored(const T* x, Floats<Arch> (&vectors)[Count]) {
  constexpr int step = Count == 1 ? 1 : 2;
  for (int v = 0; v < Count; v += step) {
    Floats<Arch> numbers[step];
    load_halves<Arch>(x + v * Floats<Arch>::size, numbers);
    std::copy_n(numbers, step, vectors + v);
  }
}

/// Reads a byte, so that the processor's cache fetches its line. WebAssembly has no prefetch instruction. The compiler
/// moves no memory access across it.
inline void touch(const void* address) {
  std::uint8_t byte;
  std::memcpy(&byte, address, sizeof byte);
  asm volatile("" : : "r"(byte) : "memory");  // without this the compiler drops the load
}

/// Rows are touched this many rows before they are used. The touches come in order and evenly, so processors prefetch
/// their stream. They do not prefetch the interleaved streams of a patch. A burst of touches between two patches would
/// stall the next patch.
constexpr std::int64_t kRowsAhead = 4;

/// Rows of keys or values in their stored type, columns side by side. Row j is at data + j * ld. For int8 its elements
/// are multiplied by scales[j * scale_step + column / kScaleBlock], if there are scales.
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
  [[nodiscard]] float scale(std::int64_t j, std::int64_t column) const {
    if constexpr (kScaled)
      if (scales) return scales[j * scale_step + column / kScaleBlock];
    return 1.0f;
  }
  /// What the stored elements of row j must be multiplied by, from `column` on to the end of its block.
  [[nodiscard]] float unit(std::int64_t j, std::int64_t column) const { return kStoredUnit<T> * scale(j, column); }
  [[nodiscard]] float element(std::int64_t j, std::int64_t column) const {
    return widened(row(j)[column]) * scale(j, column);
  }

  /// Loads Count vectors of a block of a row as float32; `unit` is that of the block.
  template <class Arch, int Count>
  static void load(const T* x, Floats<Arch> unit, Floats<Arch> (&vectors)[Count]) {
    load_stored<Arch>(x, vectors);
    if constexpr (kScaled || kStoredUnit<T> != 1.0f)
      for (Floats<Arch>& each : vectors) each = each * unit;
  }

  /// The same without the scale of the row.
  template <class Arch, int Count>
  static void load_unscaled(const T* x, Floats<Arch> (&vectors)[Count]) {
    load_stored<Arch>(x, vectors);
    if constexpr (kStoredUnit<T> != 1.0f)
      for (Floats<Arch>& each : vectors) each = each * Floats<Arch>(kStoredUnit<T>);
  }

  /// Touches the first rows, which no earlier patch has touched.
  void touch_first(std::ptrdiff_t columns) const {
    constexpr std::ptrdiff_t kLine = 64 / sizeof(T);
    for (std::int64_t j = 0; j < std::min(kRowsAhead, count); ++j)
      for (std::ptrdiff_t c = 0; c < columns; c += kLine) touch(row(j) + c);
  }
};

/// A function for each type: V8 compiles whole functions, and most programs use one type.
template <class T, class Visit>
[[gnu::noinline]] void visit_stored(const RowRun& run, const Visit& visit) {
  visit(StoredRows<T>(run));
}

/// Calls visit(rows), where `rows` are the StoredRows of the run's type, which is not bfloat16. They may be read if the
/// run's column stride is 1.
template <class Visit>
void as_stored(const RowRun& run, const Visit& visit) {
  switch (run.dtype) {
    case Dtype::float32:
      return visit_stored<float>(run, visit);
    case Dtype::float16:
      return visit_stored<std::uint16_t>(run, visit);
    case Dtype::int8:
      return visit_stored<std::int8_t>(run, visit);
    case Dtype::bfloat16:
      break;
  }
}

/// The same, also for bfloat16.
template <class Visit>
void as_stored_weight(const RowRun& run, const Visit& visit) {
  if (run.dtype == Dtype::bfloat16) return visit_stored<Bfloat16>(run, visit);
  as_stored(run, visit);
}

/// One element of a run as float32, for any column stride.
inline float element(const RowRun& run, std::int64_t row, std::int64_t column) {
  const std::ptrdiff_t at = row * run.row_stride + column * run.column_stride;
  switch (run.dtype) {
    case Dtype::float16:
      return widened(static_cast<const std::uint16_t*>(run.data)[at]);
    case Dtype::bfloat16:
      return widened(static_cast<const Bfloat16*>(run.data)[at]);
    case Dtype::int8:
      return widened(static_cast<const std::int8_t*>(run.data)[at]) * run.scale(row, column);
    case Dtype::float32:
      break;
  }
  return static_cast<const float*>(run.data)[at];
}

}  // namespace
}  // namespace headwise::kernels
