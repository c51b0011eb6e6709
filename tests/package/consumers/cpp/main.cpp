// What a C++ user writes: three tokens of two features attend to themselves and to what came before.

#include <headwise/attention.h>
#include <headwise/thread_pool.h>

#include <cstdio>

int main() {
  const float tokens[] = {1, 0, 0, 1, 1, 1};
  float output[6];
  headwise::ThreadPool pool(2);
  const headwise::AttentionShape shape{.query_length = 3, .key_length = 3, .head_dim = 2, .value_dim = 2};
  const auto status = headwise::attention(pool, shape, {.query = {tokens}, .key = {tokens}, .value = {tokens}},
                                          {.causal = headwise::Causal::lower_right}, {.output = {output}});
  if (!status.ok()) return std::puts(status.message().text), 1;
  std::printf("[%.6f,%.6f,%.6f,%.6f]\n", output[0], output[1], output[2], output[3]);
}
