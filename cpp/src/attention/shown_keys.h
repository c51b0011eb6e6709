#pragma once

#include <cstdint>
#include <limits>

#include "base/memory.h"
#include "base/rules.h"
#include "headwise/array.h"
#include "headwise/thread_pool.h"
#include "source/sequence.h"

namespace headwise {

/// Whether an element of a mask or of a bias hides a key.
[[nodiscard]] inline bool hides(std::uint8_t mask) { return mask == 0; }
[[nodiscard]] inline bool hides(float bias) { return bias == -std::numeric_limits<float>::infinity(); }
[[nodiscard]] inline bool hides(std::uint16_t half_bias) { return half_bias == 0xfc00u; }  // the bits of -inf

/// Row [b, h, i] of a broadcast [B, num_heads, Sq, Skv] array, as the number of the row in memory.
[[nodiscard]] std::int64_t broadcast_row(const BroadcastExtents& extents, std::int64_t b, std::int64_t h,
                                         std::int64_t i);

/// The keys that a mask, or the -inf of a bias, shows to each of its rows. It is read once, before the tiles are
/// computed: each row's first and last key, whether there are hidden keys between them, and one bit for each panel of
/// keys.
class ShownKeys {
 public:
  /// Reads a mask.
  [[nodiscard]] Error read(ThreadPool& pool, const std::uint8_t* mask, const BroadcastExtents& extents,
                           int panel_width);
  /// Reads a bias.
  [[nodiscard]] Error read(ThreadPool& pool, ConstArray bias, const BroadcastExtents& extents, int panel_width);
  /// Whether an array has been read. Otherwise nothing is known, and the functions below must not be called.
  [[nodiscard]] bool known() const { return static_cast<bool>(rows_); }

  /// Removes leading and trailing keys that are hidden from row [b, h, i]. `keys` are counted from the beginning of
  /// the array. Returns whether a key may be hidden between the first and the last one that the row sees.
  [[nodiscard]] bool narrow(std::int64_t b, std::int64_t h, std::int64_t i, KeyRange* keys) const;

  /// Bit p is set if row [b, h, i] may see a key of panel p, which has the keys from `first` + p * panel width on.
  [[nodiscard]] std::uint64_t panels(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t first) const;

 private:
  struct Row {
    std::int32_t begin, end;
    bool has_holes;
  };
  template <class T>
  [[nodiscard]] Error read_rows(ThreadPool& pool, const T* data, const BroadcastExtents& extents, int panel_width);
  template <class T>
  void read_row(const T* data, std::int64_t row);
  [[nodiscard]] bool repeats_along_keys() const { return extents_.extent[3] == 1; }

  BroadcastExtents extents_;
  int panel_width_ = 0;
  std::int64_t words_ = 0;  ///< of a row's bits; the last word is 0
  Buffer<Row> rows_;
  Buffer<std::uint64_t> bits_;
};

}  // namespace headwise
