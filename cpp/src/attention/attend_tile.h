#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/scores.h"
#include "attention/softmax.h"
#include "attention/tile.h"

namespace headwise {

/// What a worker needs to compute one tile. All floats; leading strides in floats.
struct TileScratch {
  TileSizes tiles;
  std::int64_t rows;         ///< tiles.rows, padded to the row block
  std::int64_t value_width;  ///< value_dim, padded to the panel width
  float* query;              ///< [rows, head_dim], scaled
  float* scores;             ///< [tiles.strip, tiles.keys]: scores, then weights
  float* out;                ///< [rows, value_width]: the accumulated output
  float* keys;               ///< packed (or widened) keys of the tile
  float* values;             ///< packed (or widened) values of the tile
  float* clean_values;       ///< values of the tile as one row may see them
  std::uint8_t* visible;     ///< [tiles.strip, tiles.keys]
  QueryRow* query_rows;      ///< [rows]
  OnlineSoftmax* softmax;    ///< [rows]

  /// Bytes of one worker's scratch for the largest tile; -1 if that overflows.
  static std::int64_t bytes(const TileSizes& tiles, const AttentionShape& shape, const KernelTable& kernels);
  void place(char* memory, const TileSizes& tiles, const AttentionShape& shape, const KernelTable& kernels);
};

/// A stretch of the rows that share kv head g of a sequence: row r is query i = r / G of head g * G + r % G, so that
/// neighbouring rows see nearly the same keys.
struct RowTile {
  const Sequence* sequence;
  std::int64_t group;  ///< kv head
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// Fills scratch.query_rows and loads the queries, scaled and widened.
void load_queries(const Call& call, const RowTile& rows, TileScratch& scratch);

/// Adds keys [keys.begin, keys.end) to scratch.out and scratch.softmax, which are reset first. Keys outside the rows'
/// visible ranges are skipped tile by tile.
void attend_tile(const Call& call, const RowTile& rows, KeyRange keys, TileScratch& scratch);

}  // namespace headwise
