#pragma once

#include <cstdint>

#include "attention/call.h"

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

}  // namespace headwise
