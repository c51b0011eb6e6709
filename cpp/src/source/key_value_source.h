#pragma once

#include <algorithm>
#include <cstdint>

#include "base/strides.h"
#include "headwise/attention.h"
#include "headwise/kv_cache.h"
#include "kernel/row_run.h"

namespace headwise {

/// Positions of the keys of one sequence, ascending: pi_j = j for j < kept, j + dropped from there on.
struct KeyPositions {
  std::int64_t kept = 0;
  std::int64_t dropped = 0;
  /// If not 0, a query at position p sees keys only from p - sight + 1 on, and those before `kept`.
  std::int64_t sight = 0;

  /// The place in a ring of a query at `position`: the tokens do not count that the ring has dropped, or would have, if
  /// the query's token were the last one.
  [[nodiscard]] std::int64_t place_of(std::int64_t position) const {
    return sight > 0 ? std::min(position, kept + sight - 1) : position - dropped;
  }

  [[nodiscard]] std::int64_t of(std::int64_t j) const { return j < kept ? j : j + dropped; }
  /// The number of key rows before `position`, as if the rows had no end: the first j with of(j) >= position.
  /// `position` may be negative.
  [[nodiscard]] std::int64_t rows_before(std::int64_t position) const {
    if (dropped == 0 || position <= kept) return position < 0 ? 0 : position;
    return position <= kept + dropped ? kept : position - dropped;
  }
};

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

/// Keys and values in the caller's arrays.
class DenseSource final : public KeyValueSource {
 public:
  DenseSource(const AttentionShape& shape, Layout layout, ConstArray key, ConstArray value);
  [[nodiscard]] RowRun keys(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const override;
  [[nodiscard]] RowRun values(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const override;

 private:
  struct Side {
    ConstArray array;
    Strides strides;
    [[nodiscard]] RowRun run(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const;
  };
  Side key_, value_;
};

/// Reads the rows of a cache where they lie. A run ends at the end of a block, and where a ring starts again.
class KvCacheSource final : public KeyValueSource {
 public:
  explicit KvCacheSource(const KvCache& cache) : cache_(cache) {}
  [[nodiscard]] RowRun keys(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const override;
  [[nodiscard]] RowRun values(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const override;
  [[nodiscard]] const float* key_mean(std::int64_t b, std::int64_t g) const override;

 private:
  const KvCache& cache_;
};

}  // namespace headwise
