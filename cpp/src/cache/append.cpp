#include "cache/append.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "attention/validate.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "cache/wide_ring.h"
#include "headwise/thread_pool.h"
#include "kernel/row_run.h"
#include "position/rotary.h"
#include "source/key_value_source.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

/// row = row r of a run of float32 or float16, as float32.
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

constexpr float kStandardErrors = 5.0f;
constexpr float kLargestMean = 0x1p64f;

/// Floats of scratch for mean_of_keys.
constexpr std::int64_t key_mean_scratch(std::int64_t width) { return 3 * width; }

/// The mean of the first `count` keys of a head, [width], without the rows that have a NaN or an infinity. It is what a
/// cache of int8 subtracts from all keys of the head before it quantises them. A feature whose mean may be chance has 0
/// instead, because a chance number would only make the keys longer: with n rows, a mean within 5 / sqrt(n) of the
/// average magnitude of all features. For normal numbers around 0 that is four standard errors. Means from 2^64 on also
/// count as 0: subtracting them could overflow. Sums are of float32 in the order of the rows, as on WebGPU.
void mean_of_keys(const KeyValueSource& keys, std::int64_t b, std::int64_t g, std::int64_t count, std::int64_t width,
                  float* scratch, float* mean) {
  float *const row = scratch, *const sums = row + width, *const sizes = sums + width;
  std::fill_n(sums, 2 * width, 0.0f);
  std::int64_t rows = 0;
  RowRun run;
  for (std::int64_t j = 0; j < count; j += run.count) {
    run = keys.keys(b, g, j, count - j);
    for (std::int64_t r = 0; r < run.count; ++r) {
      widen_row(run, r, width, row);
      if (!all_finite(row, width)) continue;
      ++rows;
      for (std::int64_t d = 0; d < width; ++d) {
        sums[d] += row[d];
        sizes[d] += std::abs(row[d]);
      }
    }
  }
  const float n = static_cast<float>(std::max<std::int64_t>(rows, 1));
  float size = 0.0f;  // of all features
  for (std::int64_t d = 0; d < width; ++d) size += sizes[d] / n;
  const float chance = kStandardErrors * size / static_cast<float>(width) / std::sqrt(n);
  for (std::int64_t d = 0; d < width; ++d) {
    const float m = sums[d] / n, magnitude = std::abs(m);
    mean[d] = magnitude > chance && magnitude < kLargestMean ? m : 0.0f;
  }
}

// Waking a worker takes about as long as storing this many rows.
constexpr std::int64_t kRowsPerAppend = 64;

/// The number of tokens that batch b gains.
std::int64_t gain_of(const std::int32_t* lengths, std::int64_t num_tokens, std::int64_t b) {
  return lengths ? lengths[b] : num_tokens;
}

Error check_lengths(const KvCache::Store& store, std::int64_t num_tokens, const std::int32_t* lengths) {
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) {
    const std::int64_t gain = gain_of(lengths, num_tokens, b);
    if (gain < 0 || gain > num_tokens) return refuse(Rule::append_length, at(b), num_tokens, gain);
    if (store.appended[b] + gain > store.most_tokens())
      return refuse(Rule::append_room, at(b), store.appended[b], store.most_tokens(), gain);
  }
  return {};
}

/// The arrays that an append reads, as the shape of an attention call on them.
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

Error turn_keys(ThreadPool& pool, const KvCache::Store& store, Layout layout, std::int64_t num_tokens, ConstArray key,
                const std::int32_t* given, std::int64_t planes, Buffer<float>* turned) {
  Buffer<double> positions;
  const std::int64_t tokens = store.shape.batch_size * num_tokens, rows = given ? planes * tokens : tokens;
  if (Error e = positions.allocate(rows)) return e;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (given) {
      positions[row] = given[row];
      continue;
    }
    const std::int64_t b = row / num_tokens, i = row % num_tokens;
    positions[row] = static_cast<double>(store.appended[b] + store.rotary_origin[b] + i);
  }
  return turn_rows(pool, store, layout, store.shape.num_kv_heads, num_tokens, key, positions.data(), given ? planes : 1,
                   turned);
}

/// Stores a run of rows in a block, less `mean` if it is not null. `row` is scratch for one row.
void store_run(const RowRun& run, const BlockSide& side, Dtype dtype, const float* mean, std::uint8_t* to,
               float* scales, float* row) {
  const bool as_it_is = run.dtype == dtype && run.column_stride == 1;
  const std::uint8_t* from = static_cast<const std::uint8_t*>(run.data);
  for (std::int64_t r = 0; r < run.count; ++r) {
    std::uint8_t* const to_r = to + r * side.row_bytes;
    if (as_it_is) {
      std::memcpy(to_r, from + r * run.row_stride * size_of(dtype), static_cast<std::size_t>(side.row_bytes));
    } else {
      widen_row(run, r, side.width, row);
      subtract_mean(mean, side.width, row);
      store_row(row, side.width, dtype, to_r, scales + r * side.scales);
    }
  }
}

/// Stores the rows that head g of batch b gained since it had `before` tokens. Their blocks must be reserved. The first
/// tokens of a batch decide the mean of the head's keys. `row` is scratch.
void store_gain(KvCache::Store& store, const KeyValueSource& source, std::int64_t b, std::int64_t g,
                std::int64_t before, float* row) {
  if (before == 0 && store.key_means)
    mean_of_keys(source, b, g, store.appended[b], store.shape.head_dim, row, store.key_mean(b, g));
  const KeyPositions positions = store.positions(b);
  const std::int64_t length = store.length(b);
  RowSpan span;
  for (std::int64_t j = positions.rows_before(before); j < length; j += span.count) {
    span = store.span(b, j, length - j);
    const std::int64_t token = positions.of(j) - before;
    std::uint8_t* const data = store.block(b, span.block)->data();
    const auto store_side = [&](const BlockSide& side, const float* mean, const RowRun& run) {
      store_run(run, side, store.shape.dtype, mean, data + store.row_offset(side, g, span.row),
                reinterpret_cast<float*>(data + store.scale_offset(side, g, span.row)), row);
    };
    store_side(store.layout.key, store.key_mean(b, g), source.keys(b, g, token, span.count));
    store_side(store.layout.value, nullptr, source.values(b, g, token, span.count));
  }
}

Error reserve_gain(KvCache::Store& store, std::int64_t num_tokens, const std::int32_t* lengths) {
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b)
    if (Error e = store.reserve(b, store.appended[b], store.appended[b] + gain_of(lengths, num_tokens, b))) return e;
  return {};
}

/// Whether the rotary embedding has a row for every new token.
Error check_new_positions(const KvCache::Store& store, const NewTokens& tokens) {
  if (!store.shape.rotary && tokens.positions) return refuse(Rule::positions_rotary_cache);
  if (store.shape.cache_positions && tokens.positions) return refuse(Rule::ring_places_positions);
  if (!store.shape.rotary) return {};
  if (Error e = check_planes(*store.shape.rotary, tokens.position_planes)) return e;
  if (store.shape.rotary->scaling != RotaryScaling::tables) return {};
  const std::int64_t plane_tokens = store.shape.batch_size * tokens.num_tokens;
  for (std::int64_t plane = 0; plane < tokens.position_planes; ++plane)
    for (std::int64_t b = 0; b < store.shape.batch_size; ++b)
      for (std::int64_t i = 0; i < gain_of(tokens.lengths, tokens.num_tokens, b); ++i) {
        const std::int64_t position = tokens.positions
                                          ? tokens.positions[plane * plane_tokens + b * tokens.num_tokens + i]
                                          : store.appended[b] + store.rotary_origin[b] + i;
        if (Error e = check_table_rows(*store.shape.rotary, position)) return e;
      }
  return {};
}

}  // namespace

Error check_append(const KvCache& cache, const NewTokens& tokens) {
  if (Error e = check_layout(Argument::layout, tokens.layout)) return e;
  if (Error e = validate_shape(arrays_shape(cache.shape(), tokens.num_tokens))) return e;
  if (Error e = check_lengths(cache.store(), tokens.num_tokens, tokens.lengths)) return e;
  if (Error e = check_new_positions(cache.store(), tokens)) return e;
  if (Error e = check_dtype(Argument::key, tokens.key.dtype)) return e;
  if (Error e = check_dtype(Argument::value, tokens.value.dtype)) return e;
  const bool has_tokens = cache.shape().batch_size > 0 && tokens.num_tokens > 0;
  return check_given({{Argument::key, has_tokens, tokens.key.data}, {Argument::value, has_tokens, tokens.value.data}});
}

Error append_checked(ThreadPool& pool, KvCache& cache, const NewTokens& tokens) {
  ConstArray key = tokens.key;
  KvCache::Store& store = cache.store();
  Buffer<float> turned;
  if (store.shape.rotary) {
    if (Error e = store.ensure_angles()) return e;
    if (Error e = turn_keys(pool, store, tokens.layout, tokens.num_tokens, key, tokens.positions,
                            tokens.position_planes, &turned))
      return e;
    key = {turned.data(), Dtype::float32};
  }
  if (Error e = store.ensure_means()) return e;
  const std::int64_t widest = std::max(key_mean_scratch(store.shape.head_dim), store.shape.value_dim);
  Arrays arrays;
  std::span<float> rows;  // scratch of each worker
  std::span<std::int64_t> before;
  if (Error e = arrays.allocate(rows, widest * pool.size(), before, store.shape.batch_size)) return e;
  if (Error e = reserve_gain(store, tokens.num_tokens, tokens.lengths)) {
    store.trim_all();
    return e;
  }
  if (cache.max_length() == 0) store.has_given_positions = false;  // they were those of tokens that are gone
  if (tokens.positions && most_gained(store.shape.batch_size, tokens.num_tokens, tokens.lengths) > 0)
    store.has_given_positions = true;
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) {
    before[b] = store.appended[b];
    store.appended[b] += gain_of(tokens.lengths, tokens.num_tokens, b);
  }

  const DenseSource source(arrays_shape(store.shape, tokens.num_tokens), tokens.layout, key, tokens.value);
  const std::int64_t num_kv_heads = store.shape.num_kv_heads, heads = store.shape.batch_size * num_kv_heads;
  const std::int64_t heads_per_task =
      std::max<std::int64_t>(1, kRowsPerAppend / std::max<std::int64_t>(1, tokens.num_tokens));
  pool.parallel_for((heads + heads_per_task - 1) / heads_per_task, [&](std::int64_t task, int worker) {
    const std::int64_t end = std::min(heads, (task + 1) * heads_per_task);
    for (std::int64_t head = task * heads_per_task; head < end; ++head) {
      const std::int64_t b = head / num_kv_heads, g = head % num_kv_heads;
      store_gain(store, source, b, g, before[b], rows.data() + worker * widest);
    }
  });
  return {};
}

Status KvCache::append(ThreadPool& pool, const NewTokens& tokens) {
  if (Error e = check_append(*this, tokens)) return e;
  return append_checked(pool, *this, tokens);
}

Error BeforeAppend::note(const KvCache& cache) {
  if (Error e = appended_.allocate(cache.shape().batch_size)) return e;
  for (std::int64_t b = 0; b < appended_.size(); ++b) appended_[b] = static_cast<std::int32_t>(cache.appended(b));
  has_given_positions_ = cache.store().has_given_positions;
  return {};
}

void BeforeAppend::restore(KvCache& cache) const {
  if (cache.rewind_each(appended_.data()).ok()) cache.store().has_given_positions = has_given_positions_;
}

std::int64_t most_gained(std::int64_t batch_size, std::int64_t num_tokens, const std::int32_t* lengths) {
  return lengths && batch_size > 0 ? *std::max_element(lengths, lengths + batch_size) : num_tokens;
}

Status KvCache::step(ThreadPool& pool, const NewTokens& tokens, const AttentionShape& shape,
                     const AttentionInputs& inputs, const AttentionOptions& options, const AttentionOutputs& outputs,
                     const AttendInside& inside) {
  if (Error e = check_append(*this, tokens)) return e;
  if (drops_visible_keys(*this, tokens.num_tokens, tokens.lengths)) {
    std::unique_ptr<KvCache> wide;
    if (Error e = widen_ring(*this, most_gained(store_->shape.batch_size, tokens.num_tokens, tokens.lengths), &wide))
      return e;
    if (Error e = append_checked(pool, *wide, tokens)) return e;
    if (Error e = wide->attend(pool, shape, inputs, options, outputs, inside)) return e;
    return append_checked(pool, *this, tokens);
  }
  AttentionInputs cached = inputs;
  cached.cache = this;
  if (Error e = validate(shape, cached, options, outputs, {tokens.num_tokens, tokens.lengths})) return e;
  BeforeAppend before;
  if (Error e = before.note(*this)) return e;
  if (Error e = append_checked(pool, *this, tokens)) return e;
  Error status = attend(pool, shape, inputs, options, outputs, inside);
  if (!status.ok()) before.restore(*this);
  return status;
}

}  // namespace headwise
