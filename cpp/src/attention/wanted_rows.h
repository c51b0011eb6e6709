#pragma once

#include "attention/call.h"
#include "base/memory.h"

namespace headwise {

/// The query rows that a call needs. Output, lse and entropy need all rows. Probs and top-k need the rows that they
/// select. Scores need none, since they need no softmax. A call for a few rows of a long sequence thus computes those
/// rows only.
class WantedRows {
 public:
  [[nodiscard]] Status gather(const AttentionShape& shape, const AttentionOutputs& outputs);

  [[nodiscard]] bool has(std::int64_t head, std::int64_t query) const {
    return all_ || wanted_[head * query_length_ + query];
  }

 private:
  void add(const AttentionShape& shape, const Selection& selection);

  bool all_ = false;
  std::int64_t query_length_ = 0;
  Buffer<std::uint8_t> wanted_;  ///< [num_heads, Sq]; empty if all_
};

}  // namespace headwise
