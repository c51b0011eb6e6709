#pragma once

#include <cstdint>

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

/// A selection of `all_heads` and `all_rows`, with its defaults filled in.
struct RowChoice {
  const Selection& selection;
  std::int64_t all_heads, all_rows;
  [[nodiscard]] std::int64_t heads() const { return selection.heads ? selection.num_heads : all_heads; }
  [[nodiscard]] std::int64_t rows() const { return selection.queries ? selection.num_queries : all_rows; }
  [[nodiscard]] std::int64_t head(std::int64_t n) const { return selection.heads ? selection.heads[n] : n; }
  [[nodiscard]] std::int64_t row(std::int64_t n) const { return selection.queries ? selection.queries[n] : n; }
};

/// Calls visit(b, head, row, place) for each chosen row. It is row `place` of [B, chosen heads, chosen rows].
template <class Visit>
void for_each_chosen_row(ThreadPool& pool, std::int64_t batch_size, const RowChoice& choice, Visit visit) {
  pool.parallel_for(batch_size * choice.heads(), [&](std::int64_t task, int) {
    const std::int64_t b = task / choice.heads(), head = choice.head(task % choice.heads());
    for (std::int64_t r = 0; r < choice.rows(); ++r) visit(b, head, choice.row(r), task * choice.rows() + r);
  });
}

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
