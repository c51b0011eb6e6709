#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/memory.h"
#include "base/rules.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// What a position gives: a row of floats that depends on nothing else.
class PositionRule {
 public:
  virtual void write(double position, float* row) const = 0;

 protected:
  ~PositionRule() = default;
};

/// The rows of the tokens of one call.
struct PositionRows {
  Buffer<const float*> at;  ///< one for each token
  Buffer<float> own;        ///< rows that are not kept
};

/// The rows of a rule that calls have needed so far. A row is computed when a call first needs it, and never moves.
/// Rows of negative positions, and of positions from `limit()` on, are not kept: each call computes its own.
///
/// Several threads may call it at a time. The rule must not change.
class KeptRows {
 public:
  /// Rows of `width` floats.
  [[nodiscard]] Error create(const PositionRule& rule, std::int64_t width);

  /// Finds the rows of `count` positions.
  [[nodiscard]] Error find(ThreadPool& pool, const std::int64_t* positions, std::int64_t count, PositionRows* rows);

  [[nodiscard]] std::int64_t limit() const { return num_chunks_ * kChunkRows; }
  [[nodiscard]] std::int64_t bytes() const;  ///< of the rows that have room

 private:
  static constexpr std::int64_t kChunkRows = 64;
  struct Chunk {
    Buffer<float> rows;
    std::uint64_t computed = 0;  ///< bit i: row i has been computed
  };

  [[nodiscard]] bool keeps(std::int64_t position) const { return position >= 0 && position < limit(); }
  [[nodiscard]] Chunk& chunk_of(std::int64_t position) const { return chunks_[position / kChunkRows]; }
  [[nodiscard]] Error make_room(const std::int64_t* positions, std::int64_t count, std::int64_t* to_compute,
                                std::int64_t* own);

  const PositionRule* rule_ = nullptr;
  std::int64_t width_ = 0, num_chunks_ = 0;
  std::unique_ptr<Chunk[]> chunks_;
  mutable std::mutex mutex_;  ///< guards the chunks
};

}  // namespace headwise
