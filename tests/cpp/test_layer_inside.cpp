// What a layer shows and overwrites of its inside: queries, keys, values, weights and heads.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "harness.h"
#include "headwise/layer.h"
#include "layer_model.h"
#include "patches.h"
#include "refusals.h"
#include "tolerance.h"

namespace headwise::layers::test_layer_inside {

constexpr std::int64_t kBatch = 2, kTokens = 9, kHeads = 4, kKvHeads = 2, kHeadDim = 6, kValueDim = 5, kOutput = 7;

Model grouped() {
  Model m = model(8, kHeads, kHeadDim, kOutput);
  m.shape.num_kv_heads = kKvHeads;
  m.shape.value_head_dim = kValueDim;
  m.options.position = LayerPosition::rotary;
  m.options.rotary.rotary_dim = kHeadDim;
  m.options.qk_norm = QkNorm::rms;
  return m;
}

/// Everything that a call shows.
struct Shown {
  Floats y = Floats(kBatch * kTokens * kOutput), query = Floats(kBatch * kHeads * kTokens * kHeadDim),
         key = Floats(kBatch * kKvHeads * kTokens * kHeadDim), value = Floats(kBatch * kKvHeads * kTokens * kValueDim),
         heads = Floats(kBatch * kHeads * kTokens * kValueDim),
         contributions = Floats(kBatch * kHeads * kTokens * kOutput),
         probs = Floats(kBatch * kHeads * kTokens * kTokens);

  [[nodiscard]] AttentionOutputs outputs() {
    AttentionOutputs outputs = into(y);
    outputs.probs = probs.data();
    return outputs;
  }
  [[nodiscard]] LayerViews views() {
    return {{{query.data()}, {key.data()}, {value.data()}, {heads.data()}}, {contributions.data()}};
  }
  bool operator==(const Shown&) const = default;
};

Status run(const Layer& layer, const Call& call, const LayerPatches& patches, Shown& shown, int threads = 1,
           Patch probs = {}) {
  LayerInputs inputs = inputs_of(call);
  inputs.patches = patches;
  AttentionInputs masks = call.masks;
  masks.probs = probs;
  return layer.forward(pool_of(threads), inputs, masks, call.attention, shown.outputs(), nullptr, shown.views());
}

Shown shown_by(const Layer& layer, const Call& call, const LayerPatches& patches = {}, int threads = 1,
               Patch probs = {}) {
  Shown shown;
  const Status status = run(layer, call, patches, shown, threads, probs);
  EXPECT_TRUE(status.ok()) << status.message().text;
  return shown;
}

TEST(LayerInside, OwnDataChangesNoBit) {
  const Model m = grouped();
  const auto layer = build(m);
  const Call call = self_call(m, kBatch, kTokens);
  const Shown own = shown_by(*layer, call);
  EXPECT_EQ(shown_by(*layer, call,
                     {patch_with(own.query), patch_with(own.key), patch_with(own.value), patch_with(own.heads)}),
            own);
}

TEST(LayerInside, BitsDoNotDependOnThreads) {
  const Model m = grouped();
  const auto layer = build(m);
  const Call call = self_call(m, kBatch, kTokens);
  const Floats weights = random_floats(kBatch * kHeads * kTokens * kTokens, 31);
  const LayerPatches means{mean_patch(), mean_patch(), mean_patch(), mean_patch()};
  const Shown one = shown_by(*layer, call, means, 1, patch_with(weights));
  for (const int threads : {2, 4}) EXPECT_EQ(shown_by(*layer, call, means, threads, patch_with(weights)), one);
}

TEST(LayerInside, ContributionsAndBiasSumToTheOutput) {
  const Model m = grouped();
  const Weights weights(m);
  const auto layer = build(m, weights);
  const Shown shown = shown_by(*layer, self_call(m, kBatch, kTokens));
  for (std::int64_t at = 0; at < std::ssize(shown.y); ++at) {
    const std::int64_t b = at / (kTokens * kOutput), i = at / kOutput % kTokens, o = at % kOutput;
    double sum = weights.bo[o], size = std::fabs(weights.bo[o]);
    for (std::int64_t h = 0; h < kHeads; ++h) {
      sum += shown.contributions[((b * kHeads + h) * kTokens + i) * kOutput + o];
      for (std::int64_t d = 0; d < kValueDim; ++d)
        size += std::fabs(shown.heads[((b * kHeads + h) * kTokens + i) * kValueDim + d] *
                          weights.wo[(h * kValueDim + d) * kOutput + o]);
    }
    EXPECT_NEAR(shown.y[at], sum, 2 * (kHeads * kValueDim + 2) * std::numeric_limits<float>::epsilon() * size);
  }
}

TEST(LayerInside, PatchedWeightsDecideTheHeads) {
  const Model m = grouped();
  const auto layer = build(m);
  const Call call = self_call(m, kBatch, kTokens);
  const Indices heads{3}, rows{8, 0};
  Floats weights(kBatch * 2 * kTokens, 0.0f);
  for (std::int64_t b = 0; b < kBatch; ++b) weights[(b * 2 + 1) * kTokens + 4] = 0.5f;  // row 0, at key 4
  const Shown own = shown_by(*layer, call), shown = shown_by(*layer, call, {}, 1, patch_with(weights, &heads, &rows));
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t i = 0; i < kTokens; ++i)
        for (std::int64_t d = 0; d < kValueDim; ++d) {
          const std::int64_t at = ((b * kHeads + h) * kTokens + i) * kValueDim + d;
          const float value = own.value[((b * kKvHeads + h / 2) * kTokens + 4) * kValueDim + d];
          const bool patched = h == 3 && (i == 8 || i == 0);
          EXPECT_EQ(shown.heads[at], patched ? (i == 0 ? 0.5f * value : 0.0f) : own.heads[at]);
        }
}

TEST(LayerInside, ValuesOfWeightZeroAreNotRead) {
  const Model m = grouped();
  const auto layer = build(m);
  const Call call = self_call(m, kBatch, kTokens);
  Floats weights(kBatch * kHeads * kTokens * kTokens, 0.0f), poison(kBatch * kKvHeads * kValueDim);
  for (std::size_t at = 0; at < weights.size(); at += 3) weights[at + (at / kTokens) % 2] = 1.0f;
  for (std::size_t at = 5; at < weights.size(); at += kTokens) weights[at] = 0.0f;
  const Indices key{5};
  const auto heads_with = [&](float value) {
    std::fill(poison.begin(), poison.end(), value);
    return shown_by(*layer, call, {{}, {}, patch_with(poison, nullptr, &key)}, 1, patch_with(weights)).heads;
  };
  EXPECT_EQ(heads_with(std::numeric_limits<float>::quiet_NaN()), heads_with(1.0f));
}

TEST(LayerInside, EveryRefusedAllocationLeavesTheLayerUsable) {
  const Model m = grouped();
  const auto layer = build(m);
  const Call call = self_call(m, kBatch, kTokens);
  const Floats weights(kBatch * kHeads * kTokens * kTokens, 0.25f);
  const LayerPatches patches{mean_patch(), {}, mean_patch()};
  const Shown expected = shown_by(*layer, call, patches, 1, patch_with(weights));
  Shown shown;
  const Shown untouched = shown;
  const auto attempt = [&] { return run(*layer, call, patches, shown, 1, patch_with(weights)); };
  const auto look = [&] {
    EXPECT_EQ(shown.y, untouched.y);
    EXPECT_EQ(shown_by(*layer, call, patches, 1, patch_with(weights)), expected);
  };
  EXPECT_GT(refuse_each_request(attempt, look), 5);
}

TEST(LayerInside, RefusesWhatIsNotThere) {
  const Model m = grouped();
  const auto layer = build(m);
  const Call call = self_call(m, kBatch, kTokens);
  const Floats data(1000, 0.0f);
  const Indices head{kKvHeads}, row{kTokens};
  const auto code = [&](const LayerPatches& patches, const Patch& probs = {}, const Call* other = nullptr) {
    Shown shown;
    return run(*layer, other ? *other : call, patches, shown, 1, probs).code;
  };
  EXPECT_EQ(code({{}, patch_with(data, &head)}), StatusCode::invalid_option);
  EXPECT_EQ(code({patch_with(data, nullptr, &row)}), StatusCode::invalid_option);
  EXPECT_EQ(code({}, patch_with(data, nullptr, &row)), StatusCode::invalid_option);
  Patch average = mean_patch();
  average.selection.average = true;
  EXPECT_EQ(code({average}), StatusCode::invalid_option);

  std::unique_ptr<SavedForward> saved;
  LayerInputs inputs = inputs_of(call);
  inputs.patches.query = mean_patch();
  Shown shown;
  EXPECT_EQ(layer->forward(pool_of(1), inputs, call.masks, call.attention, shown.outputs(), &saved).code,
            StatusCode::unsupported);
  EXPECT_FALSE(saved);
}

}  // namespace headwise::layers::test_layer_inside
