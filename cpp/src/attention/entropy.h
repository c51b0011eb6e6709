#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/scores.h"
#include "attention/softmax.h"

namespace headwise {

/// -sum p ln p of one row of `count` weights.
[[nodiscard]] float entropy_of(const float* weights, std::int64_t count);

/// -sum p ln p of one row, over `count` scores and their probabilities. `count` is a multiple of the panel width.
[[nodiscard]] float entropy_of(const float* scores, const float* probabilities, std::int64_t count,
                               const FinishedSoftmax& softmax);

/// The entropy of a row that sees no key, by the empty-row policy.
[[nodiscard]] float entropy_of_empty_row(const Call& call, const Sequence& sequence, const QueryRow& row,
                                         const FinishedSoftmax& softmax);

}  // namespace headwise
