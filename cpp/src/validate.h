#pragma once

#include "headwise/attention.h"

namespace headwise {

/// Every rule of the contract that can be checked without reading queries, keys and values. No allocation.
[[nodiscard]] Status validate(const AttentionShape& shape, const AttentionInputs& inputs,
                              const AttentionOptions& options, const AttentionOutputs& outputs);

/// The rules on shapes alone: extents, heads, and that every array's size can be counted in bytes.
[[nodiscard]] Status validate_shape(const AttentionShape& shape);

}  // namespace headwise
