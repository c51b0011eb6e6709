#pragma once

#include "headwise/attention.h"

namespace headwise {

/// Tokens that a cache gains before it is attended to: `each` in every batch, or gains[b].
struct CacheGrowth {
  std::int64_t each = 0;
  const std::int32_t* gains = nullptr;
  [[nodiscard]] std::int64_t of(std::int64_t b) const { return gains ? gains[b] : each; }
};

/// Every rule of the contract that can be checked without reading queries, keys and values. No allocation.
[[nodiscard]] Status validate(const AttentionShape& shape, const AttentionInputs& inputs,
                              const AttentionOptions& options, const AttentionOutputs& outputs,
                              const CacheGrowth& growth = {});

/// The rules on shapes alone: extents, heads, and that every array's size can be counted in bytes.
[[nodiscard]] Status validate_shape(const AttentionShape& shape);

}  // namespace headwise
