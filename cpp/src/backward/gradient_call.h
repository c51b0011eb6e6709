#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/pipeline.h"
#include "base/memory.h"
#include "base/rules.h"
#include "formula/formula_program.h"
#include "formula/formula_tile.h"
#include "headwise/backward.h"

namespace headwise {

/// A call of gradients that has been checked.
struct GradientCall {
  const Call& forward;
  const BackwardInputs& inputs;
  const BackwardOutputs& outputs;
  const FormulaProgram& derivative;  ///< empty without a score formula
  const float* deltas;               ///< [B, num_heads, Sq] do . o - dlse
  const float* lse;                  ///< [B, num_heads, Sq]
  const float* lse_rest;             ///< the same, see AttentionOutputs; null: 0

  [[nodiscard]] const KernelTable& kernels() const { return forward.kernels; }
  [[nodiscard]] float gain(std::int64_t head) const {
    return forward.options.head_gain ? forward.options.head_gain[head] : 1.0f;
  }

  /// dlse of a row; see row_index.
  [[nodiscard]] float lse_gradient(std::int64_t row) const {
    return inputs.lse_gradient ? inputs.lse_gradient[row] : 0.0f;
  }

  /// The widths of a query and of a value, padded to panels.
  [[nodiscard]] std::int64_t query_width() const;
  [[nodiscard]] std::int64_t value_width() const;
};

/// Writes one row of a gradient: values * factor. -0 becomes 0: the sign of a zero may depend on hidden pairs.
void store_gradient(const float* values, float factor, std::int64_t count, std::ptrdiff_t step, float* out);

/// How many query rows meet how many keys at a time. Depends on the shape and the instruction set alone.
struct GradientTiles {
  std::int64_t rows;  ///< a multiple of the rows that TilePanels looks at together
  std::int64_t keys;  ///< a multiple of the panel width, at most 64 panels
};

/// One worker's scratch for some rows and a tile of keys. "Packed" is in panels, one row after the other;
/// "columns" are panels whose columns are keys.
struct GradientScratch {
  GradientTiles tiles;
  std::int64_t score_stride;  ///< floats from one row of scores to the next
  ScoreTile tile;
  float* output_gradient;         ///< [rows, value_dim]
  float* packed_query;            ///< [rows, query_width]
  float* packed_output_gradient;  ///< [rows, value_width], times the head's gain
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
  // Rows that hold a NaN or an infinity. Their packed copies are 0.
  std::uint8_t *odd_query, *odd_output_gradient;  ///< [rows]
  std::uint8_t* odd_key;                          ///< [keys]
  std::uint8_t* visible;                          ///< [keys]
  FormulaTile* derivative = nullptr;              ///< null without a score formula

  void place(Placement& place, const GradientCall& call, const GradientTiles& sizes);
};

/// A scratch for each worker.
class GradientScratches {
 public:
  [[nodiscard]] Error allocate(const GradientCall& call, int workers);
  [[nodiscard]] const GradientTiles& tiles() const { return tiles_; }
  [[nodiscard]] GradientScratch of(const GradientCall& call, int worker) {
    return placed_in<GradientScratch>(memory_.data() + worker * bytes_, call, tiles_);
  }

 private:
  GradientTiles tiles_{};
  std::int64_t bytes_ = 0;
  Buffer<char> memory_;
};

}  // namespace headwise
