// Layers: what is refused, memory too.

#include <gtest/gtest.h>

#include <memory>

#include "headwise/kv_cache.h"
#include "headwise/layer.h"
#include "layer_expectations.h"
#include "layer_model.h"
#include "refusals.h"
#include "tolerance.h"

namespace headwise::layers::test_layer_refusals {

using tolerance::kEpsilon;

TEST(LayerErrors, CreationRefusesWhatBreaksARule) {
  const Model good = model(16, 2, 8, 16);
  const Weights weights(good);
  const LayerWeights view = weights.view(good);
  const auto with_shape = [&](auto change) {
    Model m = good;
    change(m.shape);
    return creation_error(m, view);
  };
  EXPECT_EQ(creation_error(good, view), StatusCode::ok);
  EXPECT_EQ(with_shape([](LayerShape& s) { s.input_dim = 0; }), StatusCode::invalid_shape);
  EXPECT_EQ(with_shape([](LayerShape& s) { s.head_dim = -1; }), StatusCode::invalid_shape);
  EXPECT_EQ(with_shape([](LayerShape& s) { s.num_kv_heads = 3; }), StatusCode::invalid_shape);
  EXPECT_EQ(with_shape([](LayerShape& s) { s.head_dim = std::int64_t{1} << 40; }), StatusCode::invalid_shape);
  EXPECT_EQ(with_shape([](LayerShape& s) { s.output_projection = false; }), StatusCode::invalid_option);
  EXPECT_EQ(with_shape([](LayerShape& s) { s.output_projection = false, s.output_dim = 5; }),
            StatusCode::invalid_shape);

  LayerWeights missing = view;
  missing.key.weight.data = nullptr;
  EXPECT_EQ(creation_error(good, missing), StatusCode::invalid_shape);
  missing = view;
  missing.output.weight.data = nullptr;
  EXPECT_EQ(creation_error(good, missing), StatusCode::invalid_shape);

  const auto with_options = [&](auto change) {
    Model m = good;
    change(m.options);
    return creation_error(m, view);
  };
  EXPECT_EQ(with_options([](LayerOptions& o) { o.qk_norm_epsilon = NAN; }), StatusCode::invalid_option);
  EXPECT_EQ(with_options([&](LayerOptions& o) { o.key_gain = weights.bk.data(); }), StatusCode::invalid_option);
  EXPECT_EQ(with_options([](LayerOptions& o) { o.position = LayerPosition::table; }), StatusCode::invalid_shape);
  EXPECT_EQ(with_options([](LayerOptions& o) { o.position = LayerPosition::rotary, o.rotary.rotary_dim = 3; }),
            StatusCode::invalid_option);
}

TEST(LayerErrors, ForwardRefusesWhatBreaksARule) {
  const Floats table = random_floats(4 * 16, 70);
  Model m = model(16, 2, 8, 16);
  m.options.position = LayerPosition::table;
  m.options.position_table = table.data();
  m.options.position_rows = 4;
  const auto layer = build(m);
  const auto with = [&](auto change) {
    Call call = self_call(m, 1, 4);
    change(call);
    return forward_error(*layer, call);
  };
  const std::int32_t beyond[] = {1}, before[] = {-1};
  EXPECT_EQ(with([](Call& c) { c.layout = Layout::bhsd; }), StatusCode::invalid_option);
  EXPECT_EQ(with([&](Call& c) { c.attention.query_offset = beyond; }), StatusCode::invalid_option);
  EXPECT_EQ(with([&](Call& c) { c.attention.query_offset = before; }), StatusCode::invalid_option);
  EXPECT_EQ(with([](Call& c) { c.attend_only = true; }), StatusCode::invalid_option);
  EXPECT_EQ(with([&](Call& c) { c.append_lengths = beyond; }), StatusCode::invalid_option);
  EXPECT_EQ(with([](Call& c) { c.attention.softcap = -1.0f; }), StatusCode::invalid_option);
  for (const Dtype dtype : {Dtype::int8, Dtype::bfloat16}) {
    const Call call = self_call(m, 1, 4);
    Floats y(4 * 16);
    LayerInputs inputs = inputs_of(call);
    inputs.x.dtype = dtype;
    EXPECT_EQ(layer->forward(pool_of(1), inputs, {}, call.attention, into(y)).code, StatusCode::unsupported);
    AttentionOutputs outputs = into(y);
    outputs.output.dtype = dtype;
    EXPECT_EQ(layer->forward(pool_of(1), inputs_of(call), {}, call.attention, outputs).code, StatusCode::unsupported);
  }
}

TEST(LayerErrors, WidthsOfSelfAttentionMustAgree) {
  Model m = model(16, 2, 8, 16);
  m.shape.key_input_dim = 12;
  EXPECT_EQ(forward_error(*build(m), self_call(m, 1, 4)), StatusCode::invalid_shape);
  m.shape.key_input_dim = 16;
  m.shape.value_input_dim = 12;
  EXPECT_EQ(forward_error(*build(m), self_call(m, 1, 4)), StatusCode::invalid_shape);
}

// Keys come from x: values that are more would be weighed by rows beyond its end.
TEST(LayerErrors, ValuesMustBeAsLongAsTheirKeys) {
  const Model m = model(16, 2, 8, 16);
  const auto layer = build(m);
  Call call = self_call(m, 1, 4);
  for (const std::int64_t length : {3, 5}) {
    call.key_length = length;
    call.value_context = random_floats(length * 16, 71);
    EXPECT_EQ(forward_error(*layer, call), StatusCode::invalid_shape);
  }
}

TEST(LayerErrors, CachesMustFit) {
  Model m = model(16, 2, 8, 16), other = model(16, 1, 8, 16);
  m.options.position = LayerPosition::rotary;
  const auto layer = build(m);
  const auto wrong_heads = cache_for(other, 1), wrong_batch = cache_for(m, 2), right = cache_for(m, 1);
  Call call = self_call(m, 1, 4);
  call.cache = wrong_heads.get();
  EXPECT_EQ(forward_error(*layer, call), StatusCode::invalid_shape);
  call.cache = wrong_batch.get();
  EXPECT_EQ(forward_error(*layer, call), StatusCode::invalid_shape);
  call.cache = right.get();
  const std::int32_t too_many[] = {5};
  call.append_lengths = too_many;
  EXPECT_EQ(forward_error(*layer, call), StatusCode::invalid_option);

  KvCacheShape turning = right->shape();
  turning.rotary = RotaryOptions{};
  std::unique_ptr<KvCache> rotary_cache;
  ASSERT_TRUE(KvCache::create(turning, &rotary_cache).ok());
  call.append_lengths = nullptr;
  call.cache = rotary_cache.get();
  EXPECT_EQ(forward_error(*layer, call), StatusCode::invalid_option);
}

TEST(LayerMemory, FailingAllocationsForNewPositionsAreAStatusAndChangeNoLaterResult) {
  for (const Model& m : models_that_keep_rows()) {
    const Floats expected = outputs_at(*build(m), m, {60}, 1)[0];
    const auto layer = build(m);
    const std::int32_t offset = 60;  // in two pieces of the rows that are kept
    Call call = self_call(m, 1, 9);
    call.attention.query_offset = &offset;
    Floats y(expected.size(), 5.0f);
    const Floats untouched = y;
    const auto attempt = [&] { return forward(*layer, call, into(y)); };
    EXPECT_GT(refuse_each_request(
                  attempt, [&] { EXPECT_EQ(y, untouched); }, Refused::for_good),
              5);
    EXPECT_EQ(y, expected);
  }
}

TEST(LayerMemory, FailingAllocationsForRoundedWeightsAreAStatus) {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::int8}) {
    Model m = model(16, 2, 8, 16);
    m.options.weight_dtype = dtype;
    const Weights weights(m);
    std::unique_ptr<Layer> layer;
    const auto attempt = [&] { return Layer::create(m.shape, weights.view(m), m.options, &layer); };
    EXPECT_GT(refuse_each_request(
                  attempt, [&] { EXPECT_EQ(layer, nullptr); }, Refused::for_good),
              8);
  }
}

TEST(LayerMemory, FailingAllocationsAreAStatusAndLeaveTheCacheAlone) {
  const Floats gain = random_floats(8, 60);
  Model m = model(16, 2, 8, 16);
  m.options.position = LayerPosition::rotary;
  m.options.qk_norm = QkNorm::rms;
  m.options.query_gain = m.options.key_gain = gain.data();
  const Weights weights(m);
  std::unique_ptr<Layer> layer;
  const auto create = [&] { return Layer::create(m.shape, weights.view(m), m.options, &layer); };
  EXPECT_GT(refuse_each_request(
                create, [&] { EXPECT_EQ(layer, nullptr); }, Refused::for_good),
            8);

  const auto cache = cache_for(m, 1);
  Call call = self_call(m, 1, 6);
  call.cache = cache.get();
  Floats y(6 * 16);
  const auto attempt = [&] { return forward(*layer, call, into(y)); };
  EXPECT_GT(refuse_each_request(
                attempt, [&] { EXPECT_EQ(cache->length(0), 0); }, Refused::for_good),
            8);
  EXPECT_EQ(cache->length(0), 6);
  call.cache = nullptr;
  const Floats uncached = output_of(*layer, call);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], uncached[i], 32 * kEpsilon);
}

}  // namespace headwise::layers::test_layer_refusals
