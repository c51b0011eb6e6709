// A shared library that carries the static one inside, as plugins and language bindings do.

#include <headwise/attention.h>
#include <headwise/thread_pool.h>

extern "C" __attribute__((visibility("default"))) bool attend(const float* token, float* output) {
  headwise::ThreadPool pool(1);
  const headwise::AttentionShape shape{.query_length = 1, .key_length = 1};
  return headwise::attention(pool, shape, {.query = {token}, .key = {token}, .value = {token}}, {},
                             {.output = {output}})
      .ok();
}
