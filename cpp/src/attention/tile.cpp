#include "attention/tile.h"

#include <algorithm>

#include "base/sizes.h"

namespace headwise {

namespace {

// Packing a key and a value costs about 4 % of what 64 rows compute with them: more rows where there are enough tiles.
constexpr std::int64_t kFewRows = 64;
constexpr std::int64_t kMoreRows[] = {256, 128};
// Row tiles of all heads that suffice for the threads of most machines; divides evenly by 2, 3, 4, 6, 8 and 12.
constexpr std::int64_t kEnoughTiles = 24;
// The scores of a strip (32 x 256) stay in the first-level cache, or nearly, from one product to the other.
constexpr std::int64_t kStripRows = 32;
// Below this, packing costs more than the panels give back.
constexpr std::int64_t kMaxDirectRows = 7;
constexpr std::int64_t kMaxKeys = 256;
// Floats of packed keys and values in a tile, for very wide heads: 512 KiB.
constexpr std::int64_t kMaxTileFloats = 1 << 17;
// Reading where rows lie has to start anew at every tile: long ones, their scores still in the first-level cache.
constexpr std::int64_t kDirectKeys = 512;
// Long keys with few rows are split here, so that several workers share them.
constexpr std::int64_t kSplitKeys = 512;

/// Even shares of at most `limit`, rounded up to `step`: 197 rows become 2 tiles of 100, not 128 and 69.
std::int64_t even_share(std::int64_t total, std::int64_t limit, std::int64_t step) {
  const std::int64_t tiles = std::max<std::int64_t>(divide_up(total, limit), 1);
  return std::max(round_up(divide_up(total, tiles), step), step);
}

/// The most rows for which there are enough tiles.
std::int64_t most_rows(const TileRequest& request) {
  for (const std::int64_t rows : kMoreRows)
    if (request.kv_heads * divide_up(request.rows, rows) >= kEnoughTiles) return rows;
  return kFewRows;
}

}  // namespace

TileSizes choose_tiles(const TileRequest& request) {
  TileSizes tiles;
  tiles.direct = request.rows <= kMaxDirectRows;
  tiles.rows = tiles.direct ? std::max<std::int64_t>(request.rows, 1)
                            : even_share(request.rows, most_rows(request), request.row_step);
  tiles.strip = std::min(tiles.rows, kStripRows);
  const std::int64_t width = request.head_dim + request.value_dim;
  const std::int64_t fitting = kMaxTileFloats / width / request.panel_width * request.panel_width;
  const std::int64_t limit =
      std::clamp<std::int64_t>(fitting, request.panel_width, tiles.direct ? kDirectKeys : kMaxKeys);
  tiles.keys = even_share(request.keys, limit, request.panel_width);
  tiles.split = request.rows <= kFewRows && request.keys >= 2 * kSplitKeys ? round_up(kSplitKeys, tiles.keys) : 0;
  return tiles;
}

}  // namespace headwise
