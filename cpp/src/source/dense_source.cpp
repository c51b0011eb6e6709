#include "source/dense_source.h"

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

}  // namespace headwise
