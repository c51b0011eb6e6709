#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/pipeline.h"
#include "attention/plan.h"
#include "attention/softmax.h"

namespace headwise {

/// One worker's scratch for a tile.
struct TileScratch {
  TileSizes tiles;
  std::int64_t value_width;  ///< value_dim, padded to the panel width
  ScoreTile tile;
  float* scores;           ///< [tiles.strip, tiles.keys]: scores, then weights
  float* out;              ///< [tiles.rows, value_width]: the accumulated output; whole steps of rows
  float* values;           ///< values of the tile, packed
  float* clean_values;     ///< values as one row may see them
  std::uint8_t* visible;   ///< [tiles.strip, tiles.keys]
  OnlineSoftmax* softmax;  ///< [tiles.rows]

  void place(Placement& place, const Call& call, const TileSizes& sizes);
};

/// Lets rows attend to keys [keys.begin, keys.end): loads the queries, resets scratch.out and scratch.softmax, then
/// adds the keys to them tile by tile. Tiles begin at multiples of tiles.keys. Panels that no row may see are skipped.
/// The bits of a row do not depend on the other rows of its tile.
void attend_tile(const Call& call, const Rows& rows, KeyRange keys, TileScratch& scratch);

}  // namespace headwise
