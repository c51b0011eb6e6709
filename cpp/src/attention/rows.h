#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/chosen.h"
#include "attention/scores.h"
#include "base/memory.h"
#include "base/rules.h"

namespace headwise {

/// The sequence that owns query row `query` of batch `batch`.
[[nodiscard]] const Sequence* sequence_of(const Call& call, std::int64_t batch, std::int64_t query);

/// The query rows that a call needs. Output, lse and entropy need all rows. Probs and top-k need the rows that they
/// select. Scores need none, since they need no softmax. A call for a few rows of a long sequence thus computes those
/// rows only.
class WantedRows {
 public:
  [[nodiscard]] Error gather(const AttentionShape& shape, const AttentionOutputs& outputs);

  [[nodiscard]] bool has(std::int64_t head, std::int64_t query) const {
    return all_ || wanted_[head * query_length_ + query];
  }

 private:
  void add(const Chosen& chosen);

  bool all_ = false;
  std::int64_t query_length_ = 0;
  Buffer<std::uint8_t> wanted_;  ///< [num_heads, Sq]; empty if all_
};

/// Whether the call wants results of the second pass, `inspect`: probs, scores, entropy, top-k, or rows of the
/// output whose weights are overwritten.
[[nodiscard]] bool wants_inspection(const Call& call);

/// The rows of weights that a call overwrites.
class PatchedProbs {
 public:
  explicit PatchedProbs(const Call& call) : call_(call), patch_(call.inputs.probs) {}
  [[nodiscard]] Error allocate();

  /// Whether the call overwrites the weights of `row`.
  [[nodiscard]] bool has(const QueryRow& row) const;

  /// Whether the call gives the weights of `row`, which then needs no visible key. A mean is taken over visible keys.
  [[nodiscard]] bool gives(const QueryRow& row) const { return !patch_.mean && has(row); }

  /// Overwrites them. `visible` says which keys the row sees; keys with a new weight count as seen.
  /// @param weights  of the first `width` keys of the sequence
  void overwrite(const QueryRow& row, std::int64_t width, float* weights, std::uint8_t* visible) const;

 private:
  const Call& call_;
  const Patch& patch_;
  Buffer<std::int32_t> heads_, queries_;  ///< the place of each head and query in the selection, or -1
};

/// EmptyRows::fail: an error that names the first rows that see no key. Visibility alone decides. Rows whose weights
/// the call gives are not empty.
[[nodiscard]] Error find_empty_rows(const Call& call);

}  // namespace headwise
