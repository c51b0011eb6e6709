#include "attention/tile.h"

#include <algorithm>

#include "base/sizes.h"

namespace headwise {

namespace {

// Packing a key and a value costs about 4 % of what 64 rows compute with them. A tile has more rows if enough tiles
// remain.
constexpr std::int64_t kFewRows = 64;
constexpr std::int64_t kMoreRows[] = {256, 128};
// Row tiles of all heads that are enough for the threads of most machines. Can be divided by 2, 3, 4, 6, 8 and 12.
constexpr std::int64_t kEnoughTiles = 24;
// The scores of a strip (32 x 256) nearly fit the first-level cache between the two products.
constexpr std::int64_t kStripRows = 32;
// Up to this many rows, packing costs more time than the panels save.
constexpr std::int64_t kMaxDirectRows = 16;
constexpr std::int64_t kMaxKeys = 256;
// Packed keys and values of a tile take at most 512 KiB. The limit matters for very wide heads.
constexpr std::int64_t kMaxTileFloats = 1 << 17;
// Prefetching of rows that are read where they lie starts anew at every tile, so tiles are long. Their scores still fit
// the first-level cache.
constexpr std::int64_t kDirectKeys = 512;
// With few rows, keys are split into pieces of this length, so that several workers share them.
constexpr std::int64_t kSplitKeys = 512;

/// Equal shares of at most `limit`, rounded up to `step`. 197 rows become 2 tiles of 100 rows, not of 128 and 69.
std::int64_t even_share(std::int64_t total, std::int64_t limit, std::int64_t step) {
  const std::int64_t tiles = std::max<std::int64_t>(divide_up(total, limit), 1);
  return std::max(round_up(divide_up(total, tiles), step), step);
}

/// The largest tile for which enough tiles remain.
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
