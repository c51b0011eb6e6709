#pragma once

#include <cstdint>

namespace headwise {

/// How a block of query rows meets the keys. Depends on the shape and the instruction set alone, never on threads, so
/// that the same bits come out whoever computes.
struct TileSizes {
  std::int64_t rows;   ///< query rows of a tile; several heads of a group count as rows
  std::int64_t strip;  ///< of these, how many are scored, weighed and added up before the next
  std::int64_t keys;   ///< key rows of a tile, a multiple of the panel width
  bool direct;         ///< few rows: read key and value rows as they lie instead of packing them into panels
  std::int64_t split;  ///< keys of a split, a multiple of `keys`; 0: one pass over all keys
};

struct TileRequest {
  std::int64_t kv_heads;
  std::int64_t rows;  ///< query rows that share the keys: group size * query length
  std::int64_t keys;
  std::int64_t head_dim;
  std::int64_t value_dim;
  int panel_width;
  int row_step;
};

[[nodiscard]] TileSizes choose_tiles(const TileRequest& request);

}  // namespace headwise
