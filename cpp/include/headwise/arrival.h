#pragma once

#include <cstdint>

namespace headwise {

/// Queries, keys and values that are still being written when a call starts, so that workers begin with those that are
/// there. They arrive pair by pair, a pair being a batch and a kv head with its query heads: `batch * num_kv_heads +
/// kv_head`. Ragged calls are refused: their sequences are no pairs.
class Arrival {
 public:
  virtual ~Arrival() = default;
  /// Called once by the thread that makes the call, unless the call is refused: when the other threads have begun, or
  /// before, where all queries are needed first (a rotary cache). Returns when all is there.
  virtual void complete() = 0;
  /// Called by any thread, with a pair below batch_size * num_kv_heads. Returns when all of `pair` is there.
  virtual void wait_for(std::int64_t pair) = 0;
};

}  // namespace headwise
