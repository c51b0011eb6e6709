// Layers on caches.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headwise/layer.h"
#include "layer_expectations.h"
#include "layer_model.h"
#include "layer_reference.h"
#include "tolerance.h"

namespace headwise::layers::test_layer_cache {

using tolerance::kEpsilon;

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

}  // namespace headwise::layers::test_layer_cache
