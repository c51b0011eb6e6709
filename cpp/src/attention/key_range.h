#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace headwise
