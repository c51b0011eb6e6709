#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/numbers.h"
#include "harness.h"
#include "headwise/kv_cache.h"
#include "headwise/layer.h"
#include "layer_model.h"
#include "layer_reference.h"
#include "refusals.h"
#include "tolerance.h"

namespace headwise::layers::test_layer {

using tolerance::kEpsilon;

void expect_row(const float* got, std::int64_t stride, const Row& expected, const std::string& where) {
  for (std::size_t d = 0; d < expected.size(); ++d)
    ASSERT_NEAR(got[static_cast<std::int64_t>(d) * stride], expected[d].value, expected[d].error)
        << where << ", feature " << d;
}

void expect_rows(const Floats& y, std::int64_t first_row, const std::vector<Row>& expected) {
  const auto width = static_cast<std::int64_t>(expected.empty() ? 0 : expected[0].size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect_row(y.data() + (first_row + static_cast<std::int64_t>(i)) * width, 1, expected[i],
               "row " + std::to_string(i));
}

void expect_self_attention(const Model& m, std::int64_t batch_size, std::int64_t length, bool causal) {
  const Weights weights(m);
  const auto layer = build(m, weights);
  Call call = self_call(m, batch_size, length);
  if (causal) call.attention.causal = Causal::lower_right;
  const Floats y = output_of(*layer, call);
  for (std::int64_t b = 0; b < batch_size; ++b)
    expect_rows(y, b * length, reference(m, weights, self_sequence(m, call, b, causal)));
}

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

// ---- the formula

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

TEST(Layer, EmptyBatchesAndSequencesAreLegal) {
  const auto layer = build(model(16, 2, 8, 16));
  EXPECT_TRUE(output_of(*layer, self_call(model(16, 2, 8, 16), 0, 4)).empty());
  EXPECT_TRUE(output_of(*layer, self_call(model(16, 2, 8, 16), 2, 0)).empty());
}

// ---- bits

TEST(LayerBits, DoNotDependOnThreads) {
  Model m = model(300, 4, 40, 150);
  m.options.position = LayerPosition::rotary;
  m.options.qk_norm = QkNorm::l2;
  const auto layer = build(m);
  const Call call = self_call(m, 2, 70);
  const Floats one = output_of(*layer, call, 1);
  for (int threads : {2, 3, 4}) EXPECT_EQ(output_of(*layer, call, threads), one) << threads;
}

TEST(LayerBits, OfARowDoNotDependOnItsBatch) {
  const Model m = model(70, 2, 24, 33);
  const auto layer = build(m);
  const Call all = self_call(m, 5, 13);
  const Floats y = output_of(*layer, all);
  for (std::int64_t b = 0; b < 5; ++b) {
    Call one = self_call(m, 1, 13);
    std::copy_n(all.x.begin() + b * 13 * 70, 13 * 70, one.x.begin());
    const Floats alone = output_of(*layer, one);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), y.begin() + b * 13 * 33));
  }
}

TEST(LayerBits, DoNotDependOnHowWeightsAreStored) {
  const Model m = model(20, 2, 8, 12);
  const Weights weights(m);
  const Call call = self_call(m, 1, 6);
  const Floats expected = output_of(*build(m, weights), call);

  Floats transposed(weights.wq.size()), packed(20 * 48);
  for (int i = 0; i < 20; ++i)
    for (int o = 0; o < 16; ++o) {
      transposed[o * 20 + i] = weights.wq[i * 16 + o];
      packed[i * 48 + o] = weights.wq[i * 16 + o];
      packed[i * 48 + 16 + o] = weights.wk[i * 16 + o];
      packed[i * 48 + 32 + o] = weights.wv[i * 16 + o];
    }
  LayerWeights view = weights.view(m);
  view.query = {{transposed.data()}, 1, 20, {weights.bq.data()}};
  EXPECT_EQ(output_of(*build(m, view), call), expected);
  view.query = {{packed.data()}, 48, 1, {weights.bq.data()}};
  view.key = {{packed.data() + 16}, 48, 1, {weights.bk.data()}};
  view.value = {{packed.data() + 32}, 48, 1, {weights.bv.data()}};
  EXPECT_EQ(output_of(*build(m, view), call), expected);
}

TEST(LayerBits, AreThoseOfEveryHeadAloneOnItsBin) {
  Model m = model(24, 3, 8, 24);
  m.shape.output_projection = false;
  const Weights weights(m);
  const Call call = self_call(m, 1, 7);
  const Floats all = output_of(*build(m, weights), call);
  for (int h = 0; h < 3; ++h) {
    Model one = model(24, 1, 8, 8);
    one.shape.output_projection = false;
    const auto bin = [h](const Floats& w, const Floats& b) {
      return LinearWeights{{w.data() + 8 * h}, 24, 1, {b.data() + 8 * h}};
    };
    const Floats head = output_of(
        *build(one, {bin(weights.wq, weights.bq), bin(weights.wk, weights.bk), bin(weights.wv, weights.bv), {}}), call);
    for (int i = 0; i < 7; ++i)
      EXPECT_TRUE(std::equal(head.begin() + i * 8, head.begin() + (i + 1) * 8, all.begin() + i * 24 + h * 8));
  }
}

TEST(LayerBits, HoldOnEveryKernelOfThisMachine) {
  for (const KernelTable* table : kernel_tables()) {
    const UsingKernels using_kernels(*table);
    SCOPED_TRACE(table->name);
    expect_self_attention(model(65, 2, 20, 45), 1, 19, true);
  }
}

/// Y of the same tokens at each of `offsets`, one call after another.
std::vector<Floats> outputs_at(const Layer& layer, const Model& m, std::vector<std::int32_t> offsets, int threads) {
  std::vector<Floats> outputs;
  for (const std::int32_t offset : offsets) {
    Call call = self_call(m, 1, 9);
    call.attention.query_offset = &offset;
    outputs.push_back(output_of(layer, call, threads));
  }
  return outputs;
}

/// A layer whose rows depend on positions, for each kind that keeps rows.
std::vector<Model> models_that_keep_rows() {
  Model sinusoidal = model(24, 2, 8, 24), rotary = sinusoidal;
  sinusoidal.options.position = LayerPosition::sinusoidal;
  rotary.options.position = LayerPosition::rotary;
  return {sinusoidal, rotary};
}

TEST(LayerBits, DoNotDependOnWhichPositionsCameBefore) {
  for (const Model& m : models_that_keep_rows()) {
    const auto layer = build(m), other = build(m);
    const std::vector<Floats> up = outputs_at(*layer, m, {0, 3, 60, 40000, -4}, 1);
    const std::vector<Floats> down = outputs_at(*other, m, {-4, 40000, 60, 3, 0}, 2);
    for (std::size_t i = 0; i < up.size(); ++i) EXPECT_EQ(up[i], down[up.size() - 1 - i]);
    EXPECT_EQ(outputs_at(*layer, m, {60}, 1)[0], up[2]);
  }
}

TEST(LayerBits, HoldWhenCallsOnTwoPoolsNeedNewPositionsAtOnce) {
  for (const Model& m : models_that_keep_rows()) {
    const std::vector<Floats> expected = outputs_at(*build(m), m, {0, 50, 100, 150}, 1);
    const auto layer = build(m);
    std::vector<Floats> outputs[2];
    const auto run = [&](int n) {
      ThreadPool pool(2);
      for (const std::int32_t offset : {0, 50, 100, 150}) {
        const Call call = self_call(m, 1, 9);
        LayerInputs inputs;
        inputs.query_length = 9;
        inputs.x = {call.x.data(), Dtype::float32};
        AttentionOptions options;
        options.query_offset = &offset;
        Floats y(static_cast<std::size_t>(9 * m.shape.output_dim));
        if (layer->forward(pool, inputs, {}, options, into(y)).ok()) outputs[n].push_back(y);
      }
    };
    std::thread beside(run, 1);
    run(0);
    beside.join();
    EXPECT_EQ(outputs[0], expected);
    EXPECT_EQ(outputs[1], expected);
  }
}

// ---- weights in fewer bytes

/// A model of several tiles of columns, whose depths have several slices and odd ends.
Model kept_model(Dtype dtype) {
  Model m = model(515, 3, 50, 131);
  m.shape.num_kv_heads = 1;
  m.options.qk_norm = QkNorm::rms;
  m.options.position = LayerPosition::rotary;
  m.options.weight_dtype = dtype;
  return m;
}

TEST(LayerWeightDtype, SixteenBitsGiveTheBitsOfRoundedWeights) {
  for (const KernelTable* table : kernel_tables())
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
      const UsingKernels using_kernels(*table);
      SCOPED_TRACE(testing::Message() << table->name << " dtype " << static_cast<int>(dtype));
      const Model m = kept_model(dtype);
      Model full = m;
      full.options.weight_dtype = Dtype::float32;
      const Weights weights(m);
      const auto layer = build(m, weights), rounded = build(full, kept(m, weights));
      for (const std::int64_t length : {1, 8, 9, 33}) {
        const Call call = self_call(m, 1, length);
        EXPECT_EQ(output_of(*layer, call, 2), output_of(*rounded, call)) << length << " tokens";
      }
    }
}

TEST(LayerWeightDtype, Int8EqualsTheFormulaOverRoundedWeights) {
  for (const KernelTable* table : kernel_tables()) {
    const UsingKernels using_kernels(*table);
    SCOPED_TRACE(table->name);
    const Model m = kept_model(Dtype::int8);
    const Weights weights(m);
    const auto layer = build(m, weights);
    for (const std::int64_t length : {1, 8, 9, 33}) {
      const Call call = self_call(m, 1, length);
      const Floats y = output_of(*layer, call);
      // A rounded weight is itself rounded to float32, and a sum is scaled: the errors of two more products.
      std::vector<Row> expected = reference(m, kept(m, weights), self_sequence(m, call, 0, false));
      for (Row& row : expected)
        for (auto& value : row) value.error *= 1.0 + 3.0 / 50;
      expect_rows(y, 0, expected);
      for (const int threads : {2, 4}) EXPECT_EQ(output_of(*layer, call, threads), y);
    }
  }
}

TEST(LayerWeightDtype, TakesWeightsInAnyOrder) {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::int8}) {
    Model m = model(24, 2, 8, 24);
    m.options.weight_dtype = dtype;
    const Weights weights(m);
    Floats turned(weights.wk.size());
    for (std::int64_t i = 0; i < 24; ++i)
      for (std::int64_t o = 0; o < 16; ++o) turned[o * 24 + i] = weights.wk[i * 16 + o];
    LayerWeights view = weights.view(m);
    view.key = {{turned.data()}, 1, 24, view.key.bias};
    const Call call = self_call(m, 1, 5);
    EXPECT_EQ(output_of(*build(m, view), call), output_of(*build(m, weights), call));
  }
}

TEST(LayerWeightDtype, SavesBytes) {
  Model m = model(64, 4, 16, 64);
  const std::int64_t weights = 4 * 64 * 64, columns = 4 * 64, row = 4 * 64;
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    m.options.weight_dtype = dtype;
    EXPECT_EQ(build(m)->bytes(), 2 * weights + 4 * (columns + row));
  }
  m.options.weight_dtype = Dtype::int8;
  EXPECT_EQ(build(m)->bytes(), weights + 4 * (2 * columns + row));
}

// ---- size

TEST(LayerSize, OneHeadOfTheGpt3GeometryProjects12288To128) {
  Model m = model(12288, 1, 128, 128);
  m.shape.output_projection = false;
  expect_self_attention(m, 1, 3, true);
}

TEST(LayerSize, BytesAreThoseOfPackedWeights) {
  const auto layer = build(model(64, 4, 16, 64));
  EXPECT_EQ(layer->bytes(), 4 * (4 * 64 * 64 + 4 * 64));
}

TEST(LayerSize, BytesCountTheRowsOfPositionsThatAreKept) {
  for (const Model& m : models_that_keep_rows()) {
    const auto layer = build(m);
    const std::int64_t before = layer->bytes();
    const std::int64_t row = m.options.position == LayerPosition::rotary ? m.shape.head_dim : m.shape.input_dim;
    (void)outputs_at(*layer, m, {0, 5, 0}, 1);
    EXPECT_EQ(layer->bytes(), before + 4 * 64 * row);  // 64 rows at a time
    (void)outputs_at(*layer, m, {1 << 30}, 1);         // keeps nothing; keys of a rotary layer stand at 0 again
    EXPECT_EQ(layer->bytes(), before + 4 * 64 * row);
  }
}

// ---- cache

/// Everything after another in pieces of a sequence, against the whole sequence at once, both causal.
void expect_incremental(const Model& m, std::vector<std::int64_t> pieces) {
  const Weights weights(m);
  const auto layer = build(m, weights);
  std::int64_t length = 0;
  for (std::int64_t piece : pieces) length += piece;
  const Call whole = self_call(m, 2, length);
  const auto cache = cache_for(m, 2);
  std::vector<std::vector<Row>> expected;
  for (std::int64_t b = 0; b < 2; ++b) expected.push_back(reference(m, weights, self_sequence(m, whole, b, true)));

  std::int64_t done = 0;
  for (std::int64_t piece : pieces) {
    Call call = self_call(m, 2, piece);
    for (std::int64_t b = 0; b < 2; ++b)
      std::copy_n(whole.x.begin() + (b * length + done) * m.shape.input_dim, piece * m.shape.input_dim,
                  call.x.begin() + b * piece * m.shape.input_dim);
    call.cache = cache.get();
    call.attention.causal = Causal::lower_right;
    const Floats y = output_of(*layer, call);
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t i = 0; i < piece; ++i)
        expect_row(y.data() + (b * piece + i) * m.shape.output_dim, 1, expected[b][done + i],
                   "batch " + std::to_string(b) + ", token " + std::to_string(done + i));
    done += piece;
  }
  EXPECT_EQ(cache->length(0), length);
}

TEST(LayerCache, DecodingInPiecesEqualsTheWholeSequence) {
  Model m = model(24, 4, 8, 12);
  m.shape.num_kv_heads = 2;
  expect_incremental(m, {5, 1, 1, 3, 1});
}

TEST(LayerCache, RotaryTurnsByAbsolutePositions) {
  Model m = model(24, 4, 8, 12);
  m.options.position = LayerPosition::rotary;
  m.options.qk_norm = QkNorm::rms;
  expect_incremental(m, {6, 1, 2, 1});
}

TEST(LayerCache, TableRowsAreTakenAtAbsolutePositions) {
  const Floats table = random_floats(12 * 24, 70);
  Model m = model(24, 2, 8, 12);
  m.options.position = LayerPosition::table;
  m.options.position_table = table.data();
  m.options.position_rows = 12;
  expect_incremental(m, {6, 1, 2, 3});
}

TEST(LayerCache, BatchesMayGrowByDifferentLengths) {
  Model m = model(24, 2, 8, 12);
  m.options.position = LayerPosition::rotary;
  const Weights weights(m);
  const auto layer = build(m, weights);
  const auto cache = cache_for(m, 2);
  Call prompt = self_call(m, 2, 5, 100), step = self_call(m, 2, 1, 101);
  const std::int32_t lengths[] = {5, 2};
  prompt.cache = step.cache = cache.get();
  prompt.attention.query_lengths = lengths;
  prompt.attention.causal = step.attention.causal = Causal::lower_right;
  (void)output_of(*layer, prompt);
  EXPECT_EQ(cache->length(0), 5);
  EXPECT_EQ(cache->length(1), 2);
  const Floats y = output_of(*layer, step);
  for (std::int64_t b = 0; b < 2; ++b) {
    ReferenceSequence sequence;
    sequence.keys = tokens_of(m, prompt, b, 0, lengths[b], 0);
    sequence.queries = tokens_of(m, step, b, 0, 1, lengths[b]);
    sequence.keys.push_back(sequence.queries[0]);
    sequence.values = sequence.keys;
    expect_rows(y, b, reference(m, weights, sequence));
  }
}

TEST(LayerCache, ContextsAreProjectedOnceAndAttendedToOften) {
  Model m = model(12, 2, 8, 6);
  m.shape.key_input_dim = m.shape.value_input_dim = 20;
  const auto layer = build(m);
  const auto cache = cache_for(m, 1);
  Call direct = self_call(m, 1, 4);
  direct.key_length = 7;
  direct.key_context = random_floats(7 * 20, 50);
  const Floats expected = output_of(*layer, direct);
  Call filling = direct;
  filling.cache = cache.get();
  const Floats filled = output_of(*layer, filling);
  Call reading = self_call(m, 1, 4);
  reading.cache = cache.get();
  reading.attend_only = true;
  EXPECT_EQ(output_of(*layer, reading), filled);
  EXPECT_EQ(cache->length(0), 7);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(filled[i], expected[i], 32 * kEpsilon);
}

TEST(LayerCache, StatingAllKeyLengthsChangesNoBit) {
  Model m = model(24, 2, 8, 12);
  m.options.position = LayerPosition::rotary;
  const auto layer = build(m);
  Call prompt = self_call(m, 1, 5, 100), step = self_call(m, 1, 2, 101);
  const std::int32_t total[] = {7};
  Floats steps[2];
  for (int stated : {0, 1}) {
    const auto cache = cache_for(m, 1);
    prompt.cache = step.cache = cache.get();
    prompt.attention.causal = step.attention.causal = Causal::lower_right;
    (void)output_of(*layer, prompt);
    step.attention.key_lengths = stated ? total : nullptr;
    steps[stated] = output_of(*layer, step);
  }
  EXPECT_EQ(steps[0], steps[1]);
}

TEST(LayerCache, AnglesMustNotDependOnTheLengthOfTheCall) {
  Model m = model(24, 2, 8, 12);
  m.options.position = LayerPosition::rotary;
  m.options.rotary.scaling = RotaryScaling::dynamic_ntk;
  m.options.rotary.factor = 2.0;
  m.options.rotary.original_length = 4.0;
  const auto cache = cache_for(m, 1);
  Call call = self_call(m, 1, 5);
  call.cache = cache.get();
  EXPECT_EQ(forward_error(*build(m), call), StatusCode::invalid_option);
  m.options.rotary.sequence_length = 16.0;
  (void)output_of(*build(m), call);
  EXPECT_EQ(cache->length(0), 5);
}

TEST(LayerCache, ARingLosesNothingToACallThatIsRefused) {
  const Model m = model(24, 2, 8, 12);
  const auto layer = build(m);
  const auto cache = cache_for(m, 1, 4);
  Call prompt = self_call(m, 1, 6);
  prompt.cache = cache.get();
  (void)output_of(*layer, prompt);
  EXPECT_EQ(cache->length(0), 4);
  Call wrong = self_call(m, 1, 3);
  wrong.cache = cache.get();
  const std::uint8_t mask[6] = {};
  wrong.masks.mask = mask;
  wrong.masks.mask_extents = {{1, 1, 1, 6}};  // the ring holds 4, and 7 during the call
  EXPECT_EQ(forward_error(*layer, wrong), StatusCode::invalid_shape);
  EXPECT_EQ(cache->appended(0), 6);
}

TEST(LayerCache, KeyLengthsBeyondWhatABatchWillHoldAreRefusedBeforeAnyTokenIsDropped) {
  const Model m = model(24, 2, 8, 12);
  const auto layer = build(m);
  const auto cache = cache_for(m, 2, 4);
  const std::int32_t gains[] = {3, 1}, held[] = {4, 2}, too_many[] = {4, 3};
  Call call = self_call(m, 2, 3);
  call.cache = cache.get();
  call.append_lengths = gains;
  (void)output_of(*layer, call);
  call.attention.key_lengths = too_many;
  EXPECT_EQ(forward_error(*layer, call), StatusCode::invalid_option);
  EXPECT_EQ(cache->appended(0), 3);
  EXPECT_EQ(cache->appended(1), 1);
  call.attention.key_lengths = held;
  (void)output_of(*layer, call);
}

TEST(LayerCache, RoomForAnotherNumberOfKeysIsRefusedBeforeAnyTokenIsDropped) {
  const Model m = model(24, 2, 8, 12);
  const auto layer = build(m);
  const auto cache = cache_for(m, 1, 4);
  Call call = self_call(m, 1, 3);
  call.cache = cache.get();
  (void)output_of(*layer, call);
  Floats y(static_cast<std::size_t>(3 * m.shape.output_dim), 9.0f);
  Floats probs(2 * 3 * 6, 9.0f);
  const Floats untouched = probs;
  AttentionOutputs outputs = into(y);
  outputs.probs = probs.data();
  outputs.key_room = 4;  // what the ring holds; its queries see 4 + 3 - 1
  const Status status = forward(*layer, call, outputs);
  EXPECT_EQ(status.code, StatusCode::invalid_shape);
  EXPECT_NE(std::string(status.message().text).find("room for 4 keys, the call has 6"), std::string::npos)
      << status.message().text;
  EXPECT_EQ(probs, untouched);
  EXPECT_EQ(cache->appended(0), 3);
  outputs.key_room = 6;
  EXPECT_TRUE(forward(*layer, call, outputs).ok());
}

TEST(LayerCache, ARingInPiecesEqualsAWindowOverAllTokens) {
  Model m = model(24, 4, 8, 12);
  m.shape.num_kv_heads = 2;
  m.options.position = LayerPosition::rotary;
  const auto layer = build(m);
  const auto ring = cache_for(m, 2, 4), all = cache_for(m, 2);
  for (const std::int64_t piece : {6, 1, 3, 2, 10}) {
    Call call = self_call(m, 2, piece);
    call.attention.causal = Causal::lower_right;
    call.cache = ring.get();
    const Floats y = output_of(*layer, call);
    call.cache = all.get();
    call.attention.window_left = 3;
    const Floats expected = output_of(*layer, call);
    ASSERT_EQ(y.size(), expected.size());
    for (std::size_t n = 0; n < y.size(); ++n) EXPECT_NEAR(y[n], expected[n], 1e-5) << "after " << piece;
  }
  EXPECT_EQ(ring->length(0), 4);
  EXPECT_EQ(ring->appended(0), all->appended(0));
}

TEST(LayerCache, IsAsBeforeWhenTheCallFails) {
  Model m = model(24, 2, 8, 12);
  const auto layer = build(m);
  const auto cache = cache_for(m, 2);
  Call prompt = self_call(m, 2, 5);
  prompt.cache = cache.get();
  (void)output_of(*layer, prompt);
  Call wrong = self_call(m, 2, 3);
  wrong.cache = cache.get();
  const std::uint8_t mask[8] = {};
  wrong.masks.mask = mask;
  wrong.masks.mask_extents = {{1, 1, 1, 5}};  // 8 keys by then
  EXPECT_EQ(forward_error(*layer, wrong), StatusCode::invalid_shape);
  wrong.masks.mask_extents = {{1, 1, 1, 8}};  // hides all
  wrong.attention.empty_rows = EmptyRows::fail;
  EXPECT_EQ(forward_error(*layer, wrong), StatusCode::empty_row);
  EXPECT_EQ(cache->length(0), 5);
  EXPECT_EQ(cache->length(1), 5);
}

// ---- ragged

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

// ---- errors

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

// ---- memory

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

}  // namespace headwise::layers::test_layer
