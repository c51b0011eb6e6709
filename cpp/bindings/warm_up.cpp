#include <emscripten/emscripten.h>

#include <cstdlib>

#include "headwise/attention.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// Attends to zeros until V8 finds the inner loops hot. V8 then optimises them while the workers start and a core is
/// idle. During a first call on all cores no core is idle. Runs before the constructors of the module.
extern "C" EMSCRIPTEN_KEEPALIVE void warm_up() {
  constexpr int kCalls = 40;
  AttentionShape shape;
  shape.query_length = 32;
  shape.key_length = 64;
  shape.head_dim = shape.value_dim = 64;
  void* zeros = std::calloc(shape.key_length * shape.head_dim, sizeof(float));
  void* output = std::malloc(shape.query_length * shape.value_dim * sizeof(float));
  if (zeros && output) {
    ThreadPool caller(1);
    const AttentionInputs inputs{.query = {zeros}, .key = {zeros}, .value = {zeros}};
    const AttentionOutputs outputs{.output = {output}};
    for (int call = 0; call < kCalls; ++call) static_cast<void>(attention(caller, shape, inputs, {}, outputs));
  }
  std::free(zeros);
  std::free(output);
}

}  // namespace headwise
