#pragma once

#include <cstdint>

#include "attention/call.h"
#include "attention/scores.h"
#include "base/memory.h"
#include "headwise/status.h"

namespace headwise {

/// The rows of weights that a call overwrites.
class PatchedProbs {
 public:
  explicit PatchedProbs(const Call& call) : call_(call), patch_(call.inputs.probs) {}
  [[nodiscard]] Status allocate();

  /// Whether the call overwrites the weights of `row`.
  [[nodiscard]] bool has(const Sequence& sequence, const QueryRow& row) const;

  /// Whether the call gives the weights of `row`, which then needs no visible key. A mean is taken over visible keys.
  [[nodiscard]] bool gives(const Sequence& sequence, const QueryRow& row) const {
    return !patch_.mean && has(sequence, row);
  }

  /// Overwrites them. `visible` says which keys the row sees; keys with a new weight count as seen.
  /// @param weights  of the first `width` keys of the sequence
  void overwrite(const Sequence& sequence, const QueryRow& row, std::int64_t width, float* weights,
                 std::uint8_t* visible) const;

 private:
  const Call& call_;
  const Patch& patch_;
  Buffer<std::int32_t> heads_, queries_;  ///< the place of each head and query in the selection, or -1
};

}  // namespace headwise
