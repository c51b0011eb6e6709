#pragma once

#include <cstdint>

#include "attention/scores.h"

namespace headwise {

/// What AttentionOptions::dropout does to a row: `values` of the keys from `first` on are multiplied by what their
/// weights are multiplied by: 0, or 1 / (1 - rate). A NaN stays NaN. Without dropout nothing is done.
/// @param first  counted from the beginning of the sequence
void drop(const Call& call, const Sequence& sequence, const QueryRow& row, std::int64_t first, std::int64_t count,
          float* values);

}  // namespace headwise
