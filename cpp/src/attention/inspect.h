#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/rows.h"
#include "attention/softmax.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// How many rows and keys are inspected at a time. Depends on the shape alone.
struct InspectionSizes {
  std::int64_t rows, width, keys;  ///< rows of a stretch, padded Skv, keys packed at a time
};
[[nodiscard]] InspectionSizes inspection_sizes(const Call& call);

/// Rows of values that are widened at a time.
constexpr std::int64_t kValueRows = 16;

/// One worker's scratch for a stretch of chosen rows.
struct InspectionScratch {
  InspectionSizes sizes;
  float* query;               ///< [rows, head_dim]
  float* kept_query;          ///< [rows, head_dim]: the same of Call::kept_query, if there is one
  float* keys;                ///< packed keys
  float* scores;              ///< [rows, width]
  float* mean;                ///< [rows, width]: probabilities added up over heads
  float* row;                 ///< [width]
  std::uint64_t* candidates;  ///< [width]
  std::uint8_t* visible;      ///< [width]
  std::uint8_t* any;          ///< [rows, width]: visible in some head
  float* out;                 ///< [value_dim]; so is `values`, only if weights are patched
  float* values;              ///< [kValueRows, value_dim]
  TileFormulas formulas;      ///< for one row

  /// @param memory  inspection_bytes(call)
  InspectionScratch(const Call& call, char* memory);
};

/// Bytes of scratch that a worker needs; -1 on overflow.
[[nodiscard]] std::int64_t inspection_bytes(const Call& call);

/// The second pass. It recomputes the scores of the chosen rows, a few rows against all keys at a time. From them and
/// from each row's final softmax (`statistics`, [B, num_heads, Sq]) it computes what is wanted. `scratch` holds
/// inspection_bytes for every worker.
void inspect(ThreadPool& pool, const Call& call, const PatchedProbs& patched, const FinishedSoftmax* statistics,
             char* scratch);

}  // namespace headwise
