#pragma once

#include "base/rules.h"
#include "headwise/attention.h"

namespace headwise {

/// Tokens that a cache gains before a call attends to it: gains[b] in batch b, or `each` in every batch if null.
struct CacheGrowth {
  std::int64_t each = 0;
  const std::int32_t* gains = nullptr;
  [[nodiscard]] std::int64_t of(std::int64_t b) const { return gains ? gains[b] : each; }
};

/// Every rule of the contract that can be checked without reading queries, keys and values. Allocates nothing. It is
/// the five steps below, in this order. `growth` is what a cache gains before the call.
[[nodiscard]] Error validate(const AttentionShape& shape, const AttentionInputs& inputs,
                             const AttentionOptions& options, const AttentionOutputs& outputs,
                             const CacheGrowth& growth = {});

/// The rules on shapes alone: extents, heads, and that every array's size can be counted in bytes.
[[nodiscard]] Error validate_shape(const AttentionShape& shape);

/// The rules on types.
[[nodiscard]] Error validate_dtypes(const AttentionInputs& inputs, const AttentionOutputs& outputs);

/// Whether queries, keys and values are there.
[[nodiscard]] Error check_arrays(const AttentionShape& shape, const AttentionInputs& inputs);

/// Whether a cache has the shape's batches, kv heads and widths.
[[nodiscard]] Error validate_cache(const AttentionShape& shape, const KvCache& cache);

/// Whether the indices of a selection are below `heads` and `rows`.
[[nodiscard]] Error validate_selection(Argument name, const Selection& selection, std::int64_t heads,
                                       std::int64_t rows);

/// The same for rows that are shown or overwritten one by one: no average.
[[nodiscard]] Error validate_rows(Argument name, const Selection& selection, std::int64_t heads, std::int64_t rows);

/// validate_rows() for rows of [B, heads, rows, width] that a call overwrites, and whether an index occurs twice.
[[nodiscard]] Error validate_patch(Argument name, const Patch& patch, std::int64_t heads, std::int64_t rows);

/// The rule on sinks.
[[nodiscard]] Error check_sinks(const float* sinks, std::int64_t num_heads);

/// All other rules, for a call that has passed the steps above. `growth` is what the cache gains before the call.
[[nodiscard]] Error validate_options(const AttentionShape& shape, const AttentionInputs& inputs,
                                     const AttentionOptions& options, const AttentionOutputs& outputs,
                                     const CacheGrowth& growth);

/// attention() for a call that validate() has accepted. It can still refuse empty rows, and a lack of memory.
[[nodiscard]] Error attend_checked(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                                   const AttentionOptions& options, const AttentionOutputs& outputs);

}  // namespace headwise
