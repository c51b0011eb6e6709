// Every function of the core with every request for memory refused, once and for good: a status, nothing lost, nothing
// written, and the next call as before.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "allocations.h"
#include "gradients.h"
#include "harness.h"
#include "headwise/linear.h"
#include "headwise/position.h"
#include "kv_tokens.h"
#include "layer_model.h"

namespace headwise::test_refused_memory {

using layers::Floats;
using Bits = std::vector<std::uint8_t>;

/// A function of the core on data of its own. `run` begins from the same state each time, and leaves nothing behind.
struct Entry {
  std::string name;
  /// Computes into `bits` what a call gives. `bits` is empty if it fails.
  std::function<Status(ThreadPool& pool, Bits& bits)> run;
};

template <class T>
void put(Bits& bits, const std::vector<T>& values) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  bits.insert(bits.end(), first, first + values.size() * sizeof(T));
}

/// `status`, with the values in `bits` if it is ok.
template <class... T>
Status given(const Status& status, Bits& bits, const std::vector<T>&... values) {
  if (status.ok()) (put(bits, values), ...);
  return status;
}

#define HEADWISE_STEP(call) \
  if (const Status step = (call); !step.ok()) return step

KvCacheShape cache_shape(Dtype dtype) {
  KvCacheShape shape;
  shape.batch_size = 2, shape.num_kv_heads = 2, shape.head_dim = 8, shape.value_dim = 6, shape.dtype = dtype;
  shape.rotary = RotaryOptions();
  return shape;
}

/// Everything that a cache does, from its creation on.
Entry cache_entry(const std::string& name, Dtype dtype) {
  const KvCacheShape shape = cache_shape(dtype);
  const auto tokens = std::make_shared<Tokens>(shape, 140, 41);
  return {name, [shape, tokens](ThreadPool& pool, Bits& bits) -> Status {
            std::unique_ptr<KvCache> cache, fork, part, loaded;
            HEADWISE_STEP(KvCache::create(shape, &cache));
            HEADWISE_STEP(tokens->append(*cache, 0, 130));
            HEADWISE_STEP(cache->fork(&fork));
            HEADWISE_STEP(tokens->append(*fork, 130, 10));
            HEADWISE_STEP(fork->rewind(135));
            const std::int32_t indices[2] = {1, 1}, from[2] = {3, 120}, counts[2] = {2, 0}, rows[2] = {1, 100};
            HEADWISE_STEP(cache->select(indices));
            HEADWISE_STEP(cache->keep(pool, {from, counts, rows}));
            HEADWISE_STEP(fork->slice(20, 132, &part));
            cases::Case call = tokens->dense_call(4, 3, 42);
            call.returns = everything();
            call.shape.key_length = 112;
            cases::Results results(call.shape, call.returns, call.dtype);
            HEADWISE_STEP(part->attend(pool, call.shape, call.inputs(), call.options(), results.view()));
            std::vector<std::uint8_t> file(static_cast<std::size_t>(part->saved_size()));
            HEADWISE_STEP(part->save(file.data(), part->saved_size()));
            HEADWISE_STEP(KvCache::load(file.data(), part->saved_size(), &loaded));
            return given(Status{}, bits, results.bits(), file, saved(*loaded), saved(*cache));
          }};
}

/// A layer's life: it is made, computes, gives gradients, gets new weights and computes again.
Entry layer_entry(const std::string& name, Dtype dtype, LayerPosition position) {
  auto m = std::make_shared<layers::Model>(layers::model(8, 2, 4, 8));
  m->options.weight_dtype = dtype;
  m->options.position = position;
  const auto weights = std::make_shared<layers::Weights>(*m);
  return {name, [m, weights, trains = dtype == Dtype::float32](ThreadPool& pool, Bits& bits) -> Status {
            std::unique_ptr<Layer> layer;
            HEADWISE_STEP(Layer::create(m->shape, weights->view(*m), m->options, &layer));
            const layers::Call call = layers::self_call(*m, 2, 6);
            const LayerInputs inputs = inputs_of(call);
            Floats y(2 * 6 * 8), again(y.size()), input(y.size()), output(8 * 8);
            std::unique_ptr<SavedForward> forward;
            HEADWISE_STEP(
                layer->forward(pool, inputs, call.masks, call.attention, layers::into(y), trains ? &forward : nullptr));
            if (trains) {
              LayerGradients gradients;
              gradients.input = input.data();
              gradients.output_weights = {output.data(), 8, 1, nullptr};
              HEADWISE_STEP(layer->backward(pool, *forward, {{y.data()}}, gradients));
              LayerUpdate update;
              update.weights = weights->view(*m);
              HEADWISE_STEP(layer->update(update));
            }
            HEADWISE_STEP(layer->forward(pool, inputs, call.masks, call.attention, layers::into(again)));
            return given(Status{}, bits, y, again, input, output);
          }};
}

Entry attention_entry(const std::string& name) {
  return {name, [&call = cases::named(name)](ThreadPool& pool, Bits& bits) {
            cases::Results results(call.shape, call.returns, call.dtype);
            const Status status = attention(pool, call.shape, call.inputs(), call.options(), results.view());
            return given(status, bits, results.bits());
          }};
}

Entry backward_entry(const std::string& name) {
  const cases::Case& call = cases::named(name);
  const auto problem = std::make_shared<gradients::Problem>(gradients::problem_of(call));
  return {"the gradients of " + name, [&call, problem](ThreadPool& pool, Bits& bits) {
            const gradients::Call backward(call, *problem);
            gradients::Results results(call, backward.options, nullptr);
            const Status status =
                attention_backward(pool, call.shape, backward.backward_inputs(), backward.options, results.view());
            return given(status, bits, results.bits());
          }};
}

Entry merge_entry() {
  return {"merge_attention", [](ThreadPool& pool, Bits& bits) {
            const Floats x = layers::random_floats(2 * 5 * 4, 51), lse = layers::random_floats(2 * 5, 52);
            const std::vector<AttentionPart> parts(3, {{x.data()}, lse.data()});
            Floats output(x.size()), merged(lse.size());
            const Status status = merge_attention(pool, {1, 2, 2, 5, 5, 4, 4}, Layout::bhsd, parts.data(), 3, nullptr,
                                                  {output.data()}, merged.data());
            return given(status, bits, output, merged);
          }};
}

Entry rotary_entry() {
  return {"rotary_embedding_at", [](ThreadPool& pool, Bits& bits) {
            const Floats x = layers::random_floats(2 * 5 * 8, 53);
            const std::vector<double> positions{0, 1, 2, 70, 4};
            RotaryOptions options;
            options.scaling = RotaryScaling::yarn, options.factor = 4, options.original_length = 64;
            Floats y(x.size());
            const Status status =
                rotary_embedding_at(pool, Layout::bhsd, 1, 2, 5, 8, options, {x.data()}, positions.data(), {y.data()});
            return given(status, bits, y);
          }};
}

/// @param rows - few rows read the weight where it lies, many rows pack it
Entry linear_entry(const std::string& name, std::int64_t rows) {
  return {
      name, [rows](ThreadPool& pool, Bits& bits) -> Status {
        const LinearShape shape{rows, 24, 40};
        const Floats x = layers::random_floats(rows * 24, 54), w = layers::random_floats(24 * 40, 55);
        const LinearWeights weights{{w.data()}, 40, 1, {nullptr}};
        Floats y(static_cast<std::size_t>(rows) * 40), dx(x.size()), dw(w.size());
        HEADWISE_STEP(linear(pool, shape, {x.data()}, weights, {y.data()}));
        HEADWISE_STEP(linear_backward(pool, shape, {x.data()}, weights, {y.data()}, {dx.data(), dw.data(), nullptr}));
        return given(Status{}, bits, y, dx, dw);
      }};
}

std::vector<Entry> entries() {
  std::vector<Entry> all;
  for (const char* name : {"size-square-65", "decode-5000-keys-8-over-2", "ragged-BSHD-causal", "returns-everything",
                           "returns-top-average", "together-5-uniform", "mask-and-bias"})
    all.push_back(attention_entry(name));
  for (const char* name : {"size-square-65", "mask-and-bias"}) all.push_back(backward_entry(name));
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int8})
    all.push_back(cache_entry("a cache of dtype " + std::to_string(static_cast<int>(dtype)), dtype));
  all.push_back(layer_entry("a layer that is trained", Dtype::float32, LayerPosition::rotary));
  all.push_back(layer_entry("a layer of float16 weights", Dtype::float16, LayerPosition::none));
  all.push_back(layer_entry("a layer of int8 weights", Dtype::int8, LayerPosition::sinusoidal));
  all.push_back(merge_entry());
  all.push_back(rotary_entry());
  all.push_back(linear_entry("linear of few rows", 3));
  all.push_back(linear_entry("linear of many rows", 40));
  return all;
}

/// Runs an entry on a pool of its own, which has no memory yet and gives all of it back.
Status run(const Entry& entry, Bits& bits) {
  ThreadPool pool(2);
  return entry.run(pool, bits);
}

TEST(RefusedMemory, IsAStatusAtEveryRequestOnceAndForGoodAndLosesNothing) {
  int refusals = 0;
  for (const Entry& entry : entries()) {
    SCOPED_TRACE(entry.name);
    Bits good;
    int needed;
    {
      const Allocations counting;
      const Status status = run(entry, good);
      ASSERT_TRUE(status.ok()) << status.message().text;
      needed = counting.count();
      ASSERT_EQ(counting.live(), 0);
    }
    for (const Refused how : {Refused::once, Refused::for_good})
      for (int n = 0; n < needed; ++n) {
        const std::string where = "request " + std::to_string(n) + (how == Refused::once ? "" : " and all after it");
        Bits bits;
        {
          const Allocations failing(n, how);
          const Status status = run(entry, bits);
          ASSERT_EQ(status.code, StatusCode::out_of_memory) << where << ": " << status.message().text;
          ASSERT_EQ(failing.live(), 0) << where;
        }
        ++refusals;
        const Status status = run(entry, bits);
        ASSERT_TRUE(status.ok()) << where << ": " << status.message().text;
        ASSERT_EQ(bits, good) << "the call after " << where;
      }
  }
  RecordProperty("refusals", refusals);
}

}  // namespace headwise::test_refused_memory
