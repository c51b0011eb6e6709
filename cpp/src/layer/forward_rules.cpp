#include <algorithm>

#include "attention/head_rows.h"
#include "attention/validate.h"
#include "base/memory.h"
#include "base/rules.h"
#include "cache/append.h"
#include "headwise/kv_cache.h"
#include "layer/forward.h"
#include "position/rotary.h"
#include "source/kv_cache_store.h"

namespace headwise {

Error Forward::check_inputs() const {
  const LayerShape& s = layer_.shape;
  if (inputs_.layout != Layout::bse && inputs_.layout != Layout::bes) return refuse(Rule::layer_layout);
  for (const ConstArray& array : {inputs_.x, inputs_.key_context, inputs_.value_context})
    if (Error e = check_dtype(Argument::x, array.dtype)) return e;
  if (saves_ && inputs_.cache) return refuse(Rule::save_cache);
  if (inputs_.attend_only && (inputs_.key_context.data || inputs_.value_context.data))
    return refuse(Rule::attend_only_context, inputs_.key_context.data ? Argument::key : Argument::value);
  if (inputs_.attend_only && !inputs_.cache) return refuse(Rule::attend_only_cache);
  if (inputs_.append_lengths && !appends()) return refuse(Rule::append_lengths_cache);
  if (inputs_.value_context.data && !inputs_.key_context.data && key_length_ != inputs_.query_length)
    return refuse(Rule::value_length, key_length_, inputs_.query_length);
  const std::int64_t key_dim = inputs_.key_context.data ? s.key_input_dim : s.input_dim;
  if (projects_keys() && !inputs_.key_context.data && s.key_input_dim != s.input_dim)
    return refuse(Rule::key_input_dim, s.input_dim, s.key_input_dim);
  if (projects_keys() && !inputs_.value_context.data && s.value_input_dim != key_dim)
    return refuse(Rule::value_input_dim, key_dim, s.value_input_dim);
  const std::int64_t widest = std::max(
      {s.input_dim, s.key_input_dim, s.value_input_dim, layer_.query_width(), layer_.heads_width(), s.output_dim});
  const std::int64_t longest = std::max({inputs_.query_length, key_length_, std::int64_t{1}});
  std::int64_t floats = 0, bytes = 0;
  if (Error e = validate_shape(shape_)) return e;
  if (!multiply_sizes(inputs_.batch_size, longest, &floats) || !multiply_sizes(floats, widest, &floats) ||
      !multiply_sizes(floats, static_cast<std::int64_t>(sizeof(float)), &bytes))
    return refuse(Rule::array_size);
  return {};
}

/// Whether what is overwritten and shown is there.
Error Forward::check_inside() const {
  const LayerPatches& patches = inputs_.patches;
  const std::int64_t heads = shape_.num_heads, kv_heads = shape_.num_kv_heads, queries = shape_.query_length;
  std::int64_t all_keys = inputs_.cache ? 0 : key_length_;
  for (std::int64_t b = 0; inputs_.cache && b < inputs_.batch_size; ++b)
    all_keys = std::max(all_keys, inputs_.cache->store().length_at(b, inputs_.cache->appended(b) + growth_.of(b)));
  if (Error e = validate_patch(Argument::patch_query, patches.query, heads, queries)) return e;
  if (Error e = validate_patch(Argument::patch_key, patches.key, kv_heads, key_length_)) return e;
  if (Error e = validate_patch(Argument::patch_value, patches.value, kv_heads, key_length_)) return e;
  if (Error e = validate_patch(Argument::patch_head_outputs, patches.head_outputs, heads, queries)) return e;
  if (views_.contributions.data)
    if (Error e = validate_rows(Argument::contributions, views_.contributions.selection, heads, queries)) return e;
  if (Error e = validate_views(views_, shape_, all_keys)) return e;
  const bool patches_keys = patches.key.given() || patches.value.given();
  if (saves_ &&
      (patches_keys || patches.query.given() || patches.head_outputs.given() || attention_inputs_.probs.given()))
    return refuse(Rule::save_patches);
  if (patches_keys && !projects_keys())
    return refuse(Rule::attend_only_patches, patches.key.given() ? Argument::patch_key : Argument::patch_value);
  if (inputs_.cache && inputs_.cache->shape().rotary &&
      (patches.query.given() || patches.key.given() || views_.query.data))
    return refuse(Rule::rotary_cache_patches);
  if (views_.contributions.data && !layer_.shape.output_projection)
    return refuse(Rule::contributions_projection, Argument::contributions);
  return {};
}

/// Whether the cache fits, and how many tokens it gains.
Error Forward::check_cache() const {
  const KvCache& cache = *inputs_.cache;
  if (Error e = validate_cache(shape_, cache)) return e;
  if (layer_.is_rotary() && cache.shape().rotary && !cache.shape().cache_positions) return refuse(Rule::rotary_twice);
  if (layer_.is_rotary() && cache.shape().cache_positions && !turned_by_cache())
    return refuse(Rule::ring_places_rotary);
  if (layer_.is_rotary() && turned_by_cache() &&
      !same_angles(layer_.options.rotary, *cache.shape().rotary, shape_.head_dim))
    return refuse(Rule::ring_places_angles);
  if (layer_.angles_grow()) return refuse(Rule::sequence_length_cache);
  for (std::int64_t b = 0; b < inputs_.batch_size; ++b)
    if (growth_.of(b) < 0 || growth_.of(b) > key_length_)
      return refuse(Rule::append_lengths, at(b), key_length_, growth_.of(b));
  return {};
}

/// check_arguments and check_call are the steps of validate(), for the call as it will be when the cache holds the new
/// keys, and the layer's own rules between them. No later step checks again.
Error Forward::check_arguments() const {
  if (Error e = check_inputs()) return e;
  if (Error e = check_given_positions()) return e;
  return inputs_.cache ? check_cache() : Error{};
}

Error Forward::check_call() const {
  if (Error e = check_inside()) return e;
  if (Error e = validate_dtypes(attention_inputs_, outputs_)) return e;
  return validate_options(shape_, attention_inputs_, options_, outputs_, growth_);
}

/// The rules on given positions.
Error Forward::check_given_positions() const {
  const TokenPositions& given = inputs_.positions;
  const bool turns = layer_.is_rotary() || turned_by_cache();
  if (inputs_.key_positions && (!given.data || !inputs_.key_context.data || !turns)) return refuse(Rule::key_positions);
  if (!given.data) return {};
  if (layer_.options.position == LayerPosition::none && !turned_by_cache()) return refuse(Rule::positions_layer);
  if (inputs_.cache && inputs_.cache->shape().cache_positions) return refuse(Rule::ring_places_positions);
  if (turns && projects_keys() && !given_key_positions()) return refuse(Rule::positions_key);
  if (options_.alibi_slopes && !options_.alibi_query_positions) return refuse(Rule::positions_alibi);
  if (turned_by_cache()) return check_planes(*inputs_.cache->shape().rotary, given.planes);
  return check_planes(layer_.is_rotary() ? layer_.options.rotary : RotaryOptions(), given.planes);
}

/// Whether tables of cos and sin have a row for `count` tokens from `first` on, in every plane.
Error Forward::check_rows(std::span<const std::int64_t> positions, std::int64_t first, std::int64_t count) const {
  const std::int64_t tokens = positions.size() / inputs_.positions.planes;
  for (std::int64_t plane = 0; plane < inputs_.positions.planes; ++plane)
    for (std::int64_t t = first; t < first + count; ++t)
      if (Error e = check_table_rows(layer_.options.rotary, positions[plane * tokens + t])) return e;
  return {};
}

/// Whether tables of cos and sin have a row for every query and key.
Error Forward::check_turned_positions() const {
  for (std::int64_t n = 0; n < std::ssize(sequences_); ++n) {
    const Sequence& sequence = sequences_[n];
    const std::int64_t first_query = sequence.batch * inputs_.query_length + sequence.query_begin;
    if (Error e = check_rows(query_positions_, first_query, sequence.query_length)) return e;
    if (!projects_keys()) continue;
    const std::int64_t count = appends() ? growth_.of(n) : sequence.key_length;
    const std::int64_t first_key = sequence.batch * key_length_ + (appends() ? 0 : sequence.key_begin);
    if (Error e = check_rows(key_positions_, first_key, count)) return e;
  }
  return {};
}

/// Whether the position table has a row for every query.
Error Forward::check_positions() const {
  if (turns() && layer_.options.rotary.scaling == RotaryScaling::tables) return check_turned_positions();
  if (layer_.options.position != LayerPosition::table) return {};
  const std::int64_t rows = layer_.options.position_rows;
  for (std::int64_t n = 0; n < std::ssize(sequences_); ++n) {
    const Sequence& sequence = sequences_[n];
    const std::int64_t* positions =
        query_positions_.data() + sequence.batch * inputs_.query_length + sequence.query_begin;
    for (std::int64_t i = 0; inputs_.positions.data && i < sequence.query_length; ++i)
      if (positions[i] < 0 || positions[i] >= rows) return refuse(Rule::position_row, at(n), rows - 1, i, positions[i]);
    const std::int64_t first = sequence.offset, end = first + sequence.query_length;
    if (!inputs_.positions.data && sequence.query_length > 0 && (first < 0 || end > rows))
      return refuse(Rule::position_rows, at(n), rows - 1, first, end - 1);
  }
  return {};
}

/// Whether the cache has room for the new tokens.
Error Forward::check_room() const {
  if (!appends()) return {};
  return check_append(*inputs_.cache, new_tokens());
}

}  // namespace headwise
