#pragma once

#include <algorithm>
#include <cstdint>

#include "source/key_value_source.h"

namespace headwise {

/// Key rows [begin, end).
struct KeyRange {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] bool empty() const { return begin >= end; }
  [[nodiscard]] std::int64_t size() const { return empty() ? 0 : end - begin; }
};

/// The keys of both ranges.
[[nodiscard]] inline KeyRange common(KeyRange a, KeyRange b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// The keys of a tile that `range` contains, counted from the beginning of the tile.
[[nodiscard]] inline KeyRange within(KeyRange tile, KeyRange range) {
  const KeyRange keys = common(tile, range);
  return keys.empty() ? KeyRange{} : KeyRange{keys.begin - tile.begin, keys.end - tile.begin};
}

[[nodiscard]] inline KeyRange shifted(KeyRange keys, std::int64_t by) { return {keys.begin + by, keys.end + by}; }

/// One sequence of the call: a batch, or a sequence of a ragged batch. Rows are counted from its beginning.
struct Sequence {
  std::int64_t number = 0;  ///< among the sequences of the call
  std::int64_t batch = 0;
  std::int64_t head_dim = 1;
  std::int64_t query_begin = 0, num_queries = 0;  ///< num_queries includes padding
  std::int64_t query_length = 0;                  ///< rows from here on are padding
  std::int64_t key_begin = 0, num_keys = 0;       ///< the key rows that it has
  std::int64_t key_length = 0;                    ///< rows from here on are hidden
  std::int64_t offset = 0;                        ///< query i stands at i + offset
  KeyPositions positions;
  /// In a ring with cache_positions, the first keys, which the ring keeps: ALiBi counts the places between them and a
  /// query, not the tokens of the text. 0 without such a ring.
  std::int64_t places = 0;
};

/// Query rows [begin, end) of a sequence that meet one kv head. `heads` of its heads take part, all or one of them.
/// They count as rows, so that neighbouring rows see nearly the same keys.
struct Rows {
  const Sequence* sequence;
  std::int64_t group;  ///< kv head
  std::int64_t first_head, heads;
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  /// The head and the query of the r-th of these rows.
  [[nodiscard]] std::int64_t head(std::int64_t r) const { return first_head + (begin + r) % heads; }
  [[nodiscard]] std::int64_t query(std::int64_t r) const { return (begin + r) / heads; }
  /// Rows [from, to) of these, or those up to the last one.
  [[nodiscard]] Rows part(std::int64_t from, std::int64_t to) const {
    return {sequence, group, first_head, heads, begin + from, std::min(begin + to, end)};
  }
};

}  // namespace headwise
