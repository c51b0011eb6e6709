#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attention/call_formulas.h"
#include "attention/shown_keys.h"
#include "base/memory.h"
#include "base/rules.h"
#include "base/strides.h"
#include "headwise/attention.h"
#include "headwise/thread_pool.h"
#include "kernel/kernel_table.h"
#include "kernel/row_run.h"
#include "source/key_value_source.h"
#include "source/sequence.h"

namespace headwise {

/// The keys that a query row may see. Position, length, bounds of the formula, and what is known about mask and bias
/// are resolved to a range.
struct VisibleKeys {
  KeyRange range;
  KeyRange gap;            ///< keys that lie before a ring's window, and after those that it keeps: hidden
  std::int64_t self = -1;  ///< a key that is hidden by exclude_self, or -1
  bool has_holes = false;  ///< whether mask or bias may hide a key within the range
};

/// One query row of one head.
struct QueryRow {
  const Sequence* sequence = nullptr;
  std::int64_t head = 0;
  std::int64_t i = 0;  ///< within its sequence
  VisibleKeys keys;
  std::int64_t r = 0;  ///< among the rows of the worker's TileFormulas

  /// On the whole Sq axis.
  [[nodiscard]] std::int64_t query() const { return sequence->query_begin + i; }
};

/// A call that has been checked, with its defaults filled in. Both passes read it.
struct Call {
  const AttentionShape& shape;
  const AttentionInputs& inputs;
  const AttentionOptions& options;
  const AttentionOutputs& outputs;
  const KernelTable& kernels;
  const KeyValueSource& source;
  // The scale: their product. Queries carry what is at most 1, raw scores the rest, so that no product overflows whose
  // score is within float32.
  float query_scale, score_scale;
  std::int64_t group_size;  ///< query heads per kv head
  std::int64_t key_length;  ///< the Skv axis of mask, bias, probs and scores
  std::int64_t num_sequences;
  const Sequence* sequences;
  Strides query, output;
  const ShownKeys& shown_by_mask;
  const ShownKeys& shown_by_bias;
  const CallFormulas& formulas;

  /// The keys that query row i of `head` may see.
  [[nodiscard]] VisibleKeys visible_keys(const Sequence& sequence, std::int64_t head, std::int64_t i) const;

  /// Bit p is set if the mask and the bias may show a key of panel p to a row. Panel p has the keys from
  /// `first` + p * kernels.panel_width on.
  [[nodiscard]] std::uint64_t shown_panels(const QueryRow& row, std::int64_t first) const;

  /// All query rows of kv head `group` of a sequence.
  [[nodiscard]] Rows all_rows(const Sequence& sequence, std::int64_t group) const;
  /// Row i of `head`, with the keys that it may see.
  [[nodiscard]] QueryRow query_row(const Sequence& sequence, std::int64_t head, std::int64_t i,
                                   std::int64_t r = 0) const;
  /// Its index in a [B, num_heads, Sq] array.
  [[nodiscard]] std::int64_t row_index(const QueryRow& row) const {
    return (row.sequence->batch * shape.num_heads + row.head) * shape.query_length + row.query();
  }
  /// The row and the `count` - 1 next ones of its head where they lie: in inputs.query or kept_query(), or in an array
  /// like the output.
  [[nodiscard]] RowRun queries_from(const QueryRow& row, ConstArray queries, std::int64_t count) const {
    return row_run(queries, query, row.sequence->batch, row.head, row.query(), count);
  }
  [[nodiscard]] RowRun outputs_from(const QueryRow& row, ConstArray outputs_like, std::int64_t count) const {
    return row_run(outputs_like, output, row.sequence->batch, row.head, row.query(), count);
  }

  /// The distance of ALiBi between query row i and key row j of a sequence.
  [[nodiscard]] std::int64_t alibi_distance(const Sequence& sequence, std::int64_t i, std::int64_t j) const;

  /// The queries that meet the first keys of a ring, and how many of a sequence's keys do. 0: there are no such
  /// queries.
  [[nodiscard]] ConstArray kept_query() const { return {inputs.kept_query, Dtype::float32}; }
  [[nodiscard]] std::int64_t kept_keys(const Sequence& sequence) const {
    return inputs.kept_query ? std::min(sequence.positions.kept, sequence.num_keys) : 0;
  }

  /// Calls visit(run, first) for the runs that make up key rows `keys` of kv head `group`. `first` is the run's first
  /// row, counted from keys.begin.
  template <class Visit>
  void for_each_key_run(const Sequence& sequence, std::int64_t group, KeyRange keys, Visit visit) const {
    for_each_run(&KeyValueSource::keys, sequence, group, keys, visit);
  }
  /// The same for value rows.
  template <class Visit>
  void for_each_value_run(const Sequence& sequence, std::int64_t group, KeyRange keys, Visit visit) const {
    for_each_run(&KeyValueSource::values, sequence, group, keys, visit);
  }

 private:
  using Side = RowRun (KeyValueSource::*)(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const;
  template <class Visit>
  void for_each_run(Side side, const Sequence& sequence, std::int64_t group, KeyRange keys, Visit& visit) const {
    for (std::int64_t j = keys.begin; j < keys.end;) {
      const RowRun run = (source.*side)(sequence.batch, group, sequence.key_begin + j, keys.end - j);
      visit(run, j - keys.begin);
      j += run.count;
    }
  }
};

/// What is added to a query's row to give its position. `total_keys`: rows of keys, or tokens ever appended to the
/// cache.
[[nodiscard]] std::int64_t sequence_offset(const AttentionOptions& options, std::int64_t n, std::int64_t total_keys,
                                           std::int64_t query_length, bool cached);

/// The number of sequences, and the sequences of a call with their lengths, offsets and positions.
[[nodiscard]] std::int64_t count_sequences(const AttentionShape& shape, const AttentionOptions& options);
void resolve_sequences(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                       Sequence* sequences);

/// Skv, or the largest number of keys that a batch of the cache holds.
[[nodiscard]] std::int64_t key_length_of(const AttentionShape& shape, const AttentionInputs& inputs);

/// What is known of a call before its tiles: its sequences, its formulas, and what mask and bias show. Stays where it
/// is: calls refer to it.
class PreparedCall {
 public:
  /// Finds them. `shape` to `options` must be valid.
  [[nodiscard]] Error prepare(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                              const AttentionOptions& options);

  /// The call, its defaults filled in. It refers to the arguments.
  [[nodiscard]] Call call(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                          const AttentionOutputs& outputs, const KeyValueSource& source) const;

 private:
  Buffer<Sequence> sequences_;
  std::int64_t num_sequences_ = 0, key_length_ = 0;
  CallFormulas formulas_;
  ShownKeys shown_by_mask_, shown_by_bias_;
};

}  // namespace headwise
