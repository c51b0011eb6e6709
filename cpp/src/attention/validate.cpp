#include "attention/validate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>

#include "attention/call.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "formula/formula_program.h"
#include "headwise/kv_cache.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

bool countable(std::initializer_list<std::int64_t> extents) {
  std::int64_t product = 4;  // bytes of the widest element
  for (std::int64_t extent : extents)
    if (__builtin_mul_overflow(product, extent == 0 ? 1 : extent, &product)) return false;
  return static_cast<std::uint64_t>(product) <= std::numeric_limits<std::size_t>::max();
}

Error check_broadcast(Argument name, const BroadcastExtents& extents, const AttentionShape& shape,
                      std::int64_t key_length) {
  const std::int64_t full[4] = {shape.batch_size, shape.num_heads, shape.query_length, key_length};
  for (int axis = 0; axis < 4; ++axis)
    if (extents.extent[axis] != 1 && extents.extent[axis] != full[axis])
      return refuse(Rule::broadcast_extent, {name, axis}, full[axis], extents.extent[axis]);
  return {};
}

Error check_finite(Argument name, const float* values, std::int64_t count) {
  for (std::int64_t h = 0; values && h < count; ++h)
    if (!std::isfinite(values[h])) return refuse(Rule::finite, {name, h}, values[h]);
  return {};
}

Error check_cumulative(Argument name, const std::int32_t* starts, std::int64_t count, std::int64_t total) {
  if (starts[0] != 0) return refuse(Rule::ragged_start, name, starts[0]);
  for (std::int64_t n = 0; n < count; ++n)
    if (starts[n + 1] < starts[n]) return refuse(Rule::ragged_order, name, starts[n], starts[n + 1]);
  return starts[count] == total ? Error() : refuse(Rule::ragged_end, name, total, starts[count]);
}

Error check_extents(const AttentionShape& s) {
  constexpr std::int64_t kLargestIndex = std::numeric_limits<std::int32_t>::max();
  if (Error e = check_least({{Argument::batch_size, s.batch_size, 0},
                             {Argument::query_length, s.query_length, 0},
                             {Argument::key_length, s.key_length, 0},
                             {Argument::head_dim, s.head_dim, 1},
                             {Argument::value_width, s.value_dim, 1},
                             {Argument::num_kv_heads, s.num_kv_heads, 1},
                             {Argument::num_heads, s.num_heads, 0}}))
    return e;
  if (s.num_heads % s.num_kv_heads != 0) return refuse(Rule::heads_per_kv_head, s.num_kv_heads, s.num_heads);
  if (s.query_length > kLargestIndex) return refuse(Rule::fits_31_bits, Argument::query_length, s.query_length);
  if (s.key_length > kLargestIndex) return refuse(Rule::fits_31_bits, Argument::key_length, s.key_length);
  return {};
}

Error check_ragged(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options) {
  if (!options.cu_seq_lens_query && !options.cu_seq_lens_key) return {};
  if (!options.cu_seq_lens_query || !options.cu_seq_lens_key) return refuse(Rule::ragged_together);
  if (shape.batch_size != 1) return refuse(Rule::ragged_batch_size, Argument::batch_size, shape.batch_size);
  if (options.num_sequences < 0) return refuse(Rule::ragged_count);
  if (options.key_lengths) return refuse(Rule::ragged_lengths, Argument::key_lengths);
  if (options.query_lengths) return refuse(Rule::ragged_lengths, Argument::query_lengths);
  if (inputs.cache) return refuse(Rule::ragged_cache);
  if (inputs.arrival) return refuse(Rule::ragged_arrival);
  if (Error e = check_cumulative(Argument::cu_seq_lens_query, options.cu_seq_lens_query, options.num_sequences,
                                 shape.query_length))
    return e;
  return check_cumulative(Argument::cu_seq_lens_key, options.cu_seq_lens_key, options.num_sequences, shape.key_length);
}

Error check_values(const AttentionShape& shape, const AttentionOptions& options) {
  if (Error e = check_layout(Argument::layout, options.layout)) return e;
  if (Error e = check_layout(Argument::kv_layout, options.kv_layout.value_or(options.layout))) return e;
  if (Error e = check_choice(Argument::causal, options.causal, Causal::lower_right)) return e;
  if (Error e = check_choice(Argument::empty_rows, options.empty_rows, EmptyRows::fail)) return e;
  if (options.scale && !std::isfinite(*options.scale)) return refuse(Rule::scale, *options.scale);
  if (!is_not_negative(options.softcap)) return refuse(Rule::softcap, options.softcap);
  if (options.window_left < -1 || options.window_right < -1)
    return refuse(Rule::window_sides, options.window_left, options.window_right);
  if (Error e = check_finite(Argument::alibi_slopes, options.alibi_slopes, shape.num_heads)) return e;
  if ((options.alibi_query_positions == nullptr) != (options.alibi_key_positions == nullptr))
    return refuse(Rule::alibi_positions_together);
  if (options.alibi_query_positions && !options.alibi_slopes) return refuse(Rule::alibi_positions_slopes);
  if (Error e = check_sinks(options.sinks, shape.num_heads)) return e;
  return check_finite(Argument::head_gain, options.head_gain, shape.num_heads);
}

Error check_dropout(const AttentionInputs& inputs, const Dropout& dropout) {
  if (!(dropout.rate >= 0.0 && dropout.rate <= 1.0)) return refuse(Rule::dropout_rate, dropout.rate);
  if (dropout.rate == 0.0) return {};
  if (inputs.cache) return refuse(Rule::dropout_cache);
  if (inputs.probs.given()) return refuse(Rule::dropout_patch);
  return {};
}

/// Positions are numbers in formulas. Float32 holds whole numbers below 2^24 exactly.
Error check_positions(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                      const CacheGrowth& growth) {
  constexpr std::int64_t kEnd = std::int64_t{1} << 24;
  const bool ragged = options.cu_seq_lens_query != nullptr;
  for (std::int64_t n = 0; n < count_sequences(shape, options); ++n) {
    std::int64_t queries = shape.query_length, keys = shape.key_length;
    if (ragged) {
      queries = options.cu_seq_lens_query[n + 1] - options.cu_seq_lens_query[n];
      keys = options.cu_seq_lens_key[n + 1] - options.cu_seq_lens_key[n];
    }
    if (inputs.cache) keys = inputs.cache->appended(n) + growth.of(n);
    const std::int64_t total = options.key_lengths && !inputs.cache ? options.key_lengths[n] : keys;
    const std::int64_t length = options.query_lengths ? options.query_lengths[n] : queries;
    const std::int64_t first = sequence_offset(options, n, total, length, inputs.cache != nullptr);
    if (keys > kEnd || (queries > 0 && (first <= -kEnd || first + queries > kEnd)))
      return refuse(Rule::formula_positions, at(n), first, first + queries - 1, keys);
  }
  return {};
}

Error check_formulas(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                     const CacheGrowth& growth) {
  if (!options.score && !options.visible) return {};
  if (Error e = options.score ? validate_formula(*options.score, FormulaRole::score) : Error()) return e;
  if (options.score && options.empty_rows == EmptyRows::fail) return refuse(Rule::score_empty_rows);
  if (Error e = options.visible ? validate_formula(*options.visible, FormulaRole::visible) : Error()) return e;
  return check_positions(shape, inputs, options, growth);
}

Error check_outputs(const AttentionShape& shape, std::int64_t key_length, const AttentionOutputs& outputs) {
  const auto check = [&](Argument name, bool wanted, const Selection& selection) {
    return wanted ? validate_selection(name, selection, shape.num_heads, shape.query_length) : Error();
  };
  if (Error e = check(Argument::probs, outputs.probs, outputs.probs_selection)) return e;
  if (Error e = check_choice(Argument::scores_stage, outputs.scores_stage, ScoreStage::formula)) return e;
  if (outputs.scores && outputs.scores_selection.average) return refuse(Rule::average, Argument::scores);
  if (Error e = check(Argument::scores, outputs.scores, outputs.scores_selection)) return e;
  if (outputs.lse_rest && !outputs.lse) return refuse(Rule::array_given, Argument::lse);
  if ((outputs.top_k_values == nullptr) != (outputs.top_k_indices == nullptr)) return refuse(Rule::top_k_together);
  if (outputs.top_k_values && outputs.top_k < 1) return refuse(Rule::top_k, Argument::top_k, outputs.top_k);
  if (Error e = check(Argument::top_k, outputs.top_k_values, outputs.top_k_selection)) return e;
  if (outputs.key_room && *outputs.key_room != key_length) return refuse(Rule::key_room, *outputs.key_room, key_length);
  if ((outputs.probs || outputs.scores) &&
      !countable({shape.batch_size, shape.num_heads, shape.query_length, key_length}))
    return refuse(Rule::dense_size);
  if (outputs.top_k_values && !countable({shape.batch_size, shape.num_heads, shape.query_length, outputs.top_k}))
    return refuse(Rule::size, Argument::top_k);
  return {};
}

/// Whether no index below `end` occurs twice. The indices have been checked.
Error check_distinct(Rule rule, Argument name, const std::int32_t* indices, std::int64_t count, std::int64_t end) {
  if (!indices || count < 2) return {};
  Buffer<std::uint8_t> seen;
  if (Error e = seen.allocate(end)) return e;
  std::fill_n(seen.data(), end, std::uint8_t{0});
  for (std::int64_t n = 0; n < count; ++n)
    if (seen[indices[n]]++) return refuse(rule, {name, n}, indices[n]);
  return {};
}

}  // namespace

Error check_sinks(const float* sinks, std::int64_t num_heads) {
  for (std::int64_t h = 0; sinks && h < num_heads; ++h)
    if (!std::isfinite(sinks[h]) && sinks[h] != -kInfinity) return refuse(Rule::sink, at(h), sinks[h]);
  return {};
}

Error validate_selection(Argument name, const Selection& s, std::int64_t heads, std::int64_t rows) {
  for (const std::int64_t count : {s.heads ? s.num_heads : 0, s.queries ? s.num_queries : 0})
    if (count < 0) return refuse(Rule::selected_count, name, count);
  if (Error e = check_indices(Rule::selected_head, name, s.heads, s.num_heads, heads - 1)) return e;
  if (Error e = check_indices(Rule::selected_query, name, s.queries, s.num_queries, rows - 1)) return e;
  const bool is_empty = (s.heads ? s.num_heads : heads) == 0;
  return s.average && is_empty ? refuse(Rule::average_of_none, name) : Error();
}

Error validate_rows(Argument name, const Selection& selection, std::int64_t heads, std::int64_t rows) {
  if (selection.average) return refuse(Rule::average, name);
  return validate_selection(name, selection, heads, rows);
}

Error validate_patch(Argument name, const Patch& patch, std::int64_t heads, std::int64_t rows) {
  const Selection& s = patch.selection;
  if (!patch.given()) return {};
  if (Error e = validate_rows(name, s, heads, rows)) return e;
  if (Error e = check_distinct(Rule::repeated_head, name, s.heads, s.num_heads, heads)) return e;
  return check_distinct(Rule::repeated_query, name, s.queries, s.num_queries, rows);
}

Error validate_shape(const AttentionShape& s) {
  if (Error e = check_extents(s)) return e;
  const bool fits = countable({s.batch_size, s.num_heads, s.query_length, s.head_dim}) &&
                    countable({s.batch_size, s.num_heads, s.query_length, s.value_dim}) &&
                    countable({s.batch_size, s.num_kv_heads, s.key_length, s.head_dim}) &&
                    countable({s.batch_size, s.num_kv_heads, s.key_length, s.value_dim});
  return fits ? Error() : refuse(Rule::array_size);
}

Error validate_dtypes(const AttentionInputs& inputs, const AttentionOutputs& outputs) {
  for (const ConstArray& array : {inputs.query, inputs.key, inputs.value, inputs.bias})
    if (!is_input_dtype(array.dtype)) return refuse(Rule::input_dtype);
  return check_dtype(Argument::output, outputs.output.dtype);
}

Error check_arrays(const AttentionShape& shape, const AttentionInputs& inputs) {
  const bool has_queries = shape.batch_size > 0 && shape.num_heads > 0 && shape.query_length > 0;
  const bool has_keys = !inputs.cache && shape.batch_size > 0 && shape.key_length > 0;
  return check_given({{Argument::query, has_queries, inputs.query.data},
                      {Argument::key, has_keys, inputs.key.data},
                      {Argument::value, has_keys, inputs.value.data}});
}

Error validate_cache(const AttentionShape& shape, const KvCache& cache) {
  const KvCacheShape& held = cache.shape();
  const auto check = [](Argument name, std::int64_t wanted, std::int64_t found) {
    return wanted == found ? Error() : refuse(Rule::cache_extent, name, wanted, found);
  };
  if (Error e = check(Argument::batch_size, shape.batch_size, held.batch_size)) return e;
  if (Error e = check(Argument::num_kv_heads, shape.num_kv_heads, held.num_kv_heads)) return e;
  if (Error e = check(Argument::head_dim, shape.head_dim, held.head_dim)) return e;
  return check(Argument::value_dim, shape.value_dim, held.value_dim);
}

namespace {

/// A call that is causal or has a window must not see keys that a ring has dropped. Queries at p see keys from p -
/// reach on, and up to p + ahead.
Error check_dropped(const AttentionShape& shape, const KvCache& cache, const AttentionOptions& options,
                    const CacheGrowth& growth) {
  const KvCache::Store& store = cache.store();
  const bool causal = options.causal != Causal::none;
  if (!store.is_ring() || (!causal && options.window_left < 0 && options.window_right < 0)) return {};
  const std::int64_t kept = store.shape.keep_first, window = store.sight > 0 ? store.sight : store.shape.window;
  const std::int64_t reach = options.window_left >= 0 ? std::min(options.window_left, window - 1) : window - 1;
  const std::int64_t unlimited = std::numeric_limits<std::int32_t>::max();
  const std::int64_t right = options.window_right >= 0 ? std::min(options.window_right, unlimited) : unlimited;
  const std::int64_t ahead = causal ? 0 : right;
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    const std::int64_t total = cache.appended(b) + growth.of(b), dropped = store.dropped_at(b, total);
    const std::int64_t queries = options.query_lengths ? options.query_lengths[b] : shape.query_length;
    const std::int64_t offset = sequence_offset(options, b, total, queries, true);
    const std::int64_t first = std::max(offset, kept - ahead);
    if (dropped == 0 || first >= offset + queries || first - reach >= kept + dropped) continue;
    return refuse(Rule::ring_dropped, at(b), first, std::max(first - reach, kept), kept + dropped);
  }
  return {};
}

}  // namespace

Error validate_options(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                       const AttentionOutputs& outputs, const CacheGrowth& growth) {
  const auto length_held = [&](std::int64_t b) {
    return inputs.cache->store().length_at(b, inputs.cache->appended(b) + growth.of(b));
  };
  const std::int64_t batches = shape.batch_size;
  std::int64_t key_length = inputs.cache ? 0 : shape.key_length;
  for (std::int64_t b = 0; inputs.cache && b < batches; ++b) key_length = std::max(key_length, length_held(b));
  if (Error e = check_ragged(shape, inputs, options)) return e;
  if (Error e = check_values(shape, options)) return e;
  if (Error e = check_dropout(inputs, options.dropout)) return e;
  const std::int32_t *const keys = options.key_lengths, *const queries = options.query_lengths;
  for (std::int64_t b = 0; inputs.cache && keys && b < batches; ++b)
    if (keys[b] < 0 || keys[b] > length_held(b)) return refuse(Rule::key_lengths, at(b), length_held(b), keys[b]);
  if (Error e = check_indices(Rule::key_lengths, Argument::none, keys, inputs.cache ? 0 : batches, key_length))
    return e;
  if (Error e = check_indices(Rule::query_lengths, Argument::none, queries, batches, shape.query_length)) return e;
  if (inputs.mask)
    if (Error e = check_broadcast(Argument::mask, inputs.mask_extents, shape, key_length)) return e;
  if (inputs.bias.data)
    if (Error e = check_broadcast(Argument::bias, inputs.bias_extents, shape, key_length)) return e;
  if (Error e = check_formulas(shape, inputs, options, growth)) return e;
  if (Error e = validate_patch(Argument::patch_probs, inputs.probs, shape.num_heads, shape.query_length)) return e;
  if (inputs.cache && inputs.cache->shape().cache_positions && options.alibi_query_positions)
    return refuse(Rule::ring_places_alibi);
  if (inputs.cache)
    if (Error e = check_dropped(shape, *inputs.cache, options, growth)) return e;
  return check_outputs(shape, key_length, outputs);
}

Error validate(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
               const AttentionOutputs& outputs, const CacheGrowth& growth) {
  AttentionShape arrays = shape;
  if (inputs.cache) arrays.key_length = 0;  // the keys lie in blocks
  if (Error e = validate_shape(arrays)) return e;
  if (Error e = validate_dtypes(inputs, outputs)) return e;
  if (Error e = check_arrays(shape, inputs)) return e;
  if (inputs.cache)
    if (Error e = validate_cache(shape, *inputs.cache)) return e;
  return validate_options(shape, inputs, options, outputs, growth);
}

}  // namespace headwise
