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

namespace {

Error check_inputs(const Forward& f) {
  const LayerShape& s = f.layer.shape;
  if (f.inputs.layout != Layout::bse && f.inputs.layout != Layout::bes) return refuse(Rule::layer_layout);
  for (const ConstArray& array : {f.inputs.x, f.inputs.key_context, f.inputs.value_context})
    if (Error e = check_dtype(Argument::x, array.dtype)) return e;
  if (f.saves && f.inputs.cache) return refuse(Rule::save_cache);
  if (f.inputs.attend_only && (f.inputs.key_context.data || f.inputs.value_context.data))
    return refuse(Rule::attend_only_context, f.inputs.key_context.data ? Argument::key : Argument::value);
  if (f.inputs.attend_only && !f.inputs.cache) return refuse(Rule::attend_only_cache);
  if (f.inputs.append_lengths && !f.appends()) return refuse(Rule::append_lengths_cache);
  if (f.inputs.value_context.data && !f.inputs.key_context.data && f.key_length != f.inputs.query_length)
    return refuse(Rule::value_length, f.key_length, f.inputs.query_length);
  const std::int64_t key_dim = f.inputs.key_context.data ? s.key_input_dim : s.input_dim;
  if (f.projects_keys() && !f.inputs.key_context.data && s.key_input_dim != s.input_dim)
    return refuse(Rule::key_input_dim, s.input_dim, s.key_input_dim);
  if (f.projects_keys() && !f.inputs.value_context.data && s.value_input_dim != key_dim)
    return refuse(Rule::value_input_dim, key_dim, s.value_input_dim);
  const std::int64_t widest = std::max(
      {s.input_dim, s.key_input_dim, s.value_input_dim, f.layer.query_width(), f.layer.heads_width(), s.output_dim});
  const std::int64_t longest = std::max({f.inputs.query_length, f.key_length, std::int64_t{1}});
  std::int64_t floats = 0, bytes = 0;
  if (Error e = validate_shape(f.shape)) return e;
  if (!multiply_sizes(f.inputs.batch_size, longest, &floats) || !multiply_sizes(floats, widest, &floats) ||
      !multiply_sizes(floats, static_cast<std::int64_t>(sizeof(float)), &bytes))
    return refuse(Rule::array_size);
  return check_given({{Argument::x, f.inputs.batch_size > 0 && f.inputs.query_length > 0, f.inputs.x.data}});
}

/// The rules on given positions.
Error check_given_positions(const Forward& f) {
  const TokenPositions& given = f.inputs.positions;
  const bool turns = f.layer.is_rotary() || f.turned_by_cache();
  if (f.inputs.key_positions && (!given.data || !f.inputs.key_context.data || !turns))
    return refuse(Rule::key_positions);
  if (!given.data) return {};
  if (f.layer.options.position == LayerPosition::none && !f.turned_by_cache()) return refuse(Rule::positions_layer);
  if (f.inputs.cache && f.inputs.cache->shape().cache_positions) return refuse(Rule::ring_places_positions);
  if (turns && f.projects_keys() && !f.given_key_positions()) return refuse(Rule::positions_key);
  if (f.options.alibi_slopes && !f.options.alibi_query_positions) return refuse(Rule::positions_alibi);
  if (f.turned_by_cache()) return check_planes(*f.inputs.cache->shape().rotary, given.planes);
  return check_planes(f.layer.is_rotary() ? f.layer.options.rotary : RotaryOptions(), given.planes);
}

/// Whether the cache fits, and how many tokens it gains.
Error check_cache(const Forward& f) {
  const KvCache& cache = *f.inputs.cache;
  if (Error e = validate_cache(f.shape, cache)) return e;
  if (f.layer.is_rotary() && cache.shape().rotary && !cache.shape().cache_positions) return refuse(Rule::rotary_twice);
  if (f.layer.is_rotary() && cache.shape().cache_positions && !f.turned_by_cache())
    return refuse(Rule::ring_places_rotary);
  if (f.layer.is_rotary() && f.turned_by_cache() &&
      !same_angles(f.layer.options.rotary, *cache.shape().rotary, f.shape.head_dim))
    return refuse(Rule::ring_places_angles);
  if (f.layer.angles_grow()) return refuse(Rule::sequence_length_cache);
  for (std::int64_t b = 0; b < f.inputs.batch_size; ++b)
    if (f.growth.of(b) < 0 || f.growth.of(b) > f.key_length)
      return refuse(Rule::append_lengths, at(b), f.key_length, f.growth.of(b));
  return {};
}

/// Whether what is overwritten and shown is there.
Error check_inside(const Forward& f) {
  const LayerPatches& patches = f.inputs.patches;
  const std::int64_t heads = f.shape.num_heads, kv_heads = f.shape.num_kv_heads, queries = f.shape.query_length;
  std::int64_t all_keys = f.inputs.cache ? 0 : f.key_length;
  for (std::int64_t b = 0; f.inputs.cache && b < f.inputs.batch_size; ++b)
    all_keys = std::max(all_keys, f.inputs.cache->store().length_at(b, f.inputs.cache->appended(b) + f.growth.of(b)));
  if (Error e = validate_patch(Argument::patch_query, patches.query, heads, queries)) return e;
  if (Error e = validate_patch(Argument::patch_key, patches.key, kv_heads, f.key_length)) return e;
  if (Error e = validate_patch(Argument::patch_value, patches.value, kv_heads, f.key_length)) return e;
  if (Error e = validate_patch(Argument::patch_head_outputs, patches.head_outputs, heads, queries)) return e;
  if (f.views.contributions.data)
    if (Error e = validate_rows(Argument::contributions, f.views.contributions.selection, heads, queries)) return e;
  if (Error e = validate_views(f.views, f.shape, all_keys)) return e;
  const bool patches_keys = patches.key.given() || patches.value.given();
  if (f.saves &&
      (patches_keys || patches.query.given() || patches.head_outputs.given() || f.attention_inputs.probs.given()))
    return refuse(Rule::save_patches);
  if (patches_keys && !f.projects_keys())
    return refuse(Rule::attend_only_patches, patches.key.given() ? Argument::patch_key : Argument::patch_value);
  if (f.inputs.cache && f.inputs.cache->shape().rotary &&
      (patches.query.given() || patches.key.given() || f.views.query.data))
    return refuse(Rule::rotary_cache_patches);
  if (f.views.contributions.data && !f.layer.shape.output_projection)
    return refuse(Rule::contributions_projection, Argument::contributions);
  return {};
}

/// Whether tables of cos and sin have a row for `count` tokens from `first` on, in every plane.
Error check_rows(const Forward& f, std::span<const std::int64_t> positions, std::int64_t first, std::int64_t count) {
  const std::int64_t tokens = positions.size() / f.inputs.positions.planes;
  for (std::int64_t plane = 0; plane < f.inputs.positions.planes; ++plane)
    for (std::int64_t t = first; t < first + count; ++t)
      if (Error e = check_table_rows(f.layer.options.rotary, positions[plane * tokens + t])) return e;
  return {};
}

/// Whether tables of cos and sin have a row for every query and key.
Error check_turned_positions(const Forward& f) {
  for (std::int64_t n = 0; n < std::ssize(f.sequences); ++n) {
    const Sequence& sequence = f.sequences[n];
    const std::int64_t first_query = sequence.batch * f.inputs.query_length + sequence.query_begin;
    if (Error e = check_rows(f, f.query_positions, first_query, sequence.query_length)) return e;
    if (!f.projects_keys()) continue;
    const std::int64_t count = f.appends() ? f.growth.of(n) : sequence.key_length;
    const std::int64_t first_key = sequence.batch * f.key_length + (f.appends() ? 0 : sequence.key_begin);
    if (Error e = check_rows(f, f.key_positions, first_key, count)) return e;
  }
  return {};
}

/// Whether the position table has a row for every query.
Error check_positions(const Forward& f) {
  if (f.turns() && f.layer.options.rotary.scaling == RotaryScaling::tables) return check_turned_positions(f);
  if (f.layer.options.position != LayerPosition::table) return {};
  const std::int64_t rows = f.layer.options.position_rows;
  for (std::int64_t n = 0; n < std::ssize(f.sequences); ++n) {
    const Sequence& sequence = f.sequences[n];
    const std::int64_t* positions =
        f.query_positions.data() + sequence.batch * f.inputs.query_length + sequence.query_begin;
    for (std::int64_t i = 0; f.inputs.positions.data && i < sequence.query_length; ++i)
      if (positions[i] < 0 || positions[i] >= rows) return refuse(Rule::position_row, at(n), rows - 1, i, positions[i]);
    const std::int64_t first = sequence.offset, end = first + sequence.query_length;
    if (!f.inputs.positions.data && sequence.query_length > 0 && (first < 0 || end > rows))
      return refuse(Rule::position_rows, at(n), rows - 1, first, end - 1);
  }
  return {};
}

}  // namespace

Error check_arguments(const Forward& f) {
  if (Error e = check_inputs(f)) return e;
  if (Error e = check_given_positions(f)) return e;
  return f.inputs.cache ? check_cache(f) : Error{};
}

Error check_call(const Forward& f) {
  if (Error e = check_inside(f)) return e;
  if (Error e = validate_dtypes(f.attention_inputs, f.outputs)) return e;
  return validate_options(f.shape, f.attention_inputs, f.options, f.outputs, f.growth);
}

Error check_places(const Forward& f) {
  if (Error e = check_positions(f)) return e;
  return f.appends() ? check_append(*f.inputs.cache, f.new_tokens()) : Error{};
}

}  // namespace headwise
