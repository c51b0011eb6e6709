#include "cache/attend_cached.h"

#include "attention/attend.h"
#include "attention/call.h"
#include "cache/rotary_rows.h"
#include "headwise/arrival.h"
#include "source/kv_cache_store.h"

namespace headwise {

Status turn_queries(ThreadPool& pool, const AttentionShape& shape, const AttentionOptions& options,
                    AttentionInputs* inputs, Buffer<float>* turned) {
  const KvCache::Store& store = inputs->cache->store();
  Buffer<Sequence> sequences;
  Buffer<std::int64_t> first;
  if (!sequences.allocate(shape.batch_size) || !first.allocate(shape.batch_size))
    return Status::out_of_memory(shape.batch_size * static_cast<std::int64_t>(sizeof(Sequence)));
  resolve_sequences(shape, *inputs, options, sequences.data());
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    first[b] = sequences[b].offset + store.rotary_origin[b];
    for (std::int64_t i = 0; i < sequences[b].query_length; ++i) {
      const std::int64_t position =
          inputs->query_positions ? inputs->query_positions[b * shape.query_length + i] : first[b] + i;
      if (Status status = check_table_rows(*store.shape.rotary, position); !status.ok()) return status;
    }
  }
  if (inputs->arrival) {  // turning reads all queries
    inputs->arrival->complete();
    inputs->arrival = nullptr;
  }
  if (Status status = turn_rows(pool, store, options.layout, shape.num_heads, shape.query_length, inputs->query,
                                first.data(), inputs->query_positions, turned);
      !status.ok())
    return status;
  inputs->query = {turned->data(), Dtype::float32};
  return {};
}

Status attend_cached(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                     const AttentionOptions& options, const AttentionOutputs& outputs) {
  if (!inputs.cache->shape().rotary) return attend_checked(pool, shape, inputs, options, outputs);
  AttentionInputs turned_inputs = inputs;
  Buffer<float> turned;
  if (Status status = turn_queries(pool, shape, options, &turned_inputs, &turned); !status.ok()) return status;
  return attend_checked(pool, shape, turned_inputs, options, outputs);
}

}  // namespace headwise
