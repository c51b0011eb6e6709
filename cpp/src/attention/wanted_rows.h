#pragma once

#include "attention/call.h"
#include "base/workspace.h"

namespace headwise {

/// The query rows that a call needs: all of them for output, lse and entropy; for probs and top-k alone those of their
/// selections; none for scores, which need no softmax. Looking at a few rows of a long sequence costs those rows.
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
  Buffer<std::uint8_t> wanted_;  ///< [num_heads, Sq], unless all_
};

}  // namespace headwise
