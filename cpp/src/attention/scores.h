#pragma once

#include "attention/call.h"

namespace headwise {

/// One query row of one head while its scores are being computed.
struct QueryRow {
  std::int64_t head = 0;
  std::int64_t i = 0;  ///< within its sequence
  VisibleKeys keys;
};

/// Whether some key of `tile` within the range of `row` may be hidden from it: by a mask, a bias, or as itself.
[[nodiscard]] bool hides_inside(const Call& call, const QueryRow& row, KeyRange tile);

/// Whether some key of `tile` may be hidden from `row`, by an edge of its range or inside.
[[nodiscard]] bool needs_hiding(const Call& call, const QueryRow& row, KeyRange tile);

/// From raw scores of `row` against keys `tile` to those of `stage`, in the order of the contract: softcap, ALiBi,
/// bias. `capacity` floats of scores may be overwritten (a multiple of the vector width, >= tile.size()).
void apply_stages(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, ScoreStage stage,
                  float* scores, std::int64_t capacity);

/// Sets hidden scores to -inf; returns whether any key of the tile is visible. `visible` gets a 0 or 1 a key.
bool hide_scores(const Call& call, const Sequence& sequence, const QueryRow& row, KeyRange tile, float* scores,
                 std::uint8_t* visible);

/// Whether `row` sees any key at all, by the same rules and without any scores.
[[nodiscard]] bool sees_any_key(const Call& call, const Sequence& sequence, const QueryRow& row);

}  // namespace headwise
