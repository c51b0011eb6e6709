#pragma once

#include <cstddef>
#include <cstdint>

namespace headwise {

/// The type of an array's elements.
enum class Dtype : std::int32_t {
  float32 = 0,
  float16 = 1,
  int8 = 2,      ///< of caches and weights
  bfloat16 = 3,  ///< of weights: the upper half of a float32
};

/// Whether inputs and outputs can have this type.
[[nodiscard]] constexpr bool is_input_dtype(Dtype dtype) { return dtype == Dtype::float32 || dtype == Dtype::float16; }

/// Bytes of one element.
[[nodiscard]] constexpr std::ptrdiff_t size_of(Dtype dtype) {
  return dtype == Dtype::float32 ? 4 : dtype == Dtype::int8 ? 1 : 2;
}

/// Memory order of query, key, value and output. All arrays are contiguous.
enum class Layout : std::int32_t {
  bhsd = 0,  ///< [B, H, S, D]
  bshd = 1,  ///< [B, S, H, D]
  bse = 2,   ///< [B, S, H*D], heads packed in the last axis: the same bytes as bshd
  bes = 3,   ///< [B, H*D, S], the column form: positions are columns
};

/// An array that is only read. The caller owns it.
struct ConstArray {
  const void* data = nullptr;
  Dtype dtype = Dtype::float32;
};

/// An array that is written. The caller owns it.
struct MutableArray {
  void* data = nullptr;
  Dtype dtype = Dtype::float32;
};

/// A [B, num_heads, Sq, Skv] array in which any extent may be 1 instead. The array then repeats along that axis.
struct BroadcastExtents {
  std::int64_t extent[4] = {1, 1, 1, 1};
};

}  // namespace headwise
