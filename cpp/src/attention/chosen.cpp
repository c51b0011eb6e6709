#include "attention/chosen.h"

#include <algorithm>

namespace headwise {

const Sequence* sequence_of(const Call& call, std::int64_t batch, std::int64_t query) {
  if (!call.options.cu_seq_lens_query) return call.sequences + batch;
  const Sequence* end = call.sequences + call.num_sequences;
  const Sequence* after = std::upper_bound(call.sequences, end, query, [](std::int64_t q, const Sequence& sequence) {
    return q < sequence.query_begin + sequence.num_queries;
  });
  return after == end ? nullptr : after;
}

}  // namespace headwise
