#include "headwise/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "attention/call.h"
#include "attention/validate.h"
#include "base/half.h"
#include "base/quantise.h"
#include "base/workspace.h"
#include "headwise/arrival.h"
#include "headwise/thread_pool.h"
#include "source/dense_source.h"
#include "source/key_positions.h"
#include "source/kv_cache_source.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

constexpr std::int64_t kLargestCount = std::numeric_limits<std::int32_t>::max();

// Waking a worker costs about as much as storing so many rows.
constexpr std::int64_t kRowsPerTask = 64;

Status check_count(const char* name, std::int64_t value, std::int64_t least) {
  if (value >= least && value <= kLargestCount) return {};
  return Status::error(StatusCode::invalid_shape, "%s must be in %lld..2^31-1, got %lld", name,
                       static_cast<long long>(least), static_cast<long long>(value));
}

Status check_shape(const KvCacheShape& shape) {
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
  if (shape.rotary) return validate_rotary(*shape.rotary, shape.head_dim);
  return {};
}

/// Tokens that batch b gains.
std::int64_t gain_of(const std::int32_t* lengths, std::int64_t num_tokens, std::int64_t b) {
  return lengths ? lengths[b] : num_tokens;
}

Status check_lengths(const KvCache::Store& store, std::int64_t num_tokens, const std::int32_t* lengths) {
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) {
    const std::int64_t gain = gain_of(lengths, num_tokens, b);
    if (gain < 0 || gain > num_tokens)
      return Status::error(StatusCode::invalid_shape, "lengths[%lld] must be in 0..%lld, got %lld",
                           static_cast<long long>(b), static_cast<long long>(num_tokens), static_cast<long long>(gain));
    if (store.appended[b] + gain > store.most_tokens())
      return Status::error(StatusCode::invalid_shape, "batch %lld holds %lld of at most %lld tokens: no room for %lld",
                           static_cast<long long>(b), static_cast<long long>(store.appended[b]),
                           static_cast<long long>(store.most_tokens()), static_cast<long long>(gain));
  }
  return {};
}

Status check_array(const char* name, ConstArray array) {
  if (array.dtype == Dtype::float32 || array.dtype == Dtype::float16) return {};
  return Status::error(StatusCode::unsupported, "%s must be float32 or float16", name);
}

// ------------------------------------------------------------------------------------------------------------ rotary

/// y = x [B, heads, S, head_dim], turned: row i of batch b stands at first[b] + i.
Status turn(ThreadPool& pool, const KvCacheShape& shape, Layout layout, std::int64_t heads, std::int64_t length,
            ConstArray x, const std::int64_t* first, Buffer<float>* y) {
  Buffer<double> positions;  // neither product overflows: the array x was found addressable
  const std::int64_t rows = shape.batch_size * length, size = rows * heads * shape.head_dim;
  if (!positions.allocate(rows) || !y->allocate(size)) return Status::out_of_memory(size * 4);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t b = row / length, i = row % length;
    positions[row] = static_cast<double>(first[b] + i);
  }
  return rotary_embedding_at(pool, layout, shape.batch_size, heads, length, shape.head_dim, *shape.rotary, x,
                             positions.data(), {y->data(), Dtype::float32});
}

Status turn_keys(ThreadPool& pool, const KvCache::Store& store, Layout layout, std::int64_t num_tokens, ConstArray key,
                 Buffer<float>* turned) {
  Buffer<std::int64_t> first;
  if (!first.allocate(store.shape.batch_size)) return Status::out_of_memory(store.shape.batch_size * 8);
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) first[b] = store.appended[b] + store.rotary_origin[b];
  return turn(pool, store.shape, layout, store.shape.num_kv_heads, num_tokens, key, first.data(), turned);
}

// ----------------------------------------------------------------------------------------------------------- storing

/// The arrays that an append reads, as attention() would.
AttentionShape arrays_shape(const KvCacheShape& shape, std::int64_t num_tokens) {
  AttentionShape arrays;
  arrays.batch_size = shape.batch_size;
  arrays.num_heads = shape.num_kv_heads;
  arrays.num_kv_heads = shape.num_kv_heads;
  arrays.key_length = num_tokens;
  arrays.head_dim = shape.head_dim;
  arrays.value_dim = shape.value_dim;
  return arrays;
}

/// Row r of a run as float32.
void widen_row(const RowRun& run, std::int64_t r, std::int64_t width, float* row) {
  const std::int64_t at = r * run.row_stride;
  if (run.dtype == Dtype::float32) {
    const float* x = static_cast<const float*>(run.data) + at;
    for (std::int64_t d = 0; d < width; ++d) row[d] = x[d * run.column_stride];
  } else {
    const std::uint16_t* x = static_cast<const std::uint16_t*>(run.data) + at;
    for (std::int64_t d = 0; d < width; ++d) row[d] = half_to_float(x[d * run.column_stride]);
  }
}

/// Stores one float32 row.
void store_row(const float* row, std::int64_t width, Dtype dtype, std::uint8_t* to, float* scale) {
  switch (dtype) {
    case Dtype::float32:
      std::memcpy(to, row, static_cast<std::size_t>(width) * sizeof(float));
      return;
    case Dtype::float16:
      floats_to_halves(row, width, reinterpret_cast<std::uint16_t*>(to));
      return;
    case Dtype::int8:
      quantise_row(row, width, reinterpret_cast<std::int8_t*>(to), scale);
  }
}

/// Stores a run of rows in a block; `row` is scratch for one of them.
void store_run(const RowRun& run, const BlockSide& side, Dtype dtype, std::uint8_t* to, float* scales, float* row) {
  const bool as_it_is = run.dtype == dtype && run.column_stride == 1;
  const std::uint8_t* from = static_cast<const std::uint8_t*>(run.data);
  for (std::int64_t r = 0; r < run.count; ++r) {
    std::uint8_t* const to_r = to + r * side.row_bytes;
    if (as_it_is) {
      std::memcpy(to_r, from + r * run.row_stride * size_of(dtype), static_cast<std::size_t>(side.row_bytes));
    } else {
      widen_row(run, r, side.width, row);
      store_row(row, side.width, dtype, to_r, scales + r);
    }
  }
}

/// Stores the rows that head g of batch b gained when it grew from `before` tokens; their blocks are reserved.
void store_gain(KvCache::Store& store, const KeyValueSource& source, std::int64_t b, std::int64_t g,
                std::int64_t before, float* row) {
  const KeyPositions positions = store.positions_of(store.appended[b]);
  const std::int64_t length = store.length(b);
  RowSpan span;
  for (std::int64_t j = positions.rows_before(before); j < length; j += span.count) {
    span = store.span(b, j, length - j);
    const std::int64_t token = positions.of(j) - before;
    std::uint8_t* const data = store.block(b, span.block)->data();
    const auto store_side = [&](const BlockSide& side, const RowRun& run) {
      store_run(run, side, store.shape.dtype, data + store.row_offset(side, g, span.row),
                reinterpret_cast<float*>(data + store.scale_offset(side, g, span.row)), row);
    };
    store_side(store.layout.key, source.keys(b, g, token, span.count));
    store_side(store.layout.value, source.values(b, g, token, span.count));
  }
}

bool reserve_gain(KvCache::Store& store, std::int64_t num_tokens, const std::int32_t* lengths) {
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b)
    if (!store.reserve(b, store.appended[b], store.appended[b] + gain_of(lengths, num_tokens, b))) return false;
  return true;
}

void trim_all(KvCache::Store& store) {
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) store.trim(b);
}

Status check_rewind(const KvCache::Store& store, std::int64_t b, std::int64_t length) {
  if (length < 0)
    return Status::error(StatusCode::invalid_option, "length must be >= 0, got %lld", static_cast<long long>(length));
  if (length <= store.shape.keep_first || length >= store.appended[b] ||
      store.dropped_of(length) == store.dropped_of(store.appended[b]))
    return {};
  return Status::error(StatusCode::invalid_option,
                       "batch %lld of a ring has dropped tokens that it would hold at length %lld",
                       static_cast<long long>(b), static_cast<long long>(length));
}

/// Copies key rows [from, to) of batch b to the rows from 0 of another cache of the same shape, whose blocks are
/// reserved.
void copy_rows(const KvCache::Store& source, KvCache::Store& copy, std::int64_t b, std::int64_t from, std::int64_t to) {
  RowSpan out, in;
  for (std::int64_t j = from; j < to; j += in.count) {
    out = copy.span(b, j - from, to - j);
    in = source.span(b, j, out.count);
    std::uint8_t* const to_data = copy.block(b, out.block)->data();
    const std::uint8_t* const from_data = source.block(b, in.block)->data();
    for (std::int64_t g = 0; g < source.shape.num_kv_heads; ++g)
      for (const BlockSide* side : {&source.layout.key, &source.layout.value}) {
        std::memcpy(to_data + copy.row_offset(*side, g, out.row), from_data + source.row_offset(*side, g, in.row),
                    static_cast<std::size_t>(in.count * side->row_bytes));
        if (source.shape.dtype == Dtype::int8)
          std::memcpy(to_data + copy.scale_offset(*side, g, out.row), from_data + source.scale_offset(*side, g, in.row),
                      static_cast<std::size_t>(in.count) * sizeof(float));
      }
  }
}

}  // namespace

KvCache::KvCache(std::unique_ptr<Store> store) : store_(std::move(store)) {}
KvCache::~KvCache() = default;

Status KvCache::create(const KvCacheShape& shape, std::unique_ptr<KvCache>* cache) {
  if (Status status = check_shape(shape); !status.ok()) return status;
  std::unique_ptr<Store> store(new (std::nothrow) Store);
  if (!store || !store->initialise(shape)) return Status::out_of_memory(shape.batch_size * 16);
  cache->reset(new (std::nothrow) KvCache(std::move(store)));
  return *cache ? Status{} : Status::out_of_memory(sizeof(KvCache));
}

Status KvCache::append(ThreadPool& pool, Layout layout, std::int64_t num_tokens, ConstArray key, ConstArray value,
                       const std::int32_t* lengths) {
  Store& store = *store_;
  const AttentionShape arrays = arrays_shape(store.shape, num_tokens);
  if (Status status = validate_shape(arrays); !status.ok()) return status;
  if (Status status = check_lengths(store, num_tokens, lengths); !status.ok()) return status;
  if (Status status = check_array("key", key); !status.ok()) return status;
  if (Status status = check_array("value", value); !status.ok()) return status;

  Buffer<float> turned;
  if (store.shape.rotary) {
    if (Status status = turn_keys(pool, store, layout, num_tokens, key, &turned); !status.ok()) return status;
    key = {turned.data(), Dtype::float32};
  }
  const std::int64_t widest = std::max(store.shape.head_dim, store.shape.value_dim);
  Buffer<float> rows;  // one for each worker
  Buffer<std::int64_t> before;
  if (!rows.allocate(widest * pool.size()) || !before.allocate(store.shape.batch_size) ||
      !reserve_gain(store, num_tokens, lengths)) {
    trim_all(store);
    return Status::out_of_memory(store.layout.bytes);
  }
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) {
    before[b] = store.appended[b];
    store.appended[b] += gain_of(lengths, num_tokens, b);
  }

  const DenseSource source(arrays, layout, key, value);
  const std::int64_t num_kv_heads = store.shape.num_kv_heads, heads = store.shape.batch_size * num_kv_heads;
  const std::int64_t heads_per_task = std::max<std::int64_t>(1, kRowsPerTask / std::max<std::int64_t>(1, num_tokens));
  pool.parallel_for((heads + heads_per_task - 1) / heads_per_task, [&](std::int64_t task, int worker) {
    const std::int64_t end = std::min(heads, (task + 1) * heads_per_task);
    for (std::int64_t head = task * heads_per_task; head < end; ++head) {
      const std::int64_t b = head / num_kv_heads, g = head % num_kv_heads;
      store_gain(store, source, b, g, before[b], rows.data() + worker * widest);
    }
  });
  return {};
}

Status KvCache::attend(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                       const AttentionOptions& options, const AttentionOutputs& outputs) const {
  AttentionInputs cached = inputs;
  cached.cache = this;
  if (!store_->shape.rotary) return attention(pool, shape, cached, options, outputs);

  if (Status status = validate(shape, cached, options, outputs); !status.ok()) return status;
  Buffer<Sequence> sequences;
  Buffer<std::int64_t> first;
  if (!sequences.allocate(shape.batch_size) || !first.allocate(shape.batch_size))
    return Status::out_of_memory(shape.batch_size * static_cast<std::int64_t>(sizeof(Sequence)));
  resolve_sequences(shape, cached, options, sequences.data());
  for (std::int64_t b = 0; b < shape.batch_size; ++b) first[b] = sequences[b].offset + store_->rotary_origin[b];
  if (cached.arrival) {  // turning reads all queries
    cached.arrival->complete();
    cached.arrival = nullptr;
  }
  Buffer<float> turned;
  if (Status status = turn(pool, store_->shape, options.layout, shape.num_heads, shape.query_length, cached.query,
                           first.data(), &turned);
      !status.ok())
    return status;
  cached.query = {turned.data(), Dtype::float32};
  return attention(pool, shape, cached, options, outputs);
}

Status KvCache::rewind(std::int64_t length) {
  return rewind_to([length](std::int64_t) { return length; });
}

Status KvCache::rewind_each(const std::int32_t* lengths) {
  return rewind_to([lengths](std::int64_t b) { return std::int64_t{lengths[b]}; });
}

template <class LengthOf>
Status KvCache::rewind_to(LengthOf length_of) {
  Store& store = *store_;
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b)
    if (Status status = check_rewind(store, b, length_of(b)); !status.ok()) return status;
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b)
    store.appended[b] = std::min(store.appended[b], length_of(b));
  trim_all(store);
  return {};
}

Status KvCache::fork(std::unique_ptr<KvCache>* copy) const {
  if (Status status = create(store_->shape, copy); !status.ok()) return status;
  Store& twin = *(*copy)->store_;
  if (!twin.blocks.allocate(store_->blocks.size())) {
    copy->reset();
    return Status::out_of_memory(store_->blocks.size() * static_cast<std::int64_t>(sizeof(Block*)));
  }
  twin.blocks_per_batch = store_->blocks_per_batch;
  for (std::int64_t i = 0; i < twin.blocks.size(); ++i) twin.blocks[i] = share_block(store_->blocks[i]);
  for (std::int64_t b = 0; b < twin.shape.batch_size; ++b) {
    twin.appended[b] = store_->appended[b];
    twin.rotary_origin[b] = store_->rotary_origin[b];
  }
  return {};
}

Status KvCache::slice(std::int64_t from, std::int64_t to, std::unique_ptr<KvCache>* part) const {
  if (from < 0 || to < from || to > max_length())
    return Status::error(StatusCode::invalid_option, "slice [%lld, %lld) must lie in 0..%lld",
                         static_cast<long long>(from), static_cast<long long>(to),
                         static_cast<long long>(max_length()));
  if (Status status = create(store_->shape, part); !status.ok()) return status;
  Store& copy = *(*part)->store_;
  for (std::int64_t b = 0; b < copy.shape.batch_size; ++b) {
    const std::int64_t begin = std::min(from, length(b)), end = std::min(to, length(b));
    if (!copy.reserve(b, 0, end - begin)) {
      part->reset();
      return Status::out_of_memory(store_->layout.bytes);
    }
    copy.appended[b] = end - begin;
    // The next token stands right after the last row, in the new numbering as in the angles.
    if (copy.shape.rotary)
      copy.rotary_origin[b] = store_->rotary_origin[b] + store_->end_position(b, end) - (end - begin);
    copy_rows(*store_, copy, b, begin, end);
  }
  return {};
}

const KvCacheShape& KvCache::shape() const { return store_->shape; }
std::int64_t KvCache::length(std::int64_t b) const { return store_->length(b); }
std::int64_t KvCache::appended(std::int64_t b) const { return store_->appended[b]; }

std::int64_t KvCache::max_length() const {
  std::int64_t most = 0;
  for (std::int64_t b = 0; b < store_->shape.batch_size; ++b) most = std::max(most, length(b));
  return most;
}

std::int64_t KvCache::bytes() const {
  std::int64_t held = 0;
  for (std::int64_t i = 0; i < store_->blocks.size(); ++i) held += store_->blocks[i] ? store_->layout.bytes : 0;
  return held;
}

}  // namespace headwise
