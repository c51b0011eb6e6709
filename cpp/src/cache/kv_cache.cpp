#include "headwise/kv_cache.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/memory.h"
#include "base/rules.h"
#include "position/rotary.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

/// The rules on the shape of a cache.
Error check_cache_shape(const KvCacheShape& shape) {
  if (shape.batch_size < 0 || shape.batch_size > kMostCacheBatches)
    return refuse(Rule::cache_batches, kMostCacheBatches, shape.batch_size);
  if (Error e = check_counts({{Argument::num_kv_heads, shape.num_kv_heads, 1},
                              {Argument::head_dim, shape.head_dim, 1},
                              {Argument::value_dim, shape.value_dim, 1},
                              {Argument::capacity, shape.capacity, 0},
                              {Argument::keep_first, shape.keep_first, 0},
                              {Argument::window, shape.window, 0}}))
    return e;
  if (!is_input_dtype(shape.dtype) && shape.dtype != Dtype::int8)
    return refuse(Rule::cache_dtype, static_cast<int>(shape.dtype));
  if (shape.keep_first > 0 && shape.window == 0) return refuse(Rule::keep_first_window, shape.keep_first);
  if (shape.window > 0 && shape.capacity > 0 && shape.capacity < shape.keep_first + shape.window)
    return refuse(Rule::capacity_window, shape.keep_first + shape.window, shape.capacity);
  if (token_bytes(shape) > kMostTokenBytes)
    return refuse(Rule::block_size, shape.num_kv_heads, shape.head_dim, shape.value_dim);
  if (shape.cache_positions && shape.window == 0) return refuse(Rule::cache_positions_ring);
  if (shape.cache_positions && shape.rotary && shape.rotary->scaling == RotaryScaling::tables)
    return refuse(Rule::cache_positions_tables);
  if (shape.rotary) return validate_rotary(*shape.rotary, shape.head_dim);
  return {};
}

Error check_rewind(const KvCache::Store& store, std::int64_t b, std::int64_t length) {
  if (length < 0) return refuse(Rule::rewind_length, length);
  if (length <= store.shape.keep_first || length >= store.appended[b] ||
      store.dropped_at(b, length) == store.dropped(b))
    return {};
  return refuse(Rule::rewind_dropped, at(b), length);
}

}  // namespace

KvCache::KvCache(std::unique_ptr<Store> store) : store_(std::move(store)) {}
KvCache::~KvCache() = default;

Status KvCache::create(const KvCacheShape& shape, std::unique_ptr<KvCache>* cache) {
  if (Error e = check_given({{Argument::output, true, cache}})) return e;
  if (Error e = check_cache_shape(shape)) return e;
  std::unique_ptr<Store> store(new (std::nothrow) Store);
  if (!store) return out_of_memory(sizeof(Store));
  if (Error e = store->initialise(shape)) return e;
  cache->reset(new (std::nothrow) KvCache(std::move(store)));
  return *cache ? Error{} : out_of_memory(sizeof(KvCache));
}

Status KvCache::rewind(std::int64_t length) {
  return rewind_to([length](std::int64_t) { return length; });
}

Status KvCache::rewind_each(const std::int32_t* lengths) {
  if (Error e = check_given({{Argument::lengths, store_->shape.batch_size > 0, lengths}})) return e;
  return rewind_to([lengths](std::int64_t b) { return std::int64_t{lengths[b]}; });
}

template <class LengthOf>
Status KvCache::rewind_to(LengthOf length_of) {
  Store& store = *store_;
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b)
    if (Error e = check_rewind(store, b, length_of(b))) return e;
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b)
    store.appended[b] = std::min(store.appended[b], length_of(b));
  store.trim_all();
  if (max_length() == 0) store.has_given_positions = false;
  return {};
}

Status KvCache::fork(std::unique_ptr<KvCache>* copy) const {
  if (Error e = check_given({{Argument::output, true, copy}})) return e;
  std::unique_ptr<KvCache> made;
  if (Error e = create(store_->shape, &made)) return e;
  Store& twin = *made->store_;
  if (Error e = twin.blocks.allocate(store_->blocks.size())) return e;
  twin.blocks_per_batch = store_->blocks_per_batch;
  twin.has_given_positions = store_->has_given_positions;
  for (std::int64_t i = 0; i < twin.blocks.size(); ++i) twin.blocks[i] = share_block(store_->blocks[i]);
  for (std::int64_t b = 0; b < twin.shape.batch_size; ++b) {
    twin.appended[b] = store_->appended[b];
    twin.rotary_origin[b] = store_->rotary_origin[b];
  }
  if (Error e = twin.copy_means_and_angles(*store_)) return e;
  *copy = std::move(made);
  return {};
}

Status KvCache::slice(std::int64_t from, std::int64_t to, std::unique_ptr<KvCache>* part) const {
  if (Error e = check_given({{Argument::output, true, part}})) return e;
  if (from < 0 || to < from || to > max_length()) return refuse(Rule::slice_range, from, to, max_length());
  std::unique_ptr<KvCache> made;
  if (Error e = create(store_->shape, &made)) return e;
  Store& copy = *made->store_;
  copy.has_given_positions = store_->has_given_positions;
  for (std::int64_t b = 0; b < copy.shape.batch_size; ++b) {
    const std::int64_t begin = std::min(from, length(b)), end = std::min(to, length(b));
    if (Error e = copy.reserve(b, 0, end - begin)) return e;
    copy.appended[b] = end - begin;
    // The next token stands right after the last row, by its position and by its angle.
    if (copy.shape.rotary)
      copy.rotary_origin[b] = store_->rotary_origin[b] + store_->end_position(b, end) - (end - begin);
    copy.copy_rows(*store_, b, begin, end);
  }
  if (Error e = copy.copy_means_and_angles(*store_)) return e;
  *part = std::move(made);
  return {};
}

const KvCacheShape& KvCache::shape() const { return store_->shape; }
std::int64_t KvCache::length(std::int64_t b) const { return store_->has(b) ? store_->length(b) : 0; }
std::int64_t KvCache::appended(std::int64_t b) const { return store_->has(b) ? store_->appended[b] : 0; }

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

Status KvCache::select(const std::int32_t* indices) {
  Store& store = *store_;
  const std::int64_t batch_size = store.shape.batch_size, width = store.blocks_per_batch;
  if (Error e = check_given({{Argument::indices, batch_size > 0, indices}})) return e;
  if (Error e = check_indices(Rule::select_index, Argument::none, indices, batch_size, batch_size - 1)) return e;
  KvCache::Store chosen;  // its means alone
  chosen.shape = store.shape;
  if (Error e = chosen.copy_means(store, [indices](std::int64_t b) { return indices[b]; })) return e;
  Buffer<std::int64_t> appended, origin;
  Buffer<Block*> blocks;
  if (Error e = allocate_all(appended, batch_size, origin, batch_size, blocks, store.blocks.size())) return e;
  for (std::int64_t b = 0; b < batch_size; ++b) {
    appended[b] = store.appended[indices[b]];
    origin[b] = store.rotary_origin[indices[b]];
    for (std::int64_t n = 0; n < width; ++n) blocks[b * width + n] = share_block(store.block(indices[b], n));
  }
  for (std::int64_t i = 0; i < store.blocks.size(); ++i) release_block(store.blocks[i]);
  store.blocks = std::move(blocks);
  store.key_means = std::move(chosen.key_means);
  store.appended = std::move(appended);
  store.rotary_origin = std::move(origin);
  return {};
}

}  // namespace headwise
