#pragma once

#include <cstdint>

namespace headwise {

/// Queries, keys and values that are still being written when a call starts. Workers begin with those that have
/// arrived. They arrive pair by pair. A pair is a batch and a kv head with its query heads; its number is batch *
/// num_kv_heads + kv_head. Ragged calls with an arrival are refused, since their sequences are no pairs.
class Arrival {
 public:
  virtual ~Arrival() = default;
  /// Called once, by the thread that makes the call, unless the call is refused. It is called after the other threads
  /// have begun. A rotary cache needs all queries first and calls it before they begin. Returns when all pairs have
  /// arrived.
  virtual void complete() = 0;
  /// Called by any thread, with a pair below batch_size * num_kv_heads. Returns when `pair` has arrived.
  virtual void wait_for(std::int64_t pair) = 0;
};

}  // namespace headwise
