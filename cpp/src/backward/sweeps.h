#pragma once

#include <cstdint>

#include "backward/gradient_call.h"
#include "base/memory.h"
#include "base/rules.h"
#include "headwise/thread_pool.h"

namespace headwise {

struct HeadSums;
struct QuerySums;

/// The gradients of queries, keys and values, and those with one number for each head. One sweep over all pairs: a task
/// has some keys of a kv head, and meets them with all its rows.
class InputGradients {
 public:
  InputGradients(ThreadPool& pool, const GradientCall& call, GradientScratches& scratches)
      : pool_(pool), call_(call), scratches_(scratches) {}

  [[nodiscard]] static bool are_wanted(const BackwardOutputs& outputs);
  [[nodiscard]] Error allocate();
  void run();

 private:
  [[nodiscard]] std::int64_t kv_heads() const { return call_.forward.num_sequences * groups(); }
  [[nodiscard]] std::int64_t groups() const { return call_.forward.shape.num_kv_heads; }
  [[nodiscard]] Rows rows_of(std::int64_t kv_head) const {
    return call_.forward.all_rows(call_.forward.sequences[kv_head / groups()], kv_head % groups());
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

/// The gradient of the bias. A task has some cells of the bias and computes the gradients of all scores that they were
/// added to, one after the other: no cell is shared, and no memory of Sq x Skv is needed.
class BiasGradient {
 public:
  BiasGradient(ThreadPool& pool, const GradientCall& call, GradientScratches& scratches)
      : pool_(pool), call_(call), scratches_(scratches) {}

  [[nodiscard]] Error allocate();
  void run();

 private:
  ThreadPool& pool_;
  const GradientCall& call_;
  GradientScratches& scratches_;
  Buffer<double> sums_;  ///< of each worker: the cells of a task
};

/// The gradients of what a score formula reads. A fixed number of tasks share out the query rows. Each adds to sums of
/// its own, which are then added in order.
class ReadGradients {
 public:
  ReadGradients(ThreadPool& pool, const GradientCall& call, GradientScratches& scratches)
      : pool_(pool), call_(call), derivative_(*call.inputs.score_derivative), scratches_(scratches) {}

  [[nodiscard]] Error allocate();
  void run();

 private:
  void run_task(std::int64_t task, int worker);

  ThreadPool& pool_;
  const GradientCall& call_;
  const ScoreDerivative& derivative_;
  GradientScratches& scratches_;
  std::int64_t tasks_ = 1, entries_ = 0;
  Buffer<double> sums_;  ///< [tasks, entries of all reads]
};

}  // namespace headwise
