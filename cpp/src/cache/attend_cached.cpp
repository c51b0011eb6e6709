#include "cache/attend_cached.h"

#include "attention/attend.h"
#include "attention/call.h"
#include "cache/rotary_rows.h"
#include "headwise/arrival.h"
#include "position/rotary.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

/// The positions by which the queries of a call are turned, [planes, B, Sq].
struct QueryAngles {
  Buffer<double> all, kept;  ///< kept: for the keys that a ring with cache_positions keeps for ever
  std::int64_t planes = 1;
  bool kept_differ = false;

  /// Refuses positions that tables of cos and sin do not have.
  [[nodiscard]] Status find(const AttentionShape& shape, const AttentionInputs& inputs,
                            const AttentionOptions& options) {
    const KvCache::Store& store = inputs.cache->store();
    const std::int64_t length = shape.query_length, rows = shape.batch_size * length;
    if (inputs.query_positions) planes = inputs.query_position_planes;
    Buffer<Sequence> sequences;
    if (!sequences.allocate(shape.batch_size) || !all.allocate(planes * rows) || !kept.allocate(rows))
      return Status::out_of_memory(shape.batch_size * static_cast<std::int64_t>(sizeof(Sequence)) +
                                   (planes + 1) * rows * 8);
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
      if (Status status = check_table_rows(*store.shape.rotary, angle); !status.ok()) return status;
    }
    for (std::int64_t row = rows; row < planes * rows; ++row) {
      const Sequence& sequence = sequences[row % rows / length];
      all[row] = static_cast<double>(inputs.query_positions[row]);
      if (row % length >= sequence.query_length) continue;
      if (Status status = check_table_rows(*store.shape.rotary, inputs.query_positions[row]); !status.ok())
        return status;
    }
    return {};
  }
};

}  // namespace

Status turn_queries(ThreadPool& pool, const AttentionShape& shape, const AttentionOptions& options,
                    AttentionInputs* inputs, CachedQueries* turned) {
  const KvCache::Store& store = inputs->cache->store();
  QueryAngles angles;
  if (Status status = angles.find(shape, *inputs, options); !status.ok()) return status;
  if (inputs->arrival) {  // turning reads all queries
    inputs->arrival->complete();
    inputs->arrival = nullptr;
  }
  const ConstArray query = inputs->query;
  const auto turn = [&](const Buffer<double>& positions, std::int64_t planes, Buffer<float>* rows) {
    return turn_rows(pool, store, options.layout, shape.num_heads, shape.query_length, query, positions.data(), planes,
                     rows);
  };
  if (Status status = turn(angles.all, angles.planes, &turned->all); !status.ok()) return status;
  inputs->query = {turned->all.data(), Dtype::float32};
  if (!angles.kept_differ) return {};
  if (Status status = turn(angles.kept, 1, &turned->kept); !status.ok()) return status;
  inputs->kept_query = turned->kept.data();
  return {};
}

Status attend_cached(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                     const AttentionOptions& options, const AttentionOutputs& outputs) {
  if (!inputs.cache->shape().rotary) return attend_checked(pool, shape, inputs, options, outputs);
  AttentionInputs turned_inputs = inputs;
  CachedQueries turned;
  if (Status status = turn_queries(pool, shape, options, &turned_inputs, &turned); !status.ok()) return status;
  return attend_checked(pool, shape, turned_inputs, options, outputs);
}

}  // namespace headwise
