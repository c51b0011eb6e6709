// Attention as most people would write it: for every row the dot products, their softmax, and the weighted sum. The
// code is scalar, and threads share the rows. Keys that causality or a window hides are not computed.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "headwise/thread_pool.h"

namespace {
std::unique_ptr<headwise::ThreadPool> pool;
}

extern "C" {

void start(int threads) { pool = std::make_unique<headwise::ThreadPool>(threads); }

float* allocate(int floats) {
  return static_cast<float*>(std::malloc(static_cast<std::size_t>(floats) * sizeof(float)));
}
void release(float* floats) { std::free(floats); }

/// query, output [heads, queries, dim]; key, value [kv_heads, keys, dim]. If `causal`, query i is at position
/// keys − queries + i. It sees at most `left` keys before its own.
void attend(const float* query, const float* key, const float* value, float* output, int heads, int kv_heads,
            int queries, int keys, int dim, int causal, int left) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  std::vector<std::vector<float>> weights(static_cast<std::size_t>(pool->size()),
                                          std::vector<float>(static_cast<std::size_t>(keys)));
  pool->parallel_for(static_cast<std::int64_t>(heads) * queries, [&](std::int64_t row, int worker) {
    const int head = static_cast<int>(row / queries);
    const int position = static_cast<int>(row % queries) + keys - queries;
    const int first = causal ? std::max(0, position - left) : 0;
    const int last = causal ? position : keys - 1;
    const std::size_t start =
        static_cast<std::size_t>(head / (heads / kv_heads)) * static_cast<std::size_t>(keys) * dim;
    const float* q = query + row * dim;
    const float* k = key + start;
    const float* v = value + start;
    float* o = output + row * dim;
    std::vector<float>& weight = weights[static_cast<std::size_t>(worker)];

    float largest = -INFINITY;
    for (int j = first; j <= last; ++j) {
      float dot = 0;
      for (int d = 0; d < dim; ++d) dot += q[d] * k[static_cast<std::size_t>(j) * dim + d];
      weight[j] = dot * scale;
      largest = std::max(largest, weight[j]);
    }
    float sum = 0;
    for (int j = first; j <= last; ++j) {
      weight[j] = std::exp(weight[j] - largest);
      sum += weight[j];
    }
    for (int d = 0; d < dim; ++d) o[d] = 0;
    for (int j = first; j <= last; ++j)
      for (int d = 0; d < dim; ++d) o[d] += weight[j] / sum * v[static_cast<std::size_t>(j) * dim + d];
  });
}

}  // extern "C"
