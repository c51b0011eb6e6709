#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/scores.h"
#include "attention/tile_panels.h"
#include "base/memory.h"
#include "base/rules.h"
#include "formula/formula_program.h"
#include "formula/formula_tile.h"
#include "headwise/backward.h"

namespace headwise {

/// Query rows [begin, end) of a sequence that meet one kv head: row r is query r / heads of head
/// first_head + r % heads. `heads` is the size of the group, or 1.
struct RowBlock {
  const Sequence* sequence;
  std::int64_t group;  ///< kv head
  std::int64_t first_head, heads;
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  [[nodiscard]] std::int64_t head(std::int64_t r) const { return first_head + r % heads; }
  [[nodiscard]] std::int64_t query(std::int64_t r) const { return r / heads; }
};

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

  /// All query rows of kv head `group` of a sequence.
  [[nodiscard]] RowBlock all_rows(const Sequence& sequence, std::int64_t group) const;
  /// Index of a row in a [B, num_heads, Sq] array.
  [[nodiscard]] std::int64_t row_index(const Sequence& sequence, std::int64_t head, std::int64_t i) const;
  /// Rows i, i + 1, ... of `head` in an array like the output.
  [[nodiscard]] RowRun value_rows(ConstArray array, const Sequence& sequence, std::int64_t head, std::int64_t i,
                                  std::int64_t count) const;
};

/// Writes one row of a gradient: values * factor. -0 becomes 0: the sign of a zero may depend on hidden pairs.
void store_gradient(const float* values, float factor, std::int64_t count, std::ptrdiff_t step, float* out);

/// How many query rows meet how many keys at a time. Depends on the shape and the instruction set alone.
struct GradientTiles {
  std::int64_t rows;  ///< a multiple of the rows that TilePanels looks at together
  std::int64_t keys;  ///< a multiple of the panel width, at most 64 panels
};

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
  [[nodiscard]] Error allocate(const GradientCall& call, int workers);
  [[nodiscard]] const GradientTiles& tiles() const { return tiles_; }
  [[nodiscard]] GradientScratch of(const GradientCall& call, int worker);

 private:
  GradientTiles tiles_{};
  std::int64_t bytes_ = 0;
  Buffer<char> memory_;
};

}  // namespace headwise
