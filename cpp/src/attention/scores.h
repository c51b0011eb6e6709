#pragma once

#include <cstdint>

#include "attention/call.h"

namespace headwise {

/// One query row of one head while its scores are being computed.
struct QueryRow {
  std::int64_t head = 0;
  std::int64_t i = 0;  ///< within its sequence
  VisibleKeys keys;
  std::int64_t r = 0;  ///< among the rows of the worker's TileFormulas
};

/// What the mean of the keys adds to every raw score of a query: their product, rounded once. A null mean adds 0.
[[nodiscard]] float shift_of(const float* query, const float* mean, std::int64_t depth);
/// Adds it to scores of the row.
void shift_scores(float shift, std::int64_t count, float* scores);

/// Turns raw scores of `row` against keys `tile` into scores of `stage`: softcap, then ALiBi, then bias, then the score
/// formula. The first `capacity` floats of `scores` may be overwritten. `capacity` is a multiple of the vector width,
/// >= tile.size(). Returns whether the bias hides a key of the tile.
bool apply_stages(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, ScoreStage stage,
                  TileFormulas& formulas, float* scores, std::int64_t capacity);

/// The steps of it: softcap, ALiBi and bias, score formula.
void cap_scores(const Call& call, float* scores, std::int64_t capacity);
bool bias_scores(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, float* scores);
void rescore(const Call& call, const QueryRow& row, KeyRange tile, TileFormulas& formulas, float* scores);

/// Whether the mask, exclude_self or a ring may hide a key of `tile` from `row`, within its range.
[[nodiscard]] bool may_hide(const QueryRow& row, KeyRange tile);

/// Sets hidden scores to -inf, and `visible` to 0 or 1 for each key. The visible formula hides some of the keys
/// `asked`, and no others. Returns whether any key of the tile is visible.
bool hide_scores(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, KeyRange asked,
                 TileFormulas& formulas, float* scores, std::uint8_t* visible);

/// Clears `visible` where the score formula has given -inf.
void clear_hidden_by_score(const float* scores, std::int64_t count, std::uint8_t* visible);

/// Whether `row` sees any key, by the same rules. Needs no scores.
[[nodiscard]] bool sees_any_key(const Call& call, const Sequence& sequence, const QueryRow& row,
                                TileFormulas& formulas);

/// What AttentionOptions::dropout does to a row: `values` of the keys from `first` on are multiplied by what their
/// weights are multiplied by: 0, or 1 / (1 - rate). A NaN stays NaN. Without dropout nothing is done.
/// @param first  counted from the beginning of the sequence
void drop(const Call& call, const Sequence& sequence, const QueryRow& row, std::int64_t first, std::int64_t count,
          float* values);

}  // namespace headwise
