#pragma once

#include <algorithm>
#include <cstdint>

#include "base/sizes.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// Calls visit(b, s) for every token (b, s). A task takes several neighbouring tokens.
template <class Visit>
void for_each_token(ThreadPool& pool, std::int64_t batch_size, std::int64_t length, Visit&& visit) {
  constexpr std::int64_t kTokensPerTask = 32;  // enough work to pay for claiming a task
  const std::int64_t tokens = batch_size * length;
  pool.parallel_for(divide_up(tokens, kTokensPerTask), [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * kTokensPerTask, tokens);
    for (std::int64_t t = task * kTokensPerTask; t < end; ++t) visit(t / length, t % length);
  });
}

}  // namespace headwise
