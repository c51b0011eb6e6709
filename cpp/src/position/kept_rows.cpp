#include "position/kept_rows.h"

#include <algorithm>
#include <new>

#include "base/memory.h"

namespace headwise {

namespace {

// At most this much is kept: 10,922 rows of 768 floats.
constexpr std::int64_t kMostBytes = std::int64_t{32} << 20;
constexpr std::int64_t kMostChunks = 512;
constexpr std::int64_t kRowsPerTask = 4;  // a row of 768 sines and cosines takes about 10 us

}  // namespace

Error KeptRows::create(const PositionRule& rule, std::int64_t width) {
  rule_ = &rule;
  width_ = width;
  num_chunks_ = std::min(kMostBytes / (kFloatBytes * kChunkRows * width), kMostChunks);
  chunks_.reset(new (std::nothrow) Chunk[num_chunks_]);
  return chunks_ ? Error{} : out_of_memory(num_chunks_ * static_cast<std::int64_t>(sizeof(Chunk)));
}

/// Allocates the chunks of all positions. Counts the rows that must be computed, and those among them that are not
/// kept.
Error KeptRows::make_room(const std::int64_t* positions, std::int64_t count, std::int64_t* to_compute,
                          std::int64_t* own) {
  for (std::int64_t t = 0; t < count; ++t) {
    if (!keeps(positions[t])) {
      ++*own, ++*to_compute;
      continue;
    }
    Chunk& chunk = chunk_of(positions[t]);
    if (!chunk.rows)
      if (Error e = chunk.rows.allocate(kChunkRows * width_)) return e;
    *to_compute += chunk.computed >> positions[t] % kChunkRows & 1 ? 0 : 1;
  }
  return {};
}

Error KeptRows::find(ThreadPool& pool, const std::int64_t* positions, std::int64_t count, PositionRows* rows) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::int64_t most = 0, own = 0;
  if (Error e = make_room(positions, count, &most, &own)) return e;
  struct Row {
    std::int64_t position;
    float* floats;
  };
  Buffer<Row> missing;
  if (Error e = allocate_all(rows->at, count, rows->own, own * width_, missing, most)) return e;

  std::int64_t num_missing = 0, num_own = 0;
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t p = positions[t];
    float* row;
    bool computed = false;
    if (keeps(p)) {
      Chunk& chunk = chunk_of(p);
      const std::uint64_t bit = std::uint64_t{1} << p % kChunkRows;
      row = chunk.rows.data() + p % kChunkRows * width_;
      computed = chunk.computed & bit;
      chunk.computed |= bit;
    } else {
      row = rows->own.data() + num_own++ * width_;
    }
    rows->at[t] = row;
    if (!computed) missing[num_missing++] = {p, row};
  }
  pool.parallel_for((num_missing + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * kRowsPerTask, num_missing);
    for (std::int64_t i = task * kRowsPerTask; i < end; ++i)
      rule_->write(static_cast<double>(missing[i].position), missing[i].floats);
  });
  return {};
}

std::int64_t KeptRows::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::int64_t floats = 0;
  for (std::int64_t i = 0; i < num_chunks_; ++i) floats += chunks_[i].rows.size();
  return floats * kFloatBytes;
}

}  // namespace headwise
