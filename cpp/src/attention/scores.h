#pragma once

#include <cstdint>

#include "attention/call.h"

namespace headwise {

/// What the mean of the keys adds to every product of a query: their product, rounded once. A null mean adds 0.
[[nodiscard]] float shift_of(const float* query, const float* mean, std::int64_t depth);
/// Adds it to products of the row.
void shift_products(float shift, std::int64_t count, float* products);

/// Where scores of a row on their way are copied to, if not null: after the softcap, and after ALiBi and bias.
struct KeptStages {
  float* softcapped = nullptr;
  float* biased = nullptr;
};

/// Turns raw scores of `row` against keys `keys` into scores of `stage`: softcap, then ALiBi, then bias, then the score
/// formula. The scores up to the next multiple of the vector width may be overwritten. Returns whether the bias hides a
/// key.
bool apply_stages(const Call& call, const QueryRow& row, KeyRange keys, ScoreStage stage, TileFormulas& formulas,
                  float* scores, KeptStages kept = {});

/// Raw scores of a row that are to be brought to a stage where hidden ones are -inf. All keys are keys of the sequence.
struct RowScores {
  const QueryRow& row;
  KeyRange keys;          ///< keys.begin is at a multiple of the vector width within the tile
  KeyRange reach;         ///< the keys among them that the row may see; the scores of the others become -inf
  KeyRange asked;         ///< the keys about which the visible formula is asked; it hides no others
  float* scores;          ///< of keys.begin
  std::int64_t room;      ///< floats: up to the next multiple of the vector width after the last key
  std::uint8_t* visible;  ///< of keys.begin: room for a byte of each key
  bool marks = false;     ///< whether `visible`, all 0 so far, must say which keys are visible, also if all are
};

/// Whether some key was hidden, and whether one is visible. Without `marks` a score formula may have hidden more.
struct Visibility {
  bool hides, sees;
};

/// Brings them there. `stage` is biased or formula.
Visibility bring_to_last_stage(const Call& call, const RowScores& scores, ScoreStage stage, TileFormulas& formulas,
                               KeptStages kept = {});

/// Whether `row` sees any key, by the same rules. Needs no scores.
[[nodiscard]] bool sees_any_key(const Call& call, const QueryRow& row, TileFormulas& formulas);

/// What AttentionOptions::dropout does to a row: `values` of the keys from `first` on are multiplied by what their
/// weights are multiplied by: 0, or 1 / (1 - rate). A NaN stays NaN. Without dropout nothing is done.
/// @param first  counted from the beginning of the sequence
void drop(const Call& call, const QueryRow& row, std::int64_t first, std::int64_t count, float* values);

}  // namespace headwise
