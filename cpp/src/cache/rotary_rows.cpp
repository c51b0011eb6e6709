#include "cache/rotary_rows.h"

namespace headwise {

Status turn_rows(ThreadPool& pool, const KvCache::Store& store, Layout layout, std::int64_t heads, std::int64_t length,
                 ConstArray x, const std::int64_t* first, const std::int32_t* given, Buffer<float>* y) {
  const KvCacheShape& shape = store.shape;
  Buffer<double> positions;  // neither product overflows: x has been found addressable
  const std::int64_t rows = shape.batch_size * length, size = rows * heads * shape.head_dim;
  if (!positions.allocate(rows) || !y->allocate(size)) return Status::out_of_memory(size * 4);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t b = row / length, i = row % length;
    positions[row] = given ? given[row] : static_cast<double>(first[b] + i);
  }
  RotaryAngles own;  // of a cache without tokens
  const bool has_angles = store.angles.half() > 0;
  if (!has_angles)
    if (Status status = own.create(*shape.rotary, shape.head_dim); !status.ok()) return status;
  const RotaryAngles& angles = has_angles ? store.angles : own;
  return turn_at(pool, layout, shape.batch_size, heads, length, shape.head_dim, angles, x, positions.data(),
                 {y->data(), Dtype::float32});
}

}  // namespace headwise
