#pragma once

#include "call.h"

namespace headwise {

/// One query row of one head while its scores are being computed.
struct QueryRow {
  std::int64_t head = 0;
  std::int64_t i = 0;  ///< within its sequence
  VisibleKeys keys;
};

/// Whether some pair of `row` and keys [begin, end) needs more than scale and softcap: a mask, a bias, or an edge.
[[nodiscard]] bool needs_hiding(const Call& call, const QueryRow& row, KeyRange tile);

/// From raw scores of `row` against keys `tile` to those of `stage`, in the order of the contract: softcap, ALiBi,
/// bias. `capacity` floats of scores may be overwritten (a multiple of the vector width, >= tile.size()).
void raise_scores(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, ScoreStage stage,
                  float* scores, std::int64_t capacity);

/// Sets hidden scores to -inf; returns whether any key of the tile is visible. `visible` gets a 0 or 1 a key.
bool hide_scores(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, float* scores,
                 std::uint8_t* visible);

/// Whether `row` sees any key at all, by the same rules and without any scores.
[[nodiscard]] bool sees_any_key(const Call& call, const Sequence& sequence, const QueryRow& row);

}  // namespace headwise
