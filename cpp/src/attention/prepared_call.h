#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/call_formulas.h"
#include "attention/shown_keys.h"
#include "base/memory.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// What is known of a call before its tiles: its sequences, its formulas, and what mask and bias show. Stays where it
/// is: calls refer to it.
class PreparedCall {
 public:
  /// Finds them. `shape` to `options` must be valid.
  [[nodiscard]] Status prepare(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
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
