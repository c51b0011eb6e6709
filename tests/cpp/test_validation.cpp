// Every rule of the contract has a status of its own kind, a message that names the argument, and no output is written.

#include <deque>
#include <functional>
#include <limits>
#include <memory>

#include "harness.h"
#include "headwise/kv_cache.h"

namespace headwise::test_validation {

const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A call that is right until a test breaks one thing about it.
struct Call {
  cases::Case data = random_case({2, 4, 2, 5, 7, 8, 6}, 601);
  AttentionShape shape = data.shape;
  AttentionInputs inputs = data.inputs();
  AttentionOptions options = data.options();
  cases::Returns returns = everything();
  cases::Results results{shape, returns, Dtype::float32};
  AttentionOutputs outputs = results.view();

  [[nodiscard]] Status run() { return attention(pool_of(1), shape, inputs, options, outputs); }
};

struct Rule {
  const char* name;
  StatusCode code;
  const char* word;  ///< the message names it
  std::function<void(Call&)> breaks;
};

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

class EveryRule : public testing::TestWithParam<Rule> {};

TEST_P(EveryRule, IsRefusedByNameBeforeAnyWork) {
  Call call;
  ASSERT_TRUE(call.run().ok());
  const std::vector<std::uint8_t> good = call.results.bits();
  Call broken;
  const std::vector<std::uint8_t> before = broken.results.bits();
  GetParam().breaks(broken);
  const Status status = broken.run();
  EXPECT_EQ(status.code, GetParam().code) << status.message().text;
  EXPECT_NE(std::string(status.message().text).find(GetParam().word), std::string::npos) << status.message().text;
  EXPECT_EQ(broken.results.bits(), before) << "an output was written";
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(call.results.bits(), good) << "the refusal left a trace";
}

/// Arrays that rules point to.
const std::int32_t* integers(std::vector<std::int32_t> values) {
  static std::deque<std::vector<std::int32_t>> kept;
  return kept.emplace_back(std::move(values)).data();
}

const float* floats(std::vector<float> values) {
  static std::deque<std::vector<float>> kept;
  return kept.emplace_back(std::move(values)).data();
}

std::vector<Rule> rules() {
  constexpr StatusCode shape = StatusCode::invalid_shape, option = StatusCode::invalid_option,
                       unsupported = StatusCode::unsupported;
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  const auto ragged = [](Call& c, const std::int32_t* query, const std::int32_t* key, std::int64_t n) {
    c.shape.batch_size = 1;
    c.options.cu_seq_lens_query = query;
    c.options.cu_seq_lens_key = key;
    c.options.num_sequences = n;
  };
  return {
      {"negative_batch", shape, "batchSize", [](Call& c) { c.shape.batch_size = -1; }},
      {"negative_heads", shape, "numHeads", [](Call& c) { c.shape.num_heads = -2; }},
      {"no_kv_heads", shape, "numKvHeads", [](Call& c) { c.shape.num_kv_heads = 0; }},
      {"heads_not_a_multiple", shape, "numKvHeads", [](Call& c) { c.shape.num_kv_heads = 3; }},
      {"fewer_heads_than_kv_heads", shape, "numKvHeads", [](Call& c) { c.shape.num_kv_heads = 8; }},
      {"negative_query_length", shape, "query", [](Call& c) { c.shape.query_length = -1; }},
      {"negative_key_length", shape, "key", [](Call& c) { c.shape.key_length = -1; }},
      {"no_head_dim", shape, "headDim", [](Call& c) { c.shape.head_dim = 0; }},
      {"no_value_dim", shape, "value", [](Call& c) { c.shape.value_dim = 0; }},
      {"batch_times_heads_overflows", shape, "large", [](Call& c) { c.shape.batch_size = huge << 16; }},
      {"head_dim_overflows", shape, "large", [](Call& c) { c.shape.head_dim = huge << 19; }},
      {"value_dim_overflows", shape, "large", [](Call& c) { c.shape.value_dim = huge << 19; }},
      {"key_length_too_long", shape, "key", [](Call& c) { c.shape.key_length = huge; }},
      {"query_length_too_long", shape, "query", [](Call& c) { c.shape.query_length = huge; }},
      {"probs_overflow", shape, "large", [](Call& c) { c.shape = {1LL << 20, 1, 1, 1LL << 30, 1LL << 30, 1, 1}; }},
      {"scale_nan", option, "scale", [](Call& c) { c.options.scale = kNan; }},
      {"scale_infinite", option, "scale", [](Call& c) { c.options.scale = kInfinity; }},
      {"softcap_negative", option, "softcap", [](Call& c) { c.options.softcap = -1; }},
      {"softcap_nan", option, "softcap", [](Call& c) { c.options.softcap = kNan; }},
      {"softcap_infinite", option, "softcap", [](Call& c) { c.options.softcap = kInfinity; }},
      {"window_left_below_minus_one", option, "window", [](Call& c) { c.options.window_left = -2; }},
      {"window_right_below_minus_one", option, "window", [](Call& c) { c.options.window_right = -5; }},
      {"key_length_over", option, "keyLengths[1]",
       [](Call& c) {
         c.options.key_lengths = integers({7, 8});
       }},
      {"key_length_negative", option, "keyLengths[0]",
       [](Call& c) {
         c.options.key_lengths = integers({-1, 7});
       }},
      {"query_length_over", option, "queryLengths[0]",
       [](Call& c) {
         c.options.query_lengths = integers({6, 5});
       }},
      {"query_length_below", option, "queryLengths[1]",
       [](Call& c) {
         c.options.query_lengths = integers({5, -3});
       }},
      {"slope_nan", option, "alibiSlopes[2]",
       [](Call& c) {
         c.options.alibi_slopes = floats({0.f, 1.f, kNan, 1.f});
       }},
      {"slope_infinite", option, "alibiSlopes[0]",
       [](Call& c) {
         c.options.alibi_slopes = floats({-kInfinity, 1.f, 1.f, 1.f});
       }},
      {"sink_nan", option, "sinks[3]",
       [](Call& c) {
         c.options.sinks = floats({0.f, 0.f, 0.f, kNan});
       }},
      {"sink_plus_infinity", option, "sinks[0]",
       [](Call& c) {
         c.options.sinks = floats({kInfinity, 0.f, 0.f, 0.f});
       }},
      {"gain_nan", option, "headGain[1]",
       [](Call& c) {
         c.options.head_gain = floats({1.f, kNan, 1.f, 1.f});
       }},
      {"gain_infinite", option, "headGain[0]",
       [](Call& c) {
         c.options.head_gain = floats({-kInfinity, 1.f, 1.f, 1.f});
       }},
      {"mask_extent", shape, "mask",
       [](Call& c) {
         c.inputs.mask = c.data.query.bytes().data();
         c.inputs.mask_extents = {{1, 1, 5, 6}};
       }},
      {"bias_extent", shape, "bias",
       [](Call& c) {
         c.inputs.bias = c.inputs.query;
         c.inputs.bias_extents = {{1, 2, 5, 7}};
       }},
      {"bias_extent_zero", shape, "bias",
       [](Call& c) {
         c.inputs.bias = c.inputs.query;
         c.inputs.bias_extents = {{1, 0, 5, 7}};
       }},
      {"int8_query", unsupported, "int8", [](Call& c) { c.inputs.query.dtype = Dtype::int8; }},
      {"bfloat16_query", unsupported, "bfloat16", [](Call& c) { c.inputs.query.dtype = Dtype::bfloat16; }},
      {"bfloat16_value", unsupported, "bfloat16", [](Call& c) { c.inputs.value.dtype = Dtype::bfloat16; }},
      {"bfloat16_output", unsupported, "output", [](Call& c) { c.outputs.output.dtype = Dtype::bfloat16; }},
      {"int8_bias", unsupported, "int8",
       [](Call& c) {
         c.inputs.bias = {c.inputs.query.data, Dtype::int8};
       }},
      {"int8_output", unsupported, "output", [](Call& c) { c.outputs.output.dtype = Dtype::int8; }},
      {"probs_head", option, "probs.heads[0]",
       [](Call& c) {
         c.outputs.probs_selection.heads = integers({4});
         c.outputs.probs_selection.num_heads = 1;
       }},
      {"probs_query", option, "probs.queries[1]",
       [](Call& c) {
         c.outputs.probs_selection.queries = integers({0, -1});
         c.outputs.probs_selection.num_queries = 2;
       }},
      {"scores_query", option, "scores.queries[0]",
       [](Call& c) {
         c.outputs.scores_selection.queries = integers({5});
         c.outputs.scores_selection.num_queries = 1;
       }},
      {"scores_average", option, "scores.average", [](Call& c) { c.outputs.scores_selection.average = true; }},
      {"top_k_head", option, "topK.heads[0]",
       [](Call& c) {
         c.outputs.top_k_selection.heads = integers({-1});
         c.outputs.top_k_selection.num_heads = 1;
       }},
      {"top_k_of_none", option, "topK", [](Call& c) { c.outputs.top_k = 0; }},
      {"mean_of_no_heads", option, "probs.average",
       [](Call& c) {
         c.outputs.probs_selection.heads = integers({0});
         c.outputs.probs_selection.num_heads = 0;
         c.outputs.probs_selection.average = true;
       }},
      {"ragged_half_given", option, "together",
       [=](Call& c) {
         ragged(c, integers({0, 5}), nullptr, 1);
       }},
      {"ragged_batch", shape, "batchSize",
       [=](Call& c) {
         ragged(c, integers({0, 5}), integers({0, 7}), 1);
         c.shape.batch_size = 2;
       }},
      {"ragged_first", option, "cuSeqLensQuery[0]",
       [=](Call& c) {
         ragged(c, integers({1, 5}), integers({0, 7}), 1);
       }},
      {"ragged_order", option, "cuSeqLensKey",
       [=](Call& c) {
         ragged(c, integers({0, 2, 5}), integers({0, 8, 7}), 2);
       }},
      {"ragged_last", option, "cuSeqLensKey",
       [=](Call& c) {
         ragged(c, integers({0, 5}), integers({0, 6}), 1);
       }},
      {"ragged_query_last", option, "cuSeqLensQuery",
       [=](Call& c) {
         ragged(c, integers({0, 4}), integers({0, 7}), 1);
       }},
      {"ragged_lengths", option, "keyLengths",
       [=](Call& c) {
         ragged(c, integers({0, 5}), integers({0, 7}), 1);
         c.options.key_lengths = integers({7});
       }},
  };
}

std::string rule_name(const testing::TestParamInfo<Rule>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Validation, EveryRule, testing::ValuesIn(rules()), rule_name);

TEST(Validation, ACacheOfAnotherShapeIsRefused) {
  for (int axis = 0; axis < 4; ++axis) {
    KvCacheShape held;
    held.batch_size = held.num_kv_heads = 2, held.head_dim = 8, held.value_dim = 6;
    std::int64_t* const extents[] = {&held.batch_size, &held.num_kv_heads, &held.head_dim, &held.value_dim};
    ++*extents[axis];
    std::unique_ptr<KvCache> cache;
    ASSERT_TRUE(KvCache::create(held, &cache).ok());
    Call call;
    call.inputs.cache = cache.get();
    EXPECT_EQ(call.run().code, StatusCode::invalid_shape) << "axis " << axis;
  }
}

TEST(Validation, ACallThatAsksForNothingIsFine) {
  Call call;
  call.outputs = {};
  EXPECT_TRUE(call.run().ok());
}

}  // namespace headwise::test_validation
