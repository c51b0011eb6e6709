#pragma once

#include "backward/backward_call.h"
#include "base/workspace.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// deltas[b, h, i] = do_i . o_i for every row. The sums run in double: gradients of scores are small differences.
[[nodiscard]] Status compute_deltas(ThreadPool& pool, const Call& forward, const BackwardInputs& inputs,
                                    Buffer<float>* deltas);

}  // namespace headwise
