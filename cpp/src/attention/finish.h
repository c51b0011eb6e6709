#pragma once

#include "attention/call.h"
#include "attention/scores.h"
#include "attention/softmax.h"

namespace headwise {

/// The last step of one row. It adds the sink to the sum, divides by the sum, applies the head's gain and the empty-row
/// policy, and writes output and lse if they are wanted. `out` holds value_dim sums of weighted values. It is
/// overwritten.
FinishedSoftmax finish_row(const Call& call, const Sequence& sequence, const QueryRow& row,
                           const OnlineSoftmax& softmax, float* out);

/// Writes one row of the output, times the head's gain. `out` is overwritten.
void write_output_row(const Call& call, const Sequence& sequence, const QueryRow& row, float* out);

/// Whether the empty-row policy decides about `row`: it lies within its query length and sees no key.
[[nodiscard]] bool follows_policy(const Sequence& sequence, const QueryRow& row, bool sees_any_key);

/// Index of a row in a [B, num_heads, Sq] array.
[[nodiscard]] std::int64_t row_index(const Call& call, const Sequence& sequence, const QueryRow& row);

}  // namespace headwise
