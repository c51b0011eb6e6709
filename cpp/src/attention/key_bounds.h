#pragma once

#include <cstdint>

#include "attention/key_range.h"
#include "attention/sequence.h"
#include "base/memory.h"
#include "formula/formula_program.h"
#include "headwise/attention.h"
#include "headwise/thread_pool.h"
#include "kernel/kernel_table.h"

namespace headwise {

/// The first and the last key that the bounds of AttentionOptions::visible allow to each row. They are found once,
/// before the tiles are computed.
class KeyBounds {
 public:
  /// @param program  that of the bounds alone
  [[nodiscard]] Status find(ThreadPool& pool, const AttentionShape& shape, const Sequence* sequences,
                            std::int64_t num_sequences, const FormulaProgram& program, const KernelTable& kernels);
  [[nodiscard]] bool known() const { return static_cast<bool>(rows_); }

  /// Removes the keys that row i of `head` may not see.
  void narrow(const Sequence& sequence, std::int64_t head, std::int64_t i, KeyRange* keys) const;

 private:
  struct Row {
    std::int32_t begin, end;
  };
  [[nodiscard]] std::int64_t index(const Sequence& sequence, std::int64_t head, std::int64_t i) const {
    return (sequence.batch * heads_ + (heads_ == 1 ? 0 : head)) * query_length_ + sequence.query_begin + i;
  }

  std::int64_t heads_ = 1;  ///< 1 if the bounds are the same for all heads
  std::int64_t query_length_ = 0;
  Buffer<Row> rows_;
};

}  // namespace headwise
