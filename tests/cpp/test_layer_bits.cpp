// Layers: bits that do not depend on threads, batches or storage; weights in fewer bytes; and their size.

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "harness.h"
#include "headwise/layer.h"
#include "layer_expectations.h"
#include "layer_model.h"
#include "layer_reference.h"

namespace headwise::layers::test_layer_bits {

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

}  // namespace headwise::layers::test_layer_bits
