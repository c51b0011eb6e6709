#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/plan.h"
#include "attention/scores.h"
#include "attention/softmax.h"
#include "attention/tile_panels.h"

namespace headwise {

/// One worker's scratch for a tile.
struct TileScratch {
  TileSizes tiles;
  std::int64_t rows;         ///< tiles.rows, padded to kernels.row_step
  std::int64_t value_width;  ///< value_dim, padded to the panel width
  float* query;              ///< [rows, head_dim], scaled
  float* kept_query;         ///< the same of Call::kept_query, if there is one
  float* scores;             ///< [tiles.strip, tiles.keys]: scores, then weights
  float* out;                ///< [rows, value_width]: the accumulated output
  float* keys;               ///< keys of the tile, packed or widened
  float* values;             ///< values of the tile, packed
  float* clean_values;       ///< values as one row may see them
  float* shifts;             ///< [rows]: what the mean of the keys adds to every score of a row
  float* kept_shifts;        ///< [rows]: the same for kept_query
  std::uint8_t* visible;     ///< [tiles.strip, tiles.keys]
  TilePanels panels;
  QueryRow* query_rows;    ///< [rows]
  OnlineSoftmax* softmax;  ///< [rows]
  TileFormulas formulas;

  /// Bytes of the scratch for a tile of these sizes; -1 on overflow.
  static std::int64_t bytes(const TileSizes& tiles, const AttentionShape& shape, const KernelTable& kernels,
                            const CallFormulas& call_formulas);
  void place(char* memory, const TileSizes& tiles, const AttentionShape& shape, const KernelTable& kernels,
             const CallFormulas& call_formulas);
};

/// Rows [begin, end) of those that share kv head g of a sequence. Row r is query r / G of head g * G + r % G, so that
/// neighbouring rows see nearly the same keys.
struct RowTile {
  const Sequence* sequence;
  std::int64_t group;  ///< kv head
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// Fills scratch.query_rows and scratch.query: the queries as float32, times the scale.
void load_queries(const Call& call, const RowTile& rows, TileScratch& scratch);

/// Attends to keys [keys.begin, keys.end): resets scratch.out and scratch.softmax, then adds the keys to them tile by
/// tile. Tiles begin at multiples of tiles.keys. Panels that no row may see are skipped. The bits of a row do not
/// depend on the other rows of its tile.
void attend_tile(const Call& call, const RowTile& rows, KeyRange keys, TileScratch& scratch);

}  // namespace headwise
