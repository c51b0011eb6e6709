#include "source/key_value_source.h"

#include "source/kv_cache_store.h"

namespace headwise {

DenseSource::DenseSource(const AttentionShape& shape, Layout layout, ConstArray key, ConstArray value)
    : key_{key, strides_of(layout, shape.num_kv_heads, shape.key_length, shape.head_dim)},
      value_{value, strides_of(layout, shape.num_kv_heads, shape.key_length, shape.value_dim)} {}

RowRun DenseSource::Side::run(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const {
  return row_run(array, strides, b, g, j, limit);
}

RowRun DenseSource::keys(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const {
  return key_.run(b, g, j, limit);
}

RowRun DenseSource::values(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const {
  return value_.run(b, g, j, limit);
}

namespace {

RowRun run_of(const KvCache::Store& store, const BlockSide& side, std::int64_t b, std::int64_t g, std::int64_t j,
              std::int64_t limit) {
  const RowSpan span = store.span(b, j, limit);
  const std::uint8_t* data = store.block(b, span.block)->data();
  RowRun run;
  run.data = data + store.row_offset(side, g, span.row);
  run.dtype = store.shape.dtype;
  run.row_stride = static_cast<std::ptrdiff_t>(side.width);
  run.count = span.count;
  if (run.dtype == Dtype::int8) {
    run.scales = reinterpret_cast<const float*>(data + store.scale_offset(side, g, span.row));
    run.scale_stride = static_cast<std::ptrdiff_t>(side.scales);
  }
  return run;
}

}  // namespace

RowRun KvCacheSource::keys(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const {
  return run_of(cache_.store(), cache_.store().layout.key, b, g, j, limit);
}

RowRun KvCacheSource::values(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t limit) const {
  return run_of(cache_.store(), cache_.store().layout.value, b, g, j, limit);
}

const float* KvCacheSource::key_mean(std::int64_t b, std::int64_t g) const { return cache_.store().key_mean(b, g); }

}  // namespace headwise
