#include <algorithm>

#include "attention/head_rows.h"
#include "attention/validate.h"
#include "base/memory.h"
#include "cache/append.h"
#include "headwise/kv_cache.h"
#include "layer/forward.h"
#include "position/rotary.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

using Long = long long;

}  // namespace

Status Forward::check_inputs() const {
  const LayerShape& s = layer_.shape;
  if (inputs_.layout != Layout::bse && inputs_.layout != Layout::bes)
    return Status::error(StatusCode::invalid_option, "layout of a layer must be BSE or BES");
  for (const ConstArray& array : {inputs_.x, inputs_.key_context, inputs_.value_context})
    if (!is_input_dtype(array.dtype)) return Status::error(StatusCode::unsupported, "x must be float32 or float16");
  if (saves_ && inputs_.cache)
    return Status::error(StatusCode::unsupported, "a call with a cache cannot be saved for its gradient");
  if (inputs_.attend_only && (inputs_.key_context.data || inputs_.value_context.data))
    return Status::error(StatusCode::invalid_option, "attendOnly reads the cache: key and value must not be given");
  if (inputs_.attend_only && !inputs_.cache)
    return Status::error(StatusCode::invalid_option, "attendOnly needs a cache");
  if (inputs_.append_lengths && !appends())
    return Status::error(StatusCode::invalid_option, "appendLengths needs a cache to append to");
  if (inputs_.value_context.data && !inputs_.key_context.data && key_length_ != inputs_.query_length)
    return Status::error(StatusCode::invalid_shape,
                         "value must be as long as its keys, which come from x: %lld, got %lld",
                         static_cast<Long>(inputs_.query_length), static_cast<Long>(key_length_));
  const std::int64_t key_dim = inputs_.key_context.data ? s.key_input_dim : s.input_dim;
  if (projects_keys() && !inputs_.key_context.data && s.key_input_dim != s.input_dim)
    return Status::error(StatusCode::invalid_shape, "without key, keyInputDim must be inputDim (%lld), got %lld",
                         static_cast<Long>(s.input_dim), static_cast<Long>(s.key_input_dim));
  if (projects_keys() && !inputs_.value_context.data && s.value_input_dim != key_dim)
    return Status::error(StatusCode::invalid_shape, "without value, valueInputDim must be that of key (%lld), got %lld",
                         static_cast<Long>(key_dim), static_cast<Long>(s.value_input_dim));
  const std::int64_t widest = std::max(
      {s.input_dim, s.key_input_dim, s.value_input_dim, layer_.query_width(), layer_.heads_width(), s.output_dim});
  const std::int64_t longest = std::max({inputs_.query_length, key_length_, std::int64_t{1}});
  std::int64_t floats = 0, bytes = 0;
  if (Status status = validate_shape(shape_); !status.ok()) return status;
  if (!multiply_sizes(inputs_.batch_size, longest, &floats) || !multiply_sizes(floats, widest, &floats) ||
      !multiply_sizes(floats, static_cast<std::int64_t>(sizeof(float)), &bytes))
    return Status::error(StatusCode::invalid_shape, "the inputs are too large to address");
  return {};
}

/// Whether what is overwritten and shown is there.
Status Forward::check_inside() const {
  const LayerPatches& patches = inputs_.patches;
  const std::int64_t heads = shape_.num_heads, kv_heads = shape_.num_kv_heads, queries = shape_.query_length;
  std::int64_t all_keys = inputs_.cache ? 0 : key_length_;
  for (std::int64_t b = 0; inputs_.cache && b < inputs_.batch_size; ++b)
    all_keys = std::max(all_keys, inputs_.cache->store().length_of(inputs_.cache->appended(b) + growth_.of(b)));
  const struct {
    const char* name;
    const Patch& patch;
    std::int64_t heads, rows;
  } overwritten[] = {{"patch.query", patches.query, heads, queries},
                     {"patch.key", patches.key, kv_heads, key_length_},
                     {"patch.value", patches.value, kv_heads, key_length_},
                     {"patch.headOutputs", patches.head_outputs, heads, queries}};
  for (const auto& each : overwritten) {
    if (!each.patch.given()) continue;
    if (Status status = validate_patch(each.name, each.patch, each.heads, each.rows); !status.ok()) return status;
  }
  if (views_.contributions.data) {
    if (Status status = validate_rows("contributions", views_.contributions.selection, heads, queries); !status.ok())
      return status;
  }
  if (Status status = validate_views(views_, shape_, all_keys); !status.ok()) return status;
  const bool patches_keys = patches.key.given() || patches.value.given();
  if (saves_ &&
      (patches_keys || patches.query.given() || patches.head_outputs.given() || attention_inputs_.probs.given()))
    return Status::error(StatusCode::unsupported, "a call with patches cannot be saved for its gradient");
  if (patches_keys && !projects_keys())
    return Status::error(StatusCode::invalid_option, "patch.key and patch.value do not go with attendOnly");
  if (inputs_.cache && inputs_.cache->shape().rotary &&
      (patches.query.given() || patches.key.given() || views_.query.data))
    return Status::error(StatusCode::unsupported, "a rotary cache turns queries and keys after they could be patched");
  if (views_.contributions.data && !layer_.shape.output_projection)
    return Status::error(StatusCode::unsupported, "contributions need an output projection");
  return {};
}

/// Whether the cache fits, and how many tokens it gains.
Status Forward::check_cache() const {
  const KvCache& cache = *inputs_.cache;
  if (Status status = validate_cache(shape_, cache); !status.ok()) return status;
  if (layer_.is_rotary() && cache.shape().rotary && !cache.shape().cache_positions)
    return Status::error(StatusCode::invalid_option, "layer and cache are both rotary: one of them must turn the keys");
  if (layer_.is_rotary() && cache.shape().cache_positions && !turned_by_cache())
    return Status::error(
        StatusCode::invalid_option,
        "a ring whose positions are its places must turn the keys: give it the layer's rotary options");
  if (layer_.is_rotary() && turned_by_cache() &&
      !same_angles(layer_.options.rotary, *cache.shape().rotary, shape_.head_dim))
    return Status::error(StatusCode::invalid_option,
                         "a ring that turns the layer's keys by their places must have the layer's rotary options");
  if (layer_.angles_grow())
    return Status::error(StatusCode::invalid_option,
                         "position.scaling.sequenceLength must be given with a cache: keys that were turned stay so");
  for (std::int64_t b = 0; b < inputs_.batch_size; ++b)
    if (growth_.of(b) < 0 || growth_.of(b) > key_length_)
      return Status::error(StatusCode::invalid_option, "appendLengths[%lld] must be in 0..%lld, got %lld",
                           static_cast<Long>(b), static_cast<Long>(key_length_), static_cast<Long>(growth_.of(b)));
  return {};
}

/// check_arguments and check_call are the steps of validate(), for the call as it will be when the cache holds the new
/// keys, and the layer's own rules between them. No later step checks again.
Status Forward::check_arguments() const {
  if (Status status = check_inputs(); !status.ok()) return status;
  if (Status status = check_given_positions(); !status.ok()) return status;
  return inputs_.cache ? check_cache() : Status{};
}

Status Forward::check_call() const {
  if (Status status = check_inside(); !status.ok()) return status;
  if (Status status = validate_dtypes(attention_inputs_, outputs_); !status.ok()) return status;
  return validate_options(shape_, attention_inputs_, options_, outputs_, growth_);
}

/// The rules on given positions.
Status Forward::check_given_positions() const {
  const TokenPositions& given = inputs_.positions;
  const bool turns = layer_.is_rotary() || turned_by_cache();
  if (inputs_.key_positions && (!given.data || !inputs_.key_context.data || !turns))
    return Status::error(StatusCode::invalid_option, "keyPositions need positions, key, and keys that are turned");
  if (!given.data) return {};
  if (layer_.options.position == LayerPosition::none && !turned_by_cache())
    return Status::error(StatusCode::invalid_option, "positions need a layer with positions, or a rotary cache");
  if (inputs_.cache && inputs_.cache->shape().cache_positions)
    return Status::error(StatusCode::invalid_option, "positions do not go with a ring whose positions are its places");
  if (turns && projects_keys() && !given_key_positions())
    return Status::error(StatusCode::invalid_option,
                         "positions are those of x: with key, which is turned, give keyPositions");
  if (options_.alibi_slopes && !options_.alibi_query_positions)
    return Status::error(StatusCode::invalid_option, "alibiSlopes with positions need alibiQueryPositions");
  if (turned_by_cache()) return check_planes(*inputs_.cache->shape().rotary, given.planes);
  return check_planes(layer_.is_rotary() ? layer_.options.rotary : RotaryOptions(), given.planes);
}

/// Whether tables of cos and sin have a row for `count` tokens from `first` on, in every plane.
Status Forward::check_rows(const Buffer<std::int64_t>& positions, std::int64_t first, std::int64_t count) const {
  const std::int64_t tokens = positions.size() / inputs_.positions.planes;
  for (std::int64_t plane = 0; plane < inputs_.positions.planes; ++plane)
    for (std::int64_t t = first; t < first + count; ++t)
      if (Status status = check_table_rows(layer_.options.rotary, positions[plane * tokens + t]); !status.ok())
        return status;
  return {};
}

/// Whether tables of cos and sin have a row for every query and key.
Status Forward::check_turned_positions() const {
  for (std::int64_t n = 0; n < sequences_.size(); ++n) {
    const Sequence& sequence = sequences_[n];
    const std::int64_t first_query = sequence.batch * inputs_.query_length + sequence.query_begin;
    if (Status status = check_rows(query_positions_, first_query, sequence.query_length); !status.ok()) return status;
    if (!projects_keys()) continue;
    const std::int64_t count = appends() ? growth_.of(n) : sequence.key_length;
    const std::int64_t first_key = sequence.batch * key_length_ + (appends() ? 0 : sequence.key_begin);
    if (Status status = check_rows(key_positions_, first_key, count); !status.ok()) return status;
  }
  return {};
}

/// Whether the position table has a row for every query.
Status Forward::check_positions() const {
  if (turns() && layer_.options.rotary.scaling == RotaryScaling::tables) return check_turned_positions();
  if (layer_.options.position != LayerPosition::table) return {};
  const std::int64_t rows = layer_.options.position_rows;
  for (std::int64_t n = 0; n < sequences_.size(); ++n) {
    const Sequence& sequence = sequences_[n];
    const std::int64_t* positions =
        query_positions_.data() + sequence.batch * inputs_.query_length + sequence.query_begin;
    for (std::int64_t i = 0; inputs_.positions.data && i < sequence.query_length; ++i)
      if (positions[i] < 0 || positions[i] >= rows)
        return Status::error(StatusCode::invalid_option,
                             "the position table has rows 0..%lld, query %lld of sequence %lld stands at %lld",
                             static_cast<Long>(rows - 1), static_cast<Long>(i), static_cast<Long>(n),
                             static_cast<Long>(positions[i]));
    const std::int64_t first = sequence.offset, end = first + sequence.query_length;
    if (!inputs_.positions.data && sequence.query_length > 0 && (first < 0 || end > rows))
      return Status::error(
          StatusCode::invalid_option, "the position table has rows 0..%lld, sequence %lld stands at %lld..%lld",
          static_cast<Long>(rows - 1), static_cast<Long>(n), static_cast<Long>(first), static_cast<Long>(end - 1));
  }
  return {};
}

/// Whether the cache has room for the new tokens.
Status Forward::check_room() const {
  if (!appends()) return {};
  return check_append(*inputs_.cache, new_tokens());
}

}  // namespace headwise
