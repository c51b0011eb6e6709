#include "engine.h"

#include <emscripten/em_js.h>
#include <emscripten/emscripten.h>
#include <emscripten/threading.h>

#include <cstdlib>
#include <vector>

#include "headwise/attention.h"

// Copies the share [begin, end) of `pairs` of each array that JavaScript left to be copied within the call.
EM_JS(void, copy_meanwhile, (double begin, double end, double pairs), {
  for (const [address, bytes] of Module["meanwhile"] ?? []) {
    const pair = bytes.length / pairs;
    HEAPU8.set(bytes.subarray(begin * pair, end * pair), address + begin * pair);
  }
});

EM_JS(void, make_results, (), { Module["makeResults"] ?.(); });

namespace headwise {

namespace {

// One thread takes about 2 us for so many multiply-adds. To hand work to a thread takes as long if that thread is
// awake, and 20 to 50 us if it sleeps.
constexpr double kFewestShared = 1 << 15;

std::vector<const KernelTable*> all_tables() {
  std::vector<const KernelTable*> tables;
  for (int index = 0; const KernelTable* table = kernel_table_at(index); ++index) tables.push_back(table);
  return tables;
}

}  // namespace

Engine::Engine(int num_threads, bool dispatched)
    : pool_(num_threads, kFewestShared), race_(all_tables(), emscripten_get_now) {
  if (dispatched) dispatcher_ = new Dispatcher;
}

void Engine::leave() {
  pool_.leave();
  if (dispatcher_) dispatcher_->leave();
}

void Engine::enter() {
  pool_.enter();
  if (dispatcher_) dispatcher_->enter();
}

void Engine::attend(AttentionCall& call) {
  if (copies_meanwhile()) {
    if (copies_.expect(call.shape, call.options))
      call.inputs.arrival = &copies_;
    else
      copy_meanwhile(0, 1, 1);
  }
  start(call);
}

void Engine::finish(const Status& status) {
  code_ = static_cast<std::int32_t>(status.code);
  message_ = status.message();
  finished_.store(1, std::memory_order_release);
  emscripten_futex_wake(&finished_, 1);
}

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
