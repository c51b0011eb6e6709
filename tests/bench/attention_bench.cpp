// Attention as a native program, with the best kernel of the machine.
//
//   cmake --preset bench && cmake --build --preset bench && build/bench/tests/bench/attention_bench
//
// Use an idle machine and pin the program to one core (taskset -c 1). `flops` counts only visible pairs: a multiply and
// an add for the scores, and the same for the values.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "headwise/attention.h"
#include "headwise/thread_pool.h"

namespace headwise {
namespace {

std::vector<float> noise(std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(size));
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5f;
  }
  return values;
}

void self_attention(benchmark::State& state, std::int64_t heads, std::int64_t length, std::int64_t dim, Causal causal) {
  const auto query = noise(heads * length * dim), key = noise(heads * length * dim),
             value = noise(heads * length * dim);
  std::vector<float> output(query.size());
  ThreadPool pool(1);
  const AttentionShape shape{.batch_size = 1,
                             .num_heads = heads,
                             .num_kv_heads = heads,
                             .query_length = length,
                             .key_length = length,
                             .head_dim = dim,
                             .value_dim = dim};
  const AttentionInputs inputs{.query = {query.data()}, .key = {key.data()}, .value = {value.data()}};
  const AttentionOptions options{.causal = causal};
  for (auto _ : state) {
    const Status status = attention(pool, shape, inputs, options, {.output = {output.data()}});
    if (!status.ok()) state.SkipWithError(status.message().text);
    benchmark::DoNotOptimize(output.data());
  }
  const std::int64_t pairs = causal == Causal::none ? length * length : length * (length + 1) / 2;
  state.counters["flops"] =
      benchmark::Counter(static_cast<double>(heads * pairs * dim * 4), benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK_CAPTURE(self_attention, 12x512x64, 12, 512, 64, Causal::none)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(self_attention, 12x1024x64_causal, 12, 1024, 64, Causal::upper_left)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(self_attention, 8x1024x128, 8, 1024, 128, Causal::none)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headwise

BENCHMARK_MAIN();
