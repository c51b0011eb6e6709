#pragma once

#include "headwise/kv_cache.h"
#include "source/key_positions.h"
#include "source/key_value_source.h"

namespace headwise {

/// Reads the rows of a cache where they lie. A run ends at the end of a block, and where a ring starts again.
class KvCacheSource final : public KeyValueSource {
 public:
  explicit KvCacheSource(const KvCache& cache) : cache_(cache) {}
  [[nodiscard]] RowRun keys(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const override;
  [[nodiscard]] RowRun values(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const override;
  [[nodiscard]] const float* key_mean(std::int64_t b, std::int64_t g) const override;
  /// Positions of batch b's key rows.
  [[nodiscard]] KeyPositions positions(std::int64_t b) const;

 private:
  const KvCache& cache_;
};

}  // namespace headwise
