#pragma once

#include "backward/gradient_call.h"
#include "backward/gradient_scratch.h"
#include "base/memory.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// The gradients of what a score formula reads. A fixed number of tasks share out the query rows. Each adds to sums of
/// its own, which are then added in order.
class ReadGradients {
 public:
  ReadGradients(ThreadPool& pool, const GradientCall& call, GradientScratches& scratches)
      : pool_(pool), call_(call), derivative_(*call.inputs.score_derivative), scratches_(scratches) {}

  [[nodiscard]] Status allocate();
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
