#include "cache/attend_cached.h"

#include <algorithm>

#include "attention/call.h"
#include "attention/head_rows.h"
#include "attention/validate.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "headwise/arrival.h"
#include "position/rotary.h"
#include "source/key_value_source.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

/// The positions by which the queries of a call are turned, [planes, B, Sq].
struct QueryAngles {
  Arrays arrays;
  std::span<double> all, kept;  ///< kept: for the keys that a ring with cache_positions keeps for ever
  std::int64_t planes = 1;
  bool kept_differ = false;

  /// Refuses positions that tables of cos and sin do not have.
  [[nodiscard]] Error find(const AttentionShape& shape, const AttentionInputs& inputs,
                           const AttentionOptions& options) {
    const KvCache::Store& store = inputs.cache->store();
    const std::int64_t length = shape.query_length, rows = shape.batch_size * length;
    if (inputs.query_positions) planes = inputs.query_position_planes;
    std::span<Sequence> sequences;
    if (Error e = arrays.allocate(sequences, shape.batch_size, all, planes * rows, kept, rows)) return e;
    resolve_sequences(shape, inputs, options, sequences.data());
    const bool has_kept = store.shape.cache_positions && store.shape.keep_first > 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const Sequence& sequence = sequences[row / length];
      const std::int64_t i = row % length, origin = store.rotary_origin[sequence.batch];
      const std::int64_t position = sequence.offset + i;
      const std::int64_t place = has_kept ? sequence.positions.place_of(position) : position;
      const std::int64_t angle = inputs.query_positions ? inputs.query_positions[row] : position + origin;
      all[row] = static_cast<double>(angle);
      kept[row] = static_cast<double>(place + origin);
      if (i >= sequence.query_length) continue;
      kept_differ |= place != position;
      if (Error e = check_table_rows(*store.shape.rotary, angle)) return e;
    }
    for (std::int64_t row = rows; row < planes * rows; ++row) {
      const Sequence& sequence = sequences[row % rows / length];
      all[row] = static_cast<double>(inputs.query_positions[row]);
      if (row % length >= sequence.query_length) continue;
      if (Error e = check_table_rows(*store.shape.rotary, inputs.query_positions[row])) return e;
    }
    return {};
  }
};

/// The queries of a call as they meet the keys of a cache.
struct CachedQueries {
  Buffer<float> all;
  Buffer<float> kept;  ///< see AttentionInputs::kept_query; empty if they are the same
};

/// Turns the queries of a call to a rotary cache. `inputs` then has those of `turned`.
Error turn_queries(ThreadPool& pool, const AttentionShape& shape, const AttentionOptions& options,
                   AttentionInputs* inputs, CachedQueries* turned) {
  const KvCache::Store& store = inputs->cache->store();
  QueryAngles angles;
  if (Error e = angles.find(shape, *inputs, options)) return e;
  if (inputs->arrival) {  // turning reads all queries
    inputs->arrival->complete();
    inputs->arrival = nullptr;
  }
  const ConstArray query = inputs->query;
  const auto turn = [&](std::span<const double> positions, std::int64_t planes, Buffer<float>* rows) {
    return turn_rows(pool, store, options.layout, shape.num_heads, shape.query_length, query, positions.data(), planes,
                     rows);
  };
  if (Error e = turn(angles.all, angles.planes, &turned->all)) return e;
  inputs->query = {turned->all.data(), Dtype::float32};
  if (!angles.kept_differ) return {};
  if (Error e = turn(angles.kept, 1, &turned->kept)) return e;
  inputs->kept_query = turned->kept.data();
  return {};
}

}  // namespace

Error attend_cached(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                    const AttentionOptions& options, const AttentionOutputs& outputs) {
  if (!inputs.cache->shape().rotary) return attend_checked(pool, shape, inputs, options, outputs);
  AttentionInputs turned_inputs = inputs;
  CachedQueries turned;
  if (Error e = turn_queries(pool, shape, options, &turned_inputs, &turned)) return e;
  return attend_checked(pool, shape, turned_inputs, options, outputs);
}

namespace {

Error validate_inside(const AttendInside& inside, const AttentionShape& shape, std::int64_t num_keys) {
  if (Error e = validate_patch(Argument::patch_query, inside.query, shape.num_heads, shape.query_length)) return e;
  if (Error e = validate_patch(Argument::patch_head_outputs, inside.head_outputs, shape.num_heads, shape.query_length))
    return e;
  return validate_views(inside.views, shape, num_keys);
}

/// A call of attend that overwrites or shows something.
class AttendWithInside {
 public:
  AttendWithInside(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                   const AttentionOptions& options, const AttentionOutputs& outputs, const AttendInside& inside)
      : pool_(pool), shape_(shape), inputs_(inputs), options_(options), outputs_(outputs), inside_(inside) {}

  [[nodiscard]] Error run() {
    if (Error e = prepare_queries()) return e;
    AttentionOutputs outputs = outputs_;
    if (keeps_heads()) {
      if (Error e = heads_.allocate(elements(shape_.value_dim))) return e;
      outputs.output = {heads_.data(), Dtype::float32};
    }
    if (Error e = attend_checked(pool_, shape_, inputs_, options_, outputs)) return e;
    const HeadRows heads = rows(static_cast<float*>(outputs.output.data), shape_.value_dim);
    if (outputs.output.data) overwrite(pool_, heads, inside_.head_outputs);
    show(heads);
    if (keeps_heads() && outputs_.output.data) write_output();
    return {};
  }

 private:
  [[nodiscard]] bool sees_heads() const { return inside_.head_outputs.given() || inside_.views.head_outputs.data; }
  /// Whether the results of heads must lie in a buffer, because the output does not have them as float32.
  [[nodiscard]] bool keeps_heads() const {
    return sees_heads() && (!outputs_.output.data || outputs_.output.dtype != Dtype::float32);
  }
  [[nodiscard]] std::int64_t elements(std::int64_t width) const {
    return shape_.batch_size * shape_.num_heads * shape_.query_length * width;
  }
  [[nodiscard]] HeadRows rows(float* data, std::int64_t width) const {
    const Strides strides = strides_of(options_.layout, shape_.num_heads, shape_.query_length, width);
    return {data, strides, shape_.batch_size, shape_.num_heads, shape_.query_length, width, options_.query_lengths};
  }

  /// The queries as attention sees them, in a buffer if they are turned, overwritten or shown.
  Error prepare_queries() {
    Buffer<float>& query = queries_.all;
    if (inputs_.cache->shape().rotary) {
      if (Error e = turn_queries(pool_, shape_, options_, &inputs_, &queries_)) return e;
    } else if (inside_.query.given() || inside_.views.query.data) {
      if (Error e = query.allocate(elements(shape_.head_dim))) return e;
      if (inputs_.arrival) inputs_.arrival->complete();
      inputs_.arrival = nullptr;
      widen_queries();
      inputs_.query = {query.data(), Dtype::float32};
    }
    overwrite(pool_, rows(query.data(), shape_.head_dim), inside_.query);
    return {};
  }

  void widen_queries() {
    const std::int64_t count = elements(shape_.head_dim);
    if (inputs_.query.dtype == Dtype::float32)
      std::copy_n(static_cast<const float*>(inputs_.query.data), count, queries_.all.data());
    else
      for (std::int64_t n = 0; n < count; ++n)
        queries_.all[n] = load_element(static_cast<const std::uint16_t*>(inputs_.query.data) + n);
  }

  void show(const HeadRows& heads) {
    const AttentionViews& views = inside_.views;
    if (views.query.data)
      copy_chosen(pool_, rows(queries_.all.data(), shape_.head_dim), views.query.selection, views.query.data);
    show_keys_and_values(pool_, shape_, inputs_, KvCacheSource(*inputs_.cache), views);
    if (views.head_outputs.data) copy_chosen(pool_, heads, views.head_outputs.selection, views.head_outputs.data);
  }

  void write_output() {
    auto* const output = static_cast<std::uint16_t*>(outputs_.output.data);
    for (std::int64_t n = 0; n < heads_.size(); ++n) store_element(output + n, heads_[n]);
  }

  ThreadPool& pool_;
  const AttentionShape& shape_;
  AttentionInputs inputs_;
  const AttentionOptions& options_;
  const AttentionOutputs& outputs_;
  const AttendInside& inside_;
  CachedQueries queries_;
  Buffer<float> heads_;
};

}  // namespace

Status KvCache::attend(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                       const AttentionOptions& options, const AttentionOutputs& outputs,
                       const AttendInside& inside) const {
  AttentionInputs cached = inputs;
  cached.cache = this;
  if (inputs.query_positions && !store_->shape.rotary) return refuse(Rule::positions_rotary_cache);
  if (store_->shape.rotary)
    if (Error e = check_planes(*store_->shape.rotary, inputs.query_position_planes)) return e;
  if (store_->shape.cache_positions && inputs.query_positions) return refuse(Rule::ring_places_positions);
  if (store_->shape.cache_positions && store_->shape.rotary && inside.query.given())
    return refuse(Rule::ring_places_patch);
  if (Error e = validate(shape, cached, options, outputs)) return e;
  if (Error e = validate_inside(inside, shape, max_length())) return e;
  const AttentionViews& views = inside.views;
  const bool has_inside = inside.query.given() || inside.head_outputs.given() || views.query.data || views.key.data ||
                          views.value.data || views.head_outputs.data;
  if (!has_inside) return attend_cached(pool, shape, cached, options, outputs);
  return AttendWithInside(pool, shape, cached, options, outputs, inside).run();
}

}  // namespace headwise
