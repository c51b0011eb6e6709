#pragma once

#include <cstdint>

#include "backward/head_sums.h"

namespace headwise {

/// What the query rows of a kv head have gathered over some of its keys.
struct QuerySums {
  float* gradient;  ///< [rows, query_width], without the scale; null if it is not wanted
  RowSums* rows;    ///< [rows]

  /// Bytes for `count` rows; -1 on overflow.
  static std::int64_t bytes(const GradientCall& call, std::int64_t count);
  void place(char* memory, const GradientCall& call, std::int64_t count);
  void clear(const GradientCall& call, std::int64_t count);
  void add(const QuerySums& other, const GradientCall& call, std::int64_t count);
  /// Writes the gradients of the queries, and adds up the rows of each head: `heads` is [num_heads], or null.
  void store(const GradientCall& call, const RowBlock& block, HeadSums* heads) const;
};

}  // namespace headwise
