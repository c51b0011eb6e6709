#pragma once

#include <cstdint>

#include "attention/chosen.h"
#include "base/rules.h"
#include "base/strides.h"
#include "headwise/attention.h"
#include "headwise/thread_pool.h"
#include "source/key_value_source.h"

namespace headwise {

/// Rows [B, heads, length, width] where they lie. Rows of batch b from lengths[b] on are padding; null: none are.
struct HeadRows {
  float* data;
  Strides strides;
  std::int64_t batch_size, heads, length, width;
  const std::int32_t* lengths = nullptr;

  [[nodiscard]] float* at(std::int64_t b, std::int64_t head, std::int64_t i) const {
    return data + b * strides.batch + head * strides.head + i * strides.position;
  }
  [[nodiscard]] std::int64_t length_of(std::int64_t b) const { return lengths ? lengths[b] : length; }
};

/// Overwrites the chosen rows that are no padding.
void overwrite(ThreadPool& pool, const HeadRows& rows, const Patch& patch);

/// Copies the chosen rows to [B, chosen heads, chosen rows, width].
void copy_chosen(ThreadPool& pool, const HeadRows& rows, const Selection& selection, float* copies);

/// validate_rows() for all views. `num_keys` is what the call will attend to.
[[nodiscard]] Error validate_views(const AttentionViews& views, const AttentionShape& shape, std::int64_t num_keys);

/// Shows the keys and values of `source`. It has those of the cache, if `inputs` have one.
void show_keys_and_values(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                          const KeyValueSource& source, const AttentionViews& views);

}  // namespace headwise
