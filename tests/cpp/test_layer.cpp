// Layers: Y is what the formula gives, whatever stands around it.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "base/numbers.h"
#include "harness.h"
#include "headwise/kv_cache.h"
#include "headwise/layer.h"
#include "layer_expectations.h"
#include "layer_model.h"
#include "layer_reference.h"
#include "tolerance.h"

namespace headwise::layers::test_layer {

using tolerance::kEpsilon;

/// [B, S, W] to [B, W, S]
Floats columns_of(const Floats& rows, std::int64_t batch_size, std::int64_t length) {
  Floats columns(rows.size());
  const auto width = static_cast<std::int64_t>(rows.size()) / (batch_size * length);
  for (std::int64_t b = 0; b < batch_size; ++b)
    for (std::int64_t s = 0; s < length; ++s)
      for (std::int64_t f = 0; f < width; ++f)
        columns[(b * width + f) * length + s] = rows[(b * length + s) * width + f];
  return columns;
}

TEST(Layer, EqualsTheFormulaAroundTileEdges) {
  for (std::int64_t length : {1, 3, 64, 65})
    for (std::int64_t input_dim : {1, 7, 64}) expect_self_attention(model(input_dim, 2, 8, 12), 2, length, false);
}

TEST(Layer, EqualsTheFormulaBeyondOneSliceOfDepthAndOneTileOfColumns) {
  expect_self_attention(model(515, 3, 50, 131), 1, 5, true);
}

TEST(Layer, SharesKeyValueHeadsAmongQueryHeads) {
  Model m = model(24, 6, 8, 24);
  m.shape.num_kv_heads = 2;
  expect_self_attention(m, 2, 9, true);
}

TEST(Layer, GivesValuesAWidthOfTheirOwn) {
  Model m = model(24, 3, 8, 10);
  m.shape.value_head_dim = 5;
  expect_self_attention(m, 1, 9, false);
}

TEST(Layer, NeedsNoBias) {
  Model m = model(24, 3, 8, 10);
  m.biases = false;
  expect_self_attention(m, 1, 9, false);
}

TEST(Layer, GivesTheHeadsThemselvesWithoutOutputProjection) {
  Model m = model(24, 3, 8, 24);
  m.shape.output_projection = false;
  expect_self_attention(m, 2, 9, false);
}

TEST(Layer, AttendsToContextsOfOtherWidths) {
  Model m = model(12, 2, 8, 6);
  m.shape.key_input_dim = 20;
  m.shape.value_input_dim = 9;
  const Weights weights(m);
  const auto layer = build(m, weights);
  Call call = self_call(m, 2, 4);
  call.key_length = 7;
  call.key_context = random_floats(2 * 7 * 20, 50);
  call.value_context = random_floats(2 * 7 * 9, 51);
  const Floats y = output_of(*layer, call);
  for (std::int64_t b = 0; b < 2; ++b) {
    ReferenceSequence sequence;
    sequence.queries = tokens_of(m, call, b, 0, 4, 0);
    for (std::int64_t j = 0; j < 7; ++j) {
      sequence.keys.push_back({0, exact_row(call.key_context.data() + (b * 7 + j) * 20, 20)});
      sequence.values.push_back({0, exact_row(call.value_context.data() + (b * 7 + j) * 9, 9)});
    }
    expect_rows(y, b * 4, reference(m, weights, sequence));
  }
}

/// A rotary layer, and a call with a context whose tokens stand at positions of their own.
struct PlacedContext {
  Model m = model(12, 2, 8, 6);
  Call call;
  std::vector<std::int32_t> queries{9, 2, 4, 0, 1, 7}, keys{3, 8, 0, 5, 5, 1, 6, 2, 9, 4};

  PlacedContext() {
    m.options.position = LayerPosition::rotary;
    call = self_call(m, 2, 3);
    call.key_length = 5;
    call.key_context = random_floats(2 * 5 * 12, 50);
    call.positions.data = queries.data();
    call.key_positions = keys.data();
  }
};

TEST(LayerKeyPositions, SayWhereTheTokensOfAContextStand) {
  const PlacedContext placed_context;
  const auto& [m, call, queries, keys] = placed_context;
  const Weights weights(m);
  const auto layer = build(m, weights);
  const Floats y = output_of(*layer, call);
  for (std::int64_t b = 0; b < 2; ++b) {
    ReferenceSequence sequence;
    for (std::int64_t i = 0; i < 3; ++i)
      sequence.queries.push_back({static_cast<double>(queries[b * 3 + i]), tokens_of(m, call, b, i, i + 1, 0)[0].row});
    for (std::int64_t j = 0; j < 5; ++j)
      sequence.keys.push_back(
          {static_cast<double>(keys[b * 5 + j]), exact_row(call.key_context.data() + (b * 5 + j) * 12, 12)});
    sequence.values = sequence.keys;
    expect_rows(y, b * 3, reference(m, weights, sequence));
  }
}

TEST(LayerKeyPositions, TurnTheKeysOfARotaryCacheToo) {
  PlacedContext given;
  const auto direct = build(given.m);
  const Floats expected = output_of(*direct, given.call);
  Model plain = given.m;
  plain.options.position = LayerPosition::none;
  const auto layer = build(plain);
  KvCacheShape shape;
  shape.batch_size = 2, shape.num_kv_heads = 2, shape.head_dim = shape.value_dim = 8;
  shape.rotary = RotaryOptions();
  std::unique_ptr<KvCache> cache;
  ASSERT_TRUE(KvCache::create(shape, &cache).ok());
  given.call.cache = cache.get();
  const Floats filled = output_of(*layer, given.call);
  for (std::size_t n = 0; n < expected.size(); ++n) EXPECT_NEAR(filled[n], expected[n], 64 * kEpsilon);
}

TEST(LayerKeyPositions, AreRefusedWithoutWhatTheyNeed) {
  const auto refused = [](const std::function<void(PlacedContext&)>& change) {
    PlacedContext given;
    change(given);
    return forward_error(*build(given.m), given.call);
  };
  EXPECT_EQ(refused([](PlacedContext& given) { given.call.positions.data = nullptr; }), StatusCode::invalid_option);
  EXPECT_EQ(refused([](PlacedContext& given) { given.call.key_context.clear(); }), StatusCode::invalid_option);
  EXPECT_EQ(refused([](PlacedContext& given) { given.call.key_positions = nullptr; }), StatusCode::invalid_option);
  EXPECT_EQ(refused([](PlacedContext& given) { given.m.options.position = LayerPosition::sinusoidal; }),
            StatusCode::invalid_option);
  EXPECT_EQ(refused([](PlacedContext& given) {
              given.m.options.rotary.temporal_section = 1, given.m.options.rotary.height_section = 2;
              given.m.options.rotary.width_section = 1;
              given.call.positions.planes = 2;
            }),
            StatusCode::invalid_shape);
}

TEST(Layer, TakesTheKeyContextForValuesToo) {
  Model m = model(12, 2, 8, 6);
  const auto layer = build(m);
  Call call = self_call(m, 1, 4);
  call.key_length = 7;
  call.key_context = random_floats(7 * 12, 50);
  Call both = call;
  both.value_context = call.key_context;
  EXPECT_EQ(output_of(*layer, call), output_of(*layer, both));
}

TEST(Layer, NormalisesQueriesAndKeysPerHead) {
  const Floats query_gain = random_floats(8, 60), key_gain = random_floats(8, 61);
  for (QkNorm kind : {QkNorm::rms, QkNorm::l2}) {
    Model m = model(24, 4, 8, 24);
    m.shape.num_kv_heads = 2;
    m.options.qk_norm = kind;
    expect_self_attention(m, 1, 5, false);
    m.options.query_gain = query_gain.data();
    m.options.key_gain = key_gain.data();
    expect_self_attention(m, 1, 5, false);
  }
}

TEST(Layer, TurnsQueriesAndKeysAfterTheirNorm) {
  Model m = model(24, 4, 8, 24);
  m.shape.num_kv_heads = 2;
  m.options.position = LayerPosition::rotary;
  expect_self_attention(m, 2, 37, true);
  m.options.rotary.interleaved = true;
  m.options.rotary.rotary_dim = 4;
  m.options.qk_norm = QkNorm::rms;
  expect_self_attention(m, 1, 37, true);
}

TEST(Layer, DynamicNtkFollowsTheLengthOfTheCall) {
  Model m = model(24, 2, 8, 24);
  m.options.position = LayerPosition::rotary;
  m.options.rotary.scaling = RotaryScaling::dynamic_ntk;
  m.options.rotary.factor = 2.0;
  m.options.rotary.original_length = 8.0;
  expect_self_attention(m, 1, 6, false);
  expect_self_attention(m, 1, 20, false);
}

TEST(Layer, AddsTheRowsOfATable) {
  const Floats table = random_floats(40 * 24, 70);
  Model m = model(24, 2, 8, 24);
  m.options.position = LayerPosition::table;
  m.options.position_table = table.data();
  m.options.position_rows = 40;
  expect_self_attention(m, 2, 40, false);
}

TEST(Layer, AddsSinesAndCosinesAtAnyPosition) {
  for (SinusoidalSplit split : {SinusoidalSplit::interleaved, SinusoidalSplit::halves}) {
    Floats table(40 * 24);
    ASSERT_TRUE(sinusoidal_positions(40, 24, split, 10000.0, table.data()).ok());
    Model learned = model(24, 2, 8, 24), sinusoidal = learned;
    learned.options.position = LayerPosition::table;
    learned.options.position_table = table.data();
    learned.options.position_rows = 40;
    sinusoidal.options.position = LayerPosition::sinusoidal;
    sinusoidal.options.sinusoidal_split = split;
    Call call = self_call(learned, 2, 30);
    const std::int32_t offsets[] = {10, 0};
    call.attention.query_offset = offsets;
    EXPECT_EQ(output_of(*build(sinusoidal), call), output_of(*build(learned), call));
    const std::int32_t beyond[] = {100000, -3};
    call.attention.query_offset = beyond;
    for (float y : output_of(*build(sinusoidal), call)) EXPECT_TRUE(std::isfinite(y));
  }
}

/// A float16 call is the float32 call on the widened inputs, its result rounded.
void expect_float16(const Model& m, Layout layout) {
  const auto layer = build(m);
  Call call = self_call(m, 2, 9);
  call.layout = layout;
  std::vector<std::uint16_t> x(call.x.size());
  floats_to_halves(call.x.data(), static_cast<std::int64_t>(x.size()), x.data());
  halves_to_floats(x.data(), static_cast<std::int64_t>(x.size()), call.x.data());
  const Floats expected = output_of(*layer, call);
  std::vector<std::uint16_t> y(expected.size()), rounded(expected.size());
  floats_to_halves(expected.data(), static_cast<std::int64_t>(y.size()), rounded.data());
  LayerInputs inputs;
  inputs.layout = layout;
  inputs.batch_size = 2;
  inputs.query_length = 9;
  inputs.x = {x.data(), Dtype::float16};
  AttentionOutputs outputs;
  outputs.output = {y.data(), Dtype::float16};
  const Status status = layer->forward(pool_of(1), inputs, {}, {}, outputs);
  ASSERT_TRUE(status.ok()) << status.message().text;
  EXPECT_EQ(y, rounded);
}

TEST(Layer, TakesAndGivesFloat16) {
  for (Layout layout : {Layout::bse, Layout::bes}) {
    Model m = model(24, 3, 8, 24);
    expect_float16(m, layout);
    m.options.position = LayerPosition::sinusoidal;
    expect_float16(m, layout);
    m.shape.output_projection = false;
    expect_float16(m, layout);
  }
}

TEST(Layer, TakesFloat16WeightsAndBiases) {
  const Model m = model(24, 3, 8, 24);
  Weights weights(m);
  const auto narrowed = [](Floats& values) {
    std::vector<std::uint16_t> half(values.size());
    floats_to_halves(values.data(), static_cast<std::int64_t>(half.size()), half.data());
    halves_to_floats(half.data(), static_cast<std::int64_t>(half.size()), values.data());
    return half;
  };
  const auto key = narrowed(weights.wk), bias = narrowed(weights.bk);
  LayerWeights view = weights.view(m);
  view.key.weight = {key.data(), Dtype::float16};
  view.key.bias = {bias.data(), Dtype::float16};
  EXPECT_EQ(output_of(*build(m, view), self_call(m, 1, 4)), output_of(*build(m, weights), self_call(m, 1, 4)));
}

TEST(Layer, IsTheSameOnColumns) {
  for (bool output_projection : {true, false}) {
    const Floats table = random_floats(9 * 24, 70);
    Model m = model(24, 3, 8, 24);
    m.shape.num_kv_heads = 1;
    m.shape.output_projection = output_projection;
    m.options.qk_norm = QkNorm::rms;
    m.options.position = LayerPosition::rotary;
    const auto layer = build(m);
    const Call rows = self_call(m, 2, 9);
    Call columns = rows;
    columns.layout = Layout::bes;
    columns.x = columns_of(rows.x, 2, 9);
    const Floats expected = columns_of(output_of(*layer, rows), 2, 9), got = output_of(*layer, columns);
    // keys and values that lie in columns take another way through the kernel, which may sum in another order
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 64 * kEpsilon) << i;
  }
}

TEST(Layer, HandsMaskBiasAndStatisticsThrough) {
  Model m = model(16, 2, 8, 16);
  const auto layer = build(m);
  Call call = self_call(m, 1, 4);
  const std::uint8_t mask[] = {1, 0, 1, 1};  // over the keys
  call.masks.mask = mask;
  call.masks.mask_extents = {{1, 1, 1, 4}};
  Floats probs(2 * 4 * 4), lse(2 * 4);
  AttentionOutputs outputs;
  outputs.probs = probs.data();
  outputs.lse = lse.data();
  ASSERT_TRUE(forward(*layer, call, outputs).ok());  // and Y is not asked for
  for (int row = 0; row < 8; ++row) {
    EXPECT_EQ(probs[row * 4 + 1], 0.0f);
    EXPECT_NEAR(probs[row * 4] + probs[row * 4 + 2] + probs[row * 4 + 3], 1.0f, 1e-6);
    EXPECT_TRUE(std::isfinite(lse[row]));
  }
}

TEST(Layer, PlanesOfPositionsThatAreNotGivenDoNotCount) {
  Model m = model(16, 2, 8, 16);
  m.options.position = LayerPosition::rotary;
  const auto layer = build(m);
  const Call call = self_call(m, 2, 5);
  const Floats expected = output_of(*layer, call);
  for (const std::int64_t planes : {-7, 0, 3}) {
    Call other = call;
    other.positions.planes = planes;
    EXPECT_EQ(output_of(*layer, other), expected) << planes;
  }
}

TEST(Layer, EmptyBatchesAndSequencesAreLegal) {
  const auto layer = build(model(16, 2, 8, 16));
  EXPECT_TRUE(output_of(*layer, self_call(model(16, 2, 8, 16), 0, 4)).empty());
  EXPECT_TRUE(output_of(*layer, self_call(model(16, 2, 8, 16), 2, 0)).empty());
}

TEST(LayerRagged, EverySequenceStandsForItself) {
  Model m = model(24, 2, 8, 12);
  m.options.position = LayerPosition::rotary;
  const Weights weights(m);
  const auto layer = build(m, weights);
  Call call = self_call(m, 1, 11);
  const std::int32_t starts[] = {0, 4, 4, 11};
  call.attention.cu_seq_lens_query = call.attention.cu_seq_lens_key = starts;
  call.attention.num_sequences = 3;
  call.attention.causal = Causal::lower_right;
  const Floats y = output_of(*layer, call);
  for (int n : {0, 2}) {
    ReferenceSequence sequence;
    sequence.queries = sequence.keys = sequence.values = tokens_of(m, call, 0, starts[n], starts[n + 1], 0);
    sequence.hidden = [](std::int64_t i, std::int64_t j) { return j > i; };
    expect_rows(y, starts[n], reference(m, weights, sequence));
  }
}

}  // namespace headwise::layers::test_layer
