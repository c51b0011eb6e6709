#pragma once

#include <cstdint>

#include "attention/scores.h"
#include "attention/tile_panels.h"
#include "backward/gradient_call.h"
#include "base/memory.h"
#include "formula/formula_tile.h"

namespace headwise {

/// How many query rows meet how many keys at a time. Depends on the shape and the instruction set alone.
struct GradientTiles {
  std::int64_t rows;  ///< a multiple of the rows that TilePanels looks at together
  std::int64_t keys;  ///< a multiple of the panel width, at most 64 panels
};
[[nodiscard]] GradientTiles choose_gradient_tiles(const Call& call);

/// One worker's scratch for a block of rows and a tile of keys. "Packed" is in panels, one row after the other;
/// "columns" are panels whose columns are keys.
struct GradientScratch {
  GradientTiles tiles;
  std::int64_t score_stride;      ///< floats from one row of scores to the next
  float* query;                   ///< [rows, head_dim], scaled
  float* output_gradient;         ///< [rows, value_dim]
  float* packed_query;            ///< [rows, query_width]
  float* packed_output_gradient;  ///< [rows, value_width], times the head's gain
  float* key_columns;             ///< [keys, head_dim]
  float* value_columns;           ///< [keys, value_dim]
  float* packed_keys;             ///< [keys, query_width]
  float* scores;                  ///< [rows, score_stride]: scores, then weights
  float* products;                ///< [rows, score_stride]: do . v, then gradients of scores
  float* key_gradient;            ///< [keys, query_width]
  float* value_gradient;          ///< [keys, value_width]
  float *capped, *biased,
      *factors;                     ///< [keys] of one row: scores of these stages, what its gradients are multiplied by
  float *read_rows, *read_columns;  ///< [keys] of one row: the indices of a read of the score formula
  float* wide_row;                  ///< [the larger width]
  float *lse, *lse_rest, *delta, *lse_gradient;  ///< [rows]
  QueryRow* query_rows;                          ///< [rows]
  // Rows that hold a NaN or an infinity. Their packed copies are 0.
  std::uint8_t *odd_query, *odd_output_gradient;  ///< [rows]
  std::uint8_t* odd_key;                          ///< [keys]
  std::uint8_t* visible;                          ///< [keys]
  TilePanels panels;
  TileFormulas formulas;
  FormulaTile derivative;

  /// Bytes of the scratch; -1 on overflow.
  static std::int64_t bytes(const GradientCall& call, const GradientTiles& tiles);
  void place(char* memory, const GradientCall& call, const GradientTiles& sizes);
};

/// A scratch for each worker.
class GradientScratches {
 public:
  [[nodiscard]] Status allocate(const GradientCall& call, int workers);
  [[nodiscard]] const GradientTiles& tiles() const { return tiles_; }
  [[nodiscard]] GradientScratch of(const GradientCall& call, int worker);

 private:
  GradientTiles tiles_{};
  std::int64_t bytes_ = 0;
  Buffer<char> memory_;
};

}  // namespace headwise
