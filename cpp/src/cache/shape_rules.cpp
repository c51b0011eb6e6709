#include "cache/shape_rules.h"

#include <limits>

#include "position/rotary.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

constexpr std::int64_t kLargestCount = std::numeric_limits<std::int32_t>::max();

Status check_count(const char* name, std::int64_t value, std::int64_t least) {
  if (value >= least && value <= kLargestCount) return {};
  return Status::error(StatusCode::invalid_shape, "%s must be in %lld..2^31-1, got %lld", name,
                       static_cast<long long>(least), static_cast<long long>(value));
}

}  // namespace

Status check_cache_shape(const KvCacheShape& shape) {
  const struct {
    const char* name;
    std::int64_t value, least;
  } counts[] = {{"batchSize", shape.batch_size, 0}, {"numKvHeads", shape.num_kv_heads, 1},
                {"headDim", shape.head_dim, 1},     {"valueDim", shape.value_dim, 1},
                {"capacity", shape.capacity, 0},    {"keepFirst", shape.keep_first, 0},
                {"window", shape.window, 0}};
  for (const auto& count : counts)
    if (Status status = check_count(count.name, count.value, count.least); !status.ok()) return status;
  if (shape.dtype != Dtype::float32 && shape.dtype != Dtype::float16 && shape.dtype != Dtype::int8)
    return Status::error(StatusCode::invalid_option, "dtype must be float32, float16 or int8, got %d",
                         static_cast<int>(shape.dtype));
  if (shape.keep_first > 0 && shape.window == 0)
    return Status::error(StatusCode::invalid_option, "keepFirst (%lld) needs a window of at least 1",
                         static_cast<long long>(shape.keep_first));
  if (shape.window > 0 && shape.capacity > 0 && shape.capacity < shape.keep_first + shape.window)
    return Status::error(StatusCode::invalid_option, "capacity must be at least keepFirst + window (%lld), got %lld",
                         static_cast<long long>(shape.keep_first + shape.window),
                         static_cast<long long>(shape.capacity));
  if (token_bytes(shape) > kMostTokenBytes)
    return Status::error(
        StatusCode::invalid_shape,
        "numKvHeads (%lld) rows of headDim (%lld) and valueDim (%lld) are too large for a block: a token may "
        "take 2^48 bytes",
        static_cast<long long>(shape.num_kv_heads), static_cast<long long>(shape.head_dim),
        static_cast<long long>(shape.value_dim));
  if (shape.cache_positions && shape.window == 0)
    return Status::error(StatusCode::invalid_option, "positions in the cache need a ring");
  if (shape.cache_positions && shape.rotary && shape.rotary->scaling == RotaryScaling::tables)
    return Status::error(StatusCode::unsupported, "positions in the cache do not go with tables of cos and sin");
  if (shape.rotary) return validate_rotary(*shape.rotary, shape.head_dim);
  return {};
}

}  // namespace headwise
