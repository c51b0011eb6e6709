#pragma once

#include <cstdint>

#include "kernel/row_run.h"

namespace headwise {

/// Where the keys and values of a call come from: the caller's arrays, or the blocks of a cache.
/// Key rows are numbered 0..length(b) in order of position.
class KeyValueSource {
 public:
  virtual ~KeyValueSource() = default;
  /// The longest run of key rows that starts at row j of batch b, kv head g; at most `limit` rows.
  [[nodiscard]] virtual RowRun keys(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const = 0;
  /// The same for value rows.
  [[nodiscard]] virtual RowRun values(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const = 0;
  /// What must be added to every key row of batch b, kv head g, as float32: [head_dim]. Null if it is nothing.
  [[nodiscard]] virtual const float* key_mean(std::int64_t /*b*/, std::int64_t /*g*/) const { return nullptr; }
};

}  // namespace headwise
