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
  /// Compiles them, and finds bounds and what is known about tables.
  [[nodiscard]] Error prepare(ThreadPool& pool, const AttentionShape& shape, const AttentionOptions& options,
                              const Sequence* sequences, std::int64_t num_sequences, const KernelTable& kernels);

  /// Null without such a formula.
  [[nodiscard]] const FormulaProgram* score() const { return score_; }
  [[nodiscard]] const FormulaProgram* rest() const { return rest_; }
  [[nodiscard]] const KeyBounds& bounds() const { return bounds_; }
  [[nodiscard]] const TableRanges& tables() const { return tables_; }

 private:
  /// Only calls with formulas have memory for them.
  struct Programs {
    FormulaProgram score, rest, bounds;
    Formula rest_formula, bounds_formula;
  };
  Buffer<Programs> programs_;
  const FormulaProgram *score_ = nullptr, *rest_ = nullptr;
  KeyBounds bounds_;
  TableRanges tables_;
};

/// A worker's part: the formulas for the rows and keys of a tile. What the call has no formula for is null.
struct TileFormulas {
  FormulaTile* score = nullptr;
  FormulaTile* visible = nullptr;   ///< the rest
  FormulaRanges* ranges = nullptr;  ///< of the rest
  Rows rows{};

  void place(Placement& place, const CallFormulas& formulas, const KernelTable& kernels, const FormulaRoom& room);
  void set_rows(const Rows& these);
  void set_keys(KeyRange keys) const;
};

}  // namespace headwise
