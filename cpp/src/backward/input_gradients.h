#pragma once

#include "backward/gradient_call.h"
#include "backward/gradient_scratch.h"
#include "backward/head_sums.h"
#include "backward/query_sums.h"
#include "base/memory.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// The gradients of queries, keys and values, and those with one number for each head. One sweep over all pairs: a task
/// has some keys of a kv head, and meets them with all its rows.
class InputGradients {
 public:
  InputGradients(ThreadPool& pool, const GradientCall& call, GradientScratches& scratches)
      : pool_(pool), call_(call), scratches_(scratches) {}

  [[nodiscard]] static bool are_wanted(const BackwardOutputs& outputs) {
    return outputs.query || outputs.key || outputs.value || wants_head_sums(outputs);
  }
  [[nodiscard]] Status allocate();
  void run();

 private:
  [[nodiscard]] std::int64_t kv_heads() const { return call_.forward.num_sequences * groups(); }
  [[nodiscard]] std::int64_t groups() const { return call_.forward.shape.num_kv_heads; }
  [[nodiscard]] RowBlock rows_of(std::int64_t kv_head) const {
    return call_.all_rows(call_.forward.sequences[kv_head / groups()], kv_head % groups());
  }
  [[nodiscard]] QuerySums sums_at(char* memory, std::int64_t n, std::int64_t rows) const;
  void run_task(std::int64_t task, int worker);
  void merge(std::int64_t kv_head);
  void finish(std::int64_t kv_head, const QuerySums& sums);

  ThreadPool& pool_;
  const GradientCall& call_;
  GradientScratches& scratches_;
  std::int64_t splits_ = 1;  ///< of the keys of every kv head; those of short sequences may be empty
  std::int64_t sum_bytes_ = 0;
  Buffer<char> sums_;           ///< QuerySums of each worker, or of each task if there are splits
  Buffer<HeadSums> head_sums_;  ///< [num_sequences, num_heads]
};

}  // namespace headwise
