#include "cache/rotary_rows.h"

namespace headwise {

Status turn_rows(ThreadPool& pool, const KvCache::Store& store, Layout layout, std::int64_t heads, std::int64_t length,
                 ConstArray x, const double* positions, std::int64_t planes, Buffer<float>* y) {
  const KvCacheShape& shape = store.shape;
  const std::int64_t size = shape.batch_size * length * heads * shape.head_dim;  // x has been found addressable
  if (!y->allocate(size)) return Status::out_of_memory(size * 4);
  RotaryAngles own;  // of a cache without tokens
  const bool has_angles = store.angles.half() > 0;
  if (!has_angles)
    if (Status status = own.create(*shape.rotary, shape.head_dim); !status.ok()) return status;
  const RotaryAngles& angles = has_angles ? store.angles : own;
  return turn_at(pool, layout, shape.batch_size, heads, length, shape.head_dim, angles, x, positions,
                 {y->data(), Dtype::float32}, planes);
}

}  // namespace headwise
