#pragma once

#include <algorithm>
#include <cstdint>

#include "formula/formula_tile.h"
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
  std::int64_t batch;
  std::int64_t query_begin, num_queries;  ///< num_queries includes padding
  std::int64_t query_length;              ///< rows from here on are padding
  std::int64_t key_begin, num_keys;       ///< the key rows that it has
  std::int64_t key_length;                ///< rows from here on are hidden
  std::int64_t offset;                    ///< query i stands at i + offset
  KeyPositions positions;
  /// In a ring with cache_positions, the first keys, which the ring keeps: ALiBi counts the places between them and a
  /// query, not the tokens of the text. 0 without such a ring.
  std::int64_t places;
};

/// What a formula can know about sequence `number` of a call.
[[nodiscard]] inline FormulaSequence formula_sequence(const Sequence& sequence, std::int64_t number,
                                                      std::int64_t head_dim) {
  return {number, sequence.num_queries, sequence.num_keys, head_dim, sequence.offset, sequence.positions};
}

}  // namespace headwise
