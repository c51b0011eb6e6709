#pragma once

#include <cstdint>

#include "attention/call.h"
#include "base/memory.h"
#include "base/rules.h"
#include "headwise/attention.h"
#include "kernel/kernel_table.h"

namespace headwise {

/// How many query rows meet how many keys at a time. The bits of a row depend on `keys`, `in_place` and `split`, which
/// depend on the shape and the instruction set alone. They do not depend on `rows`, which follows the number of
/// threads.
struct TileSizes {
  std::int64_t rows;   ///< query rows of a tile; the heads of a group count as rows
  std::int64_t strip;  ///< rows of a tile that are scored, weighed and added up before the next rows
  std::int64_t keys;   ///< key rows of a tile, a multiple of the panel width, at most 64 panels
  bool in_place;       ///< few rows: keys and values are read where they lie, not packed into panels
  std::int64_t split;  ///< keys of a split, a multiple of `keys`; 0: no splits
};

/// Whether so many query rows of a kv head read its keys and values where they lie.
[[nodiscard]] bool reads_in_place(std::int64_t rows);

/// The tiles of one sequence: rows x splits for every kv head.
struct SequencePlan {
  TileSizes tiles;
  std::int64_t rows;  ///< group size * queries
  std::int64_t row_tiles, splits;
  // Tasks are numbered over all sequences. So are the results of splits, one for each kv head and split.
  std::int64_t first_task, first_split_result;

  [[nodiscard]] bool is_split() const { return tiles.split > 0; }
};

/// How a call is cut into tasks. Only the number of rows of a task depends on the number of threads.
struct Plan {
  Buffer<SequencePlan> sequence_plans;  ///< of each sequence of the call
  std::int64_t tasks = 0, split_results = 0;
  std::int64_t split_rows = 0;     ///< rows of the largest result of a split
  std::int64_t scratch_bytes = 0;  ///< of the largest tile
  double multiply_adds = 0;        ///< of all tasks, as if every query saw every key
};

/// Fails if a tile cannot be addressed or memory is short.
[[nodiscard]] Error make_plan(const Call& call, int threads, Plan* plan);

}  // namespace headwise
