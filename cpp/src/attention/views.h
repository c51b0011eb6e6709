#pragma once

#include <cstdint>

#include "headwise/attention.h"
#include "headwise/thread_pool.h"
#include "source/key_value_source.h"

namespace headwise {

/// Whether the rows that a call shows or overwrites exist.
[[nodiscard]] Status validate_rows(const char* name, const Selection& selection, std::int64_t heads, std::int64_t rows);

/// validate_rows() for all views. `num_keys` is what the call will attend to.
[[nodiscard]] Status validate_views(const AttentionViews& views, const AttentionShape& shape, std::int64_t num_keys);

/// Shows the keys and values of `source`. It has those of the cache, if `inputs` have one.
void show_keys_and_values(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                          const KeyValueSource& source, const AttentionViews& views);

}  // namespace headwise
