#pragma once

#include <cstdint>

#include "base/memory.h"
#include "base/rules.h"
#include "formula/formula_program.h"
#include "formula/formula_ranges.h"
#include "formula/formula_tile.h"
#include "headwise/attention.h"
#include "headwise/thread_pool.h"
#include "kernel/kernel_table.h"
#include "source/sequence.h"

namespace headwise {

/// The first and the last key that the bounds of AttentionOptions::visible allow to each row. They are found once,
/// before the tiles are computed.
class KeyBounds {
 public:
  /// @param program  that of the bounds alone
  [[nodiscard]] Error find(ThreadPool& pool, const AttentionShape& shape, const Sequence* sequences,
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

/// The formulas of a call, ready to run. `visible` is split: its bounds are key ranges of rows, the rest is asked for
/// boxes of rows and keys, and where these are mixed for each pair.
class CallFormulas {
 public:
  /// Needs no memory.
  void compile(const AttentionOptions& options);
  /// Finds bounds and what is known about tables.
  [[nodiscard]] Error prepare(ThreadPool& pool, const AttentionShape& shape, const Sequence* sequences,
                              std::int64_t num_sequences, const KernelTable& kernels);

  [[nodiscard]] const FormulaProgram& score() const { return score_; }
  [[nodiscard]] const FormulaProgram& rest() const { return rest_; }
  [[nodiscard]] const KeyBounds& bounds() const { return bounds_; }
  [[nodiscard]] const TableRanges& tables() const { return tables_; }

 private:
  Formula rest_formula_, bounds_formula_;
  FormulaProgram score_, rest_, bounds_program_;
  KeyBounds bounds_;
  TableRanges tables_;
};

/// A worker's part: the formulas for the rows and keys of a tile.
struct TileFormulas {
  FormulaTile score, visible;  ///< visible: the rest
  FormulaRanges ranges;        ///< of the rest
  Rows rows;

  /// @param boxes  the most that are asked for at a time
  void place(Placement& place, const CallFormulas& formulas, const KernelTable& kernels, const FormulaRoom& room,
             std::int64_t boxes);
  void set_rows(const CallFormulas& formulas, const Rows& these);
  void set_keys(const CallFormulas& formulas, KeyRange keys);
};

}  // namespace headwise
