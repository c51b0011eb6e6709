#pragma once

#include "backward/gradient_call.h"
#include "backward/gradient_scratch.h"
#include "base/memory.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// The gradient of the bias. A task has some cells of the bias and computes the gradients of all scores that they were
/// added to, one after the other: no cell is shared, and no memory of Sq x Skv is needed.
class BiasGradient {
 public:
  BiasGradient(ThreadPool& pool, const GradientCall& call, GradientScratches& scratches)
      : pool_(pool), call_(call), scratches_(scratches) {}

  [[nodiscard]] Status allocate();
  void run();

 private:
  ThreadPool& pool_;
  const GradientCall& call_;
  GradientScratches& scratches_;
  Buffer<double> sums_;  ///< of each worker: the cells of a task
};

}  // namespace headwise
