#include "attention/call.h"

#include <cmath>
#include <cstdlib>

#include "headwise/kv_cache.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

// No query and key are farther apart. Sums of positions stay within 64 bits.
constexpr std::int64_t kFarthest = std::int64_t{1} << 40;

}  // namespace

std::int64_t sequence_offset(const AttentionOptions& options, std::int64_t n, std::int64_t total_keys,
                             std::int64_t query_length, bool cached) {
  if (options.query_offset) return options.query_offset[n];
  if (options.causal == Causal::upper_left) return 0;
  if (options.causal == Causal::lower_right || cached) return total_keys - query_length;
  return 0;
}

VisibleKeys Call::visible_keys(const Sequence& sequence, std::int64_t head, std::int64_t i) const {
  VisibleKeys keys;
  if (i >= sequence.query_length) return keys;
  const std::int64_t position = i + sequence.offset;
  const KeyPositions& at = sequence.positions;
  keys.range = {0, sequence.key_length};
  if (options.causal != Causal::none) keys.range.end = std::min(keys.range.end, at.rows_before(position + 1));
  if (options.window_right >= 0)
    keys.range.end = std::min(keys.range.end, at.rows_before(position + std::min(options.window_right, kFarthest) + 1));
  if (options.window_left >= 0) keys.range.begin = at.rows_before(position - std::min(options.window_left, kFarthest));
  if (at.sight > 0) {
    const std::int64_t window = at.rows_before(position - at.sight + 1);
    if (keys.range.begin < at.kept)
      keys.gap = {at.kept, std::max(at.kept, window)};
    else
      keys.range.begin = std::max(keys.range.begin, window);
  }
  if (options.exclude_self && position >= 0) {
    const std::int64_t j = at.rows_before(position);
    if (at.of(j) == position) keys.self = j;
  }
  if (formulas.bounds().known()) formulas.bounds().narrow(sequence, head, i, &keys.range);
  KeyRange shown{sequence.key_begin + keys.range.begin, sequence.key_begin + keys.range.end};
  for (const ShownKeys* by : {&shown_by_mask, &shown_by_bias})
    if (by->known()) keys.has_holes |= by->narrow(sequence.batch, head, sequence.query_begin + i, &shown);
  keys.range = {shown.begin - sequence.key_begin, shown.end - sequence.key_begin};
  return keys;
}

std::int64_t Call::alibi_distance(const Sequence& sequence, std::int64_t i, std::int64_t j) const {
  if (!options.alibi_query_positions) {
    const std::int64_t position = i + sequence.offset;
    return std::abs((j < sequence.places ? sequence.positions.place_of(position) : position) -
                    sequence.positions.of(j));
  }
  const std::int64_t query_row = sequence.batch * shape.query_length + sequence.query_begin + i;
  const std::int64_t key_row = sequence.batch * key_length + sequence.key_begin + j;
  return std::abs(std::int64_t{options.alibi_query_positions[query_row]} - options.alibi_key_positions[key_row]);
}

Rows Call::all_rows(const Sequence& sequence, std::int64_t group) const {
  return {&sequence, group, group * group_size, group_size, 0, group_size * sequence.num_queries};
}

QueryRow Call::query_row(const Sequence& sequence, std::int64_t head, std::int64_t i, std::int64_t r) const {
  return {&sequence, head, i, visible_keys(sequence, head, i), r};
}

std::uint64_t Call::shown_panels(const QueryRow& row, std::int64_t first) const {
  const Sequence& sequence = *row.sequence;
  std::uint64_t panels = ~std::uint64_t{0};
  for (const ShownKeys* by : {&shown_by_mask, &shown_by_bias})
    if (by->known()) panels &= by->panels(sequence.batch, row.head, row.query(), sequence.key_begin + first);
  return panels;
}

std::int64_t key_length_of(const AttentionShape& shape, const AttentionInputs& inputs) {
  return inputs.cache ? inputs.cache->max_length() : shape.key_length;
}

std::int64_t count_sequences(const AttentionShape& shape, const AttentionOptions& options) {
  return options.cu_seq_lens_query ? options.num_sequences : shape.batch_size;
}

void resolve_sequences(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                       Sequence* sequences) {
  const std::int64_t count = count_sequences(shape, options);
  for (std::int64_t n = 0; n < count; ++n) {
    Sequence& sequence = sequences[n];
    sequence = {};
    sequence.number = n;
    sequence.head_dim = shape.head_dim;
    std::int64_t total_keys;
    if (options.cu_seq_lens_query) {
      const std::int32_t* query = options.cu_seq_lens_query + n;
      const std::int32_t* key = options.cu_seq_lens_key + n;
      sequence.query_begin = query[0];
      sequence.num_queries = sequence.query_length = query[1] - query[0];
      sequence.key_begin = key[0];
      total_keys = sequence.num_keys = sequence.key_length = key[1] - key[0];
    } else {
      sequence.batch = n;
      sequence.num_queries = sequence.query_length = shape.query_length;
      sequence.num_keys = sequence.key_length = inputs.cache ? inputs.cache->length(n) : shape.key_length;
      if (inputs.cache) sequence.positions = inputs.cache->store().positions(n);
      if (inputs.cache && inputs.cache->shape().cache_positions) sequence.places = sequence.positions.kept;
      if (options.key_lengths) sequence.key_length = options.key_lengths[n];
      total_keys = inputs.cache ? inputs.cache->appended(n) : sequence.key_length;
      if (options.query_lengths) sequence.query_length = options.query_lengths[n];
    }
    sequence.offset = sequence_offset(options, n, total_keys, sequence.query_length, inputs.cache != nullptr);
  }
}

namespace {

/// Whether reading the bias once more is cheap beside computing the scores: at least this many rows share each element.
bool is_shared(const BroadcastExtents& bias, const AttentionShape& shape, std::int64_t key_length) {
  constexpr double kSharing = 4;
  const double pairs = static_cast<double>(shape.batch_size) * shape.num_heads * shape.query_length * key_length;
  double elements = 1;
  for (const std::int64_t extent : bias.extent) elements *= static_cast<double>(extent);
  return elements * kSharing <= pairs;
}

}  // namespace

Error PreparedCall::prepare(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                            const AttentionOptions& options) {
  const KernelTable& kernels = kernel_table();
  num_sequences_ = count_sequences(shape, options);
  if (Error e = sequences_.allocate(num_sequences_)) return e;
  resolve_sequences(shape, inputs, options, sequences_.data());
  if (Error e = formulas_.prepare(pool, shape, options, sequences_.data(), num_sequences_, kernels)) return e;
  key_length_ = key_length_of(shape, inputs);
  if (inputs.mask) {
    if (Error e = shown_by_mask_.read(pool, inputs.mask, inputs.mask_extents, kernels.panel_width)) return e;
  }
  if (inputs.bias.data && is_shared(inputs.bias_extents, shape, key_length_))
    return shown_by_bias_.read(pool, inputs.bias, inputs.bias_extents, kernels.panel_width);
  return {};
}

Call PreparedCall::call(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                        const AttentionOutputs& outputs, const KeyValueSource& source) const {
  const float scale = options.scale.value_or(1.0f / std::sqrt(static_cast<float>(shape.head_dim)));
  const bool raises = std::abs(scale) > 1.0f;
  return {shape,
          inputs,
          options,
          outputs,
          kernel_table(),
          source,
          raises ? 1.0f : scale,
          raises ? scale : 1.0f,
          shape.num_heads / shape.num_kv_heads,
          key_length_,
          num_sequences_,
          sequences_.data(),
          strides_of(options.layout, shape.num_heads, shape.query_length, shape.head_dim),
          strides_of(options.layout, shape.num_heads, shape.query_length, shape.value_dim),
          shown_by_mask_,
          shown_by_bias_,
          formulas_};
}

}  // namespace headwise
