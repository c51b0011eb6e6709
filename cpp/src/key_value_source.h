#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/attention.h"

namespace headwise {

/// Consecutive rows of keys or of values as they lie in memory: element (row, column) is at
/// data[row * row_stride + column * column_stride], for int8 times scales[row * scale_stride].
struct RowRun {
  const void* data = nullptr;
  Dtype dtype = Dtype::float32;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t column_stride = 1;
  const float* scales = nullptr;
  std::ptrdiff_t scale_stride = 0;
  std::int64_t count = 0;  ///< rows in this run, >= 1
};

/// Where the keys and values of a call come from: arrays of the caller's, or a cache in blocks.
/// Key rows are numbered 0..length(b) in order of position.
class KeyValueSource {
 public:
  virtual ~KeyValueSource() = default;
  /// The longest run of key rows that starts at row j of batch b, kv head g; at most `limit` rows.
  [[nodiscard]] virtual RowRun keys(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const = 0;
  [[nodiscard]] virtual RowRun values(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const = 0;
};

/// Positions of the keys of one sequence, ascending: pi_j = j for j < kept, j + dropped from there on.
struct KeyPositions {
  std::int64_t kept = 0;
  std::int64_t dropped = 0;

  [[nodiscard]] std::int64_t of(std::int64_t j) const { return j < kept ? j : j + dropped; }
  /// How many key rows stand before `position`, any integer, were there no end: the first j with of(j) >= position.
  [[nodiscard]] std::int64_t rows_before(std::int64_t position) const {
    if (dropped == 0 || position <= kept) return position < 0 ? 0 : position;
    return position <= kept + dropped ? kept : position - dropped;
  }
};

}  // namespace headwise
