#include "attention/validate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>

#include "attention/call.h"
#include "base/memory.h"
#include "formula/formula_program.h"
#include "headwise/kv_cache.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

using Long = long long;

Status shape_error(const char* what, std::int64_t got) {
  return Status::error(StatusCode::invalid_shape, "%s, got %lld", what, static_cast<Long>(got));
}

Status option_error(const char* what) { return Status::error(StatusCode::invalid_option, "%s", what); }

bool countable(std::initializer_list<std::int64_t> extents) {
  std::int64_t product = 4;  // bytes of the widest element
  for (std::int64_t extent : extents)
    if (__builtin_mul_overflow(product, extent == 0 ? 1 : extent, &product)) return false;
  return static_cast<std::uint64_t>(product) <= std::numeric_limits<std::size_t>::max();
}

Status check_extents(const AttentionShape& shape) {
  if (shape.batch_size < 0) return shape_error("batchSize must be >= 0", shape.batch_size);
  if (shape.query_length < 0) return shape_error("query length must be >= 0", shape.query_length);
  if (shape.key_length < 0) return shape_error("key length must be >= 0", shape.key_length);
  if (shape.head_dim < 1) return shape_error("headDim must be >= 1", shape.head_dim);
  if (shape.value_dim < 1) return shape_error("value headDim must be >= 1", shape.value_dim);
  if (shape.num_kv_heads < 1) return shape_error("numKvHeads must be >= 1", shape.num_kv_heads);
  if (shape.num_heads < 0) return shape_error("numHeads must be >= 0", shape.num_heads);
  if (shape.num_heads % shape.num_kv_heads != 0)
    return Status::error(StatusCode::invalid_shape, "numKvHeads must divide numHeads, got %lld and %lld",
                         static_cast<Long>(shape.num_kv_heads), static_cast<Long>(shape.num_heads));
  return {};
}

Status check_sizes(const AttentionShape& s) {
  constexpr std::int64_t kLargestIndex = std::numeric_limits<std::int32_t>::max();
  if (s.query_length > kLargestIndex) return shape_error("query length must fit in 31 bits", s.query_length);
  if (s.key_length > kLargestIndex) return shape_error("key length must fit in 31 bits", s.key_length);
  if (!countable({s.batch_size, s.num_heads, s.query_length, s.head_dim}) ||
      !countable({s.batch_size, s.num_heads, s.query_length, s.value_dim}) ||
      !countable({s.batch_size, s.num_kv_heads, s.key_length, s.head_dim}) ||
      !countable({s.batch_size, s.num_kv_heads, s.key_length, s.value_dim}))
    return Status::error(StatusCode::invalid_shape, "the arrays are too large to address");
  return {};
}

Status check_broadcast(const char* name, const BroadcastExtents& extents, const AttentionShape& shape,
                       std::int64_t key_length) {
  const std::int64_t full[4] = {shape.batch_size, shape.num_heads, shape.query_length, key_length};
  for (int axis = 0; axis < 4; ++axis)
    if (extents.extent[axis] != 1 && extents.extent[axis] != full[axis])
      return Status::error(StatusCode::invalid_shape, "%s: axis %d must be 1 or %lld, got %lld", name, axis,
                           static_cast<Long>(full[axis]), static_cast<Long>(extents.extent[axis]));
  return {};
}

Status check_lengths(const char* name, const std::int32_t* lengths, std::int64_t count, const char* rule,
                     std::int64_t longest) {
  for (std::int64_t b = 0; lengths && b < count; ++b)
    if (lengths[b] < 0 || lengths[b] > longest)
      return Status::error(StatusCode::invalid_option, "%s[%lld] must be 0..%lld (%s), got %d", name,
                           static_cast<Long>(b), static_cast<Long>(longest), rule, lengths[b]);
  return {};
}

Status check_finite(const char* name, const float* values, std::int64_t count, bool minus_infinity_allowed) {
  for (std::int64_t h = 0; values && h < count; ++h) {
    const bool allowed = minus_infinity_allowed && values[h] == -std::numeric_limits<float>::infinity();
    if (!std::isfinite(values[h]) && !allowed)
      return Status::error(StatusCode::invalid_option, "%s[%lld] must be finite%s, got %g", name, static_cast<Long>(h),
                           minus_infinity_allowed ? " or -inf" : "", static_cast<double>(values[h]));
  }
  return {};
}

Status check_cumulative(const char* name, const std::int32_t* starts, std::int64_t count, std::int64_t total) {
  if (starts[0] != 0) return Status::error(StatusCode::invalid_option, "%s[0] must be 0, got %d", name, starts[0]);
  for (std::int64_t n = 0; n < count; ++n)
    if (starts[n + 1] < starts[n])
      return Status::error(StatusCode::invalid_option, "%s must ascend, got %d before %d", name, starts[n],
                           starts[n + 1]);
  if (starts[count] != total)
    return Status::error(StatusCode::invalid_option, "%s must end at the packed length %lld, got %d", name,
                         static_cast<Long>(total), starts[count]);
  return {};
}

Status check_ragged(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options) {
  if (!options.cu_seq_lens_query && !options.cu_seq_lens_key) return {};
  if (!options.cu_seq_lens_query || !options.cu_seq_lens_key)
    return option_error("cuSeqLensQuery and cuSeqLensKey must be given together");
  if (shape.batch_size != 1) return shape_error("a ragged batch must be packed into batchSize 1", shape.batch_size);
  if (options.num_sequences < 0) return option_error("cuSeqLens must have at least one entry");
  if (options.key_lengths || options.query_lengths)
    return option_error("keyLengths and queryLengths do not go with cuSeqLens, which state the lengths");
  if (inputs.cache) return Status::error(StatusCode::unsupported, "a ragged batch cannot attend to a cache");
  if (inputs.arrival)
    return Status::error(StatusCode::unsupported, "the inputs of a ragged batch must be there when the call starts");
  if (Status s =
          check_cumulative("cuSeqLensQuery", options.cu_seq_lens_query, options.num_sequences, shape.query_length);
      !s.ok())
    return s;
  return check_cumulative("cuSeqLensKey", options.cu_seq_lens_key, options.num_sequences, shape.key_length);
}

Status check_values(const AttentionShape& shape, const AttentionOptions& options) {
  if (options.scale && !std::isfinite(*options.scale)) return option_error("scale must be finite");
  if (!std::isfinite(options.softcap) || options.softcap < 0.0f)
    return option_error("softcap must be finite and >= 0 (0 is off)");
  if (options.window_left < -1 || options.window_right < -1)
    return option_error("window sides must be >= 0, or absent for no limit");
  if (Status s = check_finite("alibiSlopes", options.alibi_slopes, shape.num_heads, false); !s.ok()) return s;
  if ((options.alibi_query_positions == nullptr) != (options.alibi_key_positions == nullptr))
    return option_error("alibiQueryPositions and alibiKeyPositions must be given together");
  if (options.alibi_query_positions && !options.alibi_slopes)
    return option_error("alibiQueryPositions need alibiSlopes");
  if (Status s = check_finite("sinks", options.sinks, shape.num_heads, true); !s.ok()) return s;
  return check_finite("headGain", options.head_gain, shape.num_heads, false);
}

Status check_dropout(const AttentionInputs& inputs, const Dropout& dropout) {
  if (!(dropout.rate >= 0.0 && dropout.rate <= 1.0)) return option_error("dropout.rate must be from 0 to 1");
  if (dropout.rate == 0.0) return {};
  if (inputs.cache) return Status::error(StatusCode::unsupported, "dropout does not go with a cache");
  if (inputs.probs.given()) return Status::error(StatusCode::unsupported, "dropout does not go with patch.probs");
  return {};
}

/// Positions are numbers in formulas. Float32 holds whole numbers below 2^24 exactly.
Status check_positions(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
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
      return Status::error(
          StatusCode::unsupported,
          "a formula needs positions below 2^24, sequence %lld has queries at %lld..%lld and %lld keys",
          static_cast<Long>(n), static_cast<Long>(first), static_cast<Long>(first + queries - 1),
          static_cast<Long>(keys));
  }
  return {};
}

Status check_formulas(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                      const CacheGrowth& growth) {
  if (!options.score && !options.visible) return {};
  if (options.score) {
    if (Status s = validate_formula(*options.score, FormulaRole::score); !s.ok()) return s;
    if (options.empty_rows == EmptyRows::fail)
      return Status::error(
          StatusCode::unsupported,
          "emptyRows \"throw\" does not go with score: which rows it empties is known only afterwards");
  }
  if (options.visible) {
    if (Status s = validate_formula(*options.visible, FormulaRole::visible); !s.ok()) return s;
  }
  return check_positions(shape, inputs, options, growth);
}

Status check_outputs(const AttentionShape& shape, std::int64_t key_length, const AttentionOutputs& outputs) {
  const auto check = [&](const char* name, const Selection& selection) {
    return validate_selection(name, selection, shape.num_heads, shape.query_length);
  };
  if (outputs.probs) {
    if (Status s = check("probs", outputs.probs_selection); !s.ok()) return s;
  }
  if (outputs.scores) {
    if (outputs.scores_selection.average) return option_error("scores.average is not supported");
    if (Status s = check("scores", outputs.scores_selection); !s.ok()) return s;
  }
  if (outputs.top_k_values) {
    if (outputs.top_k < 1) return option_error("topK.k must be >= 1");
    if (Status s = check("topK", outputs.top_k_selection); !s.ok()) return s;
  }
  if (outputs.key_room && *outputs.key_room != key_length)
    return Status::error(StatusCode::invalid_shape, "the results have room for %lld keys, the call has %lld",
                         static_cast<Long>(*outputs.key_room), static_cast<Long>(key_length));
  if ((outputs.probs || outputs.scores) &&
      !countable({shape.batch_size, shape.num_heads, shape.query_length, key_length}))
    return Status::error(StatusCode::invalid_shape, "dense probs or scores are too large to address");
  return {};
}

}  // namespace

Status validate_selection(const char* name, const Selection& selection, std::int64_t heads, std::int64_t rows) {
  const auto check = [&](const char* list, const std::int32_t* indices, std::int64_t count,
                         std::int64_t end) -> Status {
    for (std::int64_t n = 0; indices && n < count; ++n)
      if (indices[n] < 0 || indices[n] >= end)
        return Status::error(StatusCode::invalid_option, "%s.%s[%lld] must be 0..%lld, got %d", name, list,
                             static_cast<Long>(n), static_cast<Long>(end - 1), indices[n]);
    return {};
  };
  if (Status s = check("heads", selection.heads, selection.num_heads, heads); !s.ok()) return s;
  if (Status s = check("queries", selection.queries, selection.num_queries, rows); !s.ok()) return s;
  if (selection.average && (selection.heads ? selection.num_heads : heads) == 0)
    return Status::error(StatusCode::invalid_option, "%s.average: there is no head to average", name);
  return {};
}

namespace {

/// Whether no index below `end` occurs twice. The indices have been checked.
Status check_distinct(const char* name, const char* list, const std::int32_t* indices, std::int64_t count,
                      std::int64_t end) {
  if (!indices || count < 2) return {};
  Buffer<std::uint8_t> seen;
  if (!seen.allocate(end)) return Status::out_of_memory(end);
  std::fill_n(seen.data(), end, std::uint8_t{0});
  for (std::int64_t n = 0; n < count; ++n) {
    if (seen[indices[n]])
      return Status::error(StatusCode::invalid_option, "%s.%s[%lld] must not occur twice, got %d again", name, list,
                           static_cast<Long>(n), indices[n]);
    seen[indices[n]] = 1;
  }
  return {};
}

}  // namespace

Status validate_patch(const char* name, const Patch& patch, std::int64_t heads, std::int64_t rows) {
  const Selection& selection = patch.selection;
  if (selection.average) return Status::error(StatusCode::invalid_option, "%s.average is not supported", name);
  if (Status s = validate_selection(name, selection, heads, rows); !s.ok()) return s;
  if (Status s = check_distinct(name, "heads", selection.heads, selection.num_heads, heads); !s.ok()) return s;
  return check_distinct(name, "queries", selection.queries, selection.num_queries, rows);
}

Status validate_shape(const AttentionShape& shape) {
  if (Status s = check_extents(shape); !s.ok()) return s;
  return check_sizes(shape);
}

Status validate_dtypes(const AttentionInputs& inputs, const AttentionOutputs& outputs) {
  for (const ConstArray& array : {inputs.query, inputs.key, inputs.value, inputs.bias})
    if (!is_input_dtype(array.dtype))
      return Status::error(StatusCode::unsupported, "int8 and bfloat16 are types of what is stored, not of arguments");
  if (!is_input_dtype(outputs.output.dtype))
    return Status::error(StatusCode::unsupported, "the output must be float32 or float16");
  return {};
}

Status validate_cache(const AttentionShape& shape, const KvCache& cache) {
  const KvCacheShape& held = cache.shape();
  const auto mismatch = [](const char* what, std::int64_t a, std::int64_t b) {
    return Status::error(StatusCode::invalid_shape, "%s differs between query and cache, got %lld and %lld", what,
                         static_cast<Long>(a), static_cast<Long>(b));
  };
  if (held.batch_size != shape.batch_size) return mismatch("batchSize", shape.batch_size, held.batch_size);
  if (held.num_kv_heads != shape.num_kv_heads) return mismatch("numKvHeads", shape.num_kv_heads, held.num_kv_heads);
  if (held.head_dim != shape.head_dim) return mismatch("headDim", shape.head_dim, held.head_dim);
  if (held.value_dim != shape.value_dim) return mismatch("valueDim", shape.value_dim, held.value_dim);
  return {};
}

namespace {

/// A call that is causal or has a window must not see keys that a ring has dropped. Queries at p see keys from p -
/// reach on, and up to p + ahead.
Status check_dropped(const AttentionShape& shape, const KvCache& cache, const AttentionOptions& options,
                     const CacheGrowth& growth) {
  const KvCache::Store& store = cache.store();
  const bool causal = options.causal != Causal::none;
  if (!store.is_ring() || store.sight > 0 || (!causal && options.window_left < 0 && options.window_right < 0))
    return {};
  const std::int64_t kept = store.shape.keep_first, window = store.shape.window;
  const std::int64_t reach = options.window_left >= 0 ? std::min(options.window_left, window - 1) : window - 1;
  const std::int64_t unlimited = std::numeric_limits<std::int32_t>::max();
  const std::int64_t right = options.window_right >= 0 ? std::min(options.window_right, unlimited) : unlimited;
  const std::int64_t ahead = causal ? 0 : right;
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    const std::int64_t total = cache.appended(b) + growth.of(b), dropped = store.dropped_of(total);
    const std::int64_t queries = options.query_lengths ? options.query_lengths[b] : shape.query_length;
    const std::int64_t offset = sequence_offset(options, b, total, queries, true);
    const std::int64_t first = std::max(offset, kept - ahead);
    if (dropped == 0 || first >= offset + queries || first - reach >= kept + dropped) continue;
    return Status::error(StatusCode::invalid_option,
                         "the query at position %lld of batch %lld sees keys from %lld on, and the ring has dropped "
                         "those before %lld: a step attends before it drops",
                         static_cast<Long>(first), static_cast<Long>(b),
                         static_cast<Long>(std::max(first - reach, kept)), static_cast<Long>(kept + dropped));
  }
  return {};
}

}  // namespace

Status validate_options(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                        const AttentionOutputs& outputs, const CacheGrowth& growth) {
  const auto length_held = [&](std::int64_t b) {
    return inputs.cache->store().length_of(inputs.cache->appended(b) + growth.of(b));
  };
  std::int64_t key_length = inputs.cache ? 0 : shape.key_length;
  for (std::int64_t b = 0; inputs.cache && b < shape.batch_size; ++b) key_length = std::max(key_length, length_held(b));
  if (Status s = check_ragged(shape, inputs, options); !s.ok()) return s;
  if (Status s = check_values(shape, options); !s.ok()) return s;
  if (Status s = check_dropout(inputs, options.dropout); !s.ok()) return s;
  if (Status s = check_lengths("keyLengths", options.key_lengths, inputs.cache ? 0 : shape.batch_size, "the key length",
                               key_length);
      !s.ok())
    return s;
  for (std::int64_t b = 0; inputs.cache && options.key_lengths && b < shape.batch_size; ++b)
    if (Status s = check_lengths("keyLengths", options.key_lengths + b, 1, "tokens held", length_held(b)); !s.ok())
      return s;
  if (Status s = check_lengths("queryLengths", options.query_lengths, shape.batch_size, "the query length",
                               shape.query_length);
      !s.ok())
    return s;
  if (inputs.mask) {
    if (Status s = check_broadcast("mask", inputs.mask_extents, shape, key_length); !s.ok()) return s;
  }
  if (inputs.bias.data) {
    if (Status s = check_broadcast("bias", inputs.bias_extents, shape, key_length); !s.ok()) return s;
  }
  if (Status s = check_formulas(shape, inputs, options, growth); !s.ok()) return s;
  if (inputs.probs.given()) {
    if (Status s = validate_patch("patch.probs", inputs.probs, shape.num_heads, shape.query_length); !s.ok()) return s;
  }
  if (inputs.cache && inputs.cache->shape().cache_positions && options.alibi_query_positions)
    return option_error("alibiQueryPositions do not go with a ring whose positions are its places");
  if (inputs.cache) {
    if (Status s = check_dropped(shape, *inputs.cache, options, growth); !s.ok()) return s;
  }
  return check_outputs(shape, key_length, outputs);
}

Status validate(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                const AttentionOutputs& outputs, const CacheGrowth& growth) {
  AttentionShape arrays = shape;
  if (inputs.cache) arrays.key_length = 0;  // the keys lie in blocks
  if (Status s = validate_shape(arrays); !s.ok()) return s;
  if (Status s = validate_dtypes(inputs, outputs); !s.ok()) return s;
  if (inputs.cache) {
    if (Status s = validate_cache(shape, *inputs.cache); !s.ok()) return s;
  }
  return validate_options(shape, inputs, options, outputs, growth);
}

}  // namespace headwise
