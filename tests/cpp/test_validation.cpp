// Every rule of the contract has a status of its own kind, a message that names the argument, and no output is written.

#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <set>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/rules.h"
#include "formula_builder.h"
#include "gradients.h"
#include "harness.h"
#include "headwise/arrival.h"
#include "headwise/backward.h"
#include "headwise/kv_cache.h"
#include "headwise/linear.h"
#include "headwise/position.h"
#include "headwise/row_operations.h"
#include "kv_tokens.h"
#include "layer_model.h"

namespace headwise::test_validation {

constexpr bool k64Bits = sizeof(std::size_t) == 8;
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

/// A call of attention that breaks one rule.
struct Breach {
  const char* name;
  Rule rule;
  const char* word;  ///< the message names it
  std::function<void(Call&)> breaks;
};

void PrintTo(const Breach& breach, std::ostream* out) { *out << breach.name; }

class EveryRule : public testing::TestWithParam<Breach> {};

TEST_P(EveryRule, IsRefusedByNameBeforeAnyWork) {
  Call call;
  ASSERT_TRUE(call.run().ok());
  const std::vector<std::uint8_t> good = call.results.bits();
  Call broken;
  const std::vector<std::uint8_t> before = broken.results.bits();
  GetParam().breaks(broken);
  const Status status = broken.run();
  EXPECT_EQ(status.rule, GetParam().rule) << status.message().text;
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

/// A cache that lives until the end of the program.
KvCache* cache_of(const KvCacheShape& shape) {
  static std::deque<std::unique_ptr<KvCache>> kept;
  return kept.emplace_back(make_cache(shape)).get();
}

/// Makes it a call to an empty cache.
void attends(Call& c) {
  c.inputs.cache = cache_of({.batch_size = 2, .num_kv_heads = 2, .head_dim = 8, .value_dim = 6});
}

using F = FormulaBuilder;
using Operation = FormulaOperation;

/// A formula of one number, to which `write` adds.
const Formula* formula(const std::function<Formula(F&)>& write) {
  static std::deque<F> builders;
  static std::deque<Formula> formulas;
  builders.emplace_back().number(1);
  return &formulas.emplace_back(write(builders.back()));
}

Formula with(F& f, Operation operation, std::int32_t a, std::int32_t b = -1, std::int32_t c = -1) {
  f.add(operation, a, b, c);
  return f.formula();
}

Formula with_bound(F& f, const FormulaBound& bound) {
  f.bound(bound);
  return f.formula();
}

struct Arrived : Arrival {
  void complete() override {}
  void wait_for(std::int64_t) override {}
};

std::vector<Breach> breaches() {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  const auto ragged = [](Call& c, const std::int32_t* query, const std::int32_t* key, std::int64_t n) {
    c.shape.batch_size = 1;
    c.options.cu_seq_lens_query = query;
    c.options.cu_seq_lens_key = key;
    c.options.num_sequences = n;
  };
  return {
      {"negative_batch", Rule::least, "batchSize", [](Call& c) { c.shape.batch_size = -1; }},
      {"negative_heads", Rule::least, "numHeads", [](Call& c) { c.shape.num_heads = -2; }},
      {"no_kv_heads", Rule::least, "numKvHeads", [](Call& c) { c.shape.num_kv_heads = 0; }},
      {"heads_not_a_multiple", Rule::heads_per_kv_head, "numKvHeads", [](Call& c) { c.shape.num_kv_heads = 3; }},
      {"fewer_heads_than_kv_heads", Rule::heads_per_kv_head, "numKvHeads", [](Call& c) { c.shape.num_kv_heads = 8; }},
      {"negative_query_length", Rule::least, "query", [](Call& c) { c.shape.query_length = -1; }},
      {"negative_key_length", Rule::least, "key", [](Call& c) { c.shape.key_length = -1; }},
      {"no_head_dim", Rule::least, "headDim", [](Call& c) { c.shape.head_dim = 0; }},
      {"no_value_dim", Rule::least, "value", [](Call& c) { c.shape.value_dim = 0; }},
      {"batch_times_heads_overflows", Rule::array_size, "large", [](Call& c) { c.shape.batch_size = huge << 16; }},
      {"head_dim_overflows", Rule::array_size, "large", [](Call& c) { c.shape.head_dim = huge << 19; }},
      {"value_dim_overflows", Rule::array_size, "large", [](Call& c) { c.shape.value_dim = huge << 19; }},
      {"key_length_too_long", Rule::fits_31_bits, "key", [](Call& c) { c.shape.key_length = huge; }},
      {"query_length_too_long", Rule::fits_31_bits, "query", [](Call& c) { c.shape.query_length = huge; }},
      {"probs_overflow", Rule::dense_size, "large",
       [](Call& c) {
         c.shape = k64Bits ? AttentionShape{1LL << 20, 1, 1, 1LL << 30, 1LL << 30, 1, 1}
                           : AttentionShape{1, 1, 1, 1 << 17, 1 << 17, 1, 1};
       }},
      {"scale_nan", Rule::scale, "scale", [](Call& c) { c.options.scale = kNan; }},
      {"scale_infinite", Rule::scale, "scale", [](Call& c) { c.options.scale = kInfinity; }},
      {"layout_unknown", Rule::choice, "layout must be one of its choices, 0 to 3, got 4",
       [](Call& c) { c.options.layout = Layout{4}; }},
      {"kv_layout_unknown", Rule::choice, "kvLayout", [](Call& c) { c.options.kv_layout = Layout{-1}; }},
      {"causal_unknown", Rule::choice, "causal", [](Call& c) { c.options.causal = Causal{3}; }},
      {"empty_rows_unknown", Rule::choice, "emptyRows", [](Call& c) { c.options.empty_rows = EmptyRows{4}; }},
      {"stage_unknown", Rule::choice, "scores.stage", [](Call& c) { c.outputs.scores_stage = ScoreStage{4}; }},
      {"softcap_negative", Rule::softcap, "got -1", [](Call& c) { c.options.softcap = -1; }},
      {"softcap_nan", Rule::softcap, "softcap", [](Call& c) { c.options.softcap = kNan; }},
      {"softcap_infinite", Rule::softcap, "softcap", [](Call& c) { c.options.softcap = kInfinity; }},
      {"window_left_below_minus_one", Rule::window_sides, "got -2 and -1", [](Call& c) { c.options.window_left = -2; }},
      {"window_right_below_minus_one", Rule::window_sides, "window", [](Call& c) { c.options.window_right = -5; }},
      {"key_length_over", Rule::key_lengths, "keyLengths[1]",
       [](Call& c) {
         c.options.key_lengths = integers({7, 8});
       }},
      {"key_length_negative", Rule::key_lengths, "keyLengths[0]",
       [](Call& c) {
         c.options.key_lengths = integers({-1, 7});
       }},
      {"query_length_over", Rule::query_lengths, "queryLengths[0]",
       [](Call& c) {
         c.options.query_lengths = integers({6, 5});
       }},
      {"query_length_below", Rule::query_lengths, "queryLengths[1]",
       [](Call& c) {
         c.options.query_lengths = integers({5, -3});
       }},
      {"slope_nan", Rule::finite, "alibiSlopes[2]",
       [](Call& c) {
         c.options.alibi_slopes = floats({0.f, 1.f, kNan, 1.f});
       }},
      {"slope_infinite", Rule::finite, "alibiSlopes[0]",
       [](Call& c) {
         c.options.alibi_slopes = floats({-kInfinity, 1.f, 1.f, 1.f});
       }},
      {"sink_nan", Rule::sink, "sinks[3]",
       [](Call& c) {
         c.options.sinks = floats({0.f, 0.f, 0.f, kNan});
       }},
      {"sink_plus_infinity", Rule::sink, "sinks[0]",
       [](Call& c) {
         c.options.sinks = floats({kInfinity, 0.f, 0.f, 0.f});
       }},
      {"gain_nan", Rule::finite, "headGain[1]",
       [](Call& c) {
         c.options.head_gain = floats({1.f, kNan, 1.f, 1.f});
       }},
      {"gain_infinite", Rule::finite, "headGain[0]",
       [](Call& c) {
         c.options.head_gain = floats({-kInfinity, 1.f, 1.f, 1.f});
       }},
      {"mask_extent", Rule::broadcast_extent, "mask",
       [](Call& c) {
         c.inputs.mask = c.data.query.bytes().data();
         c.inputs.mask_extents = {{1, 1, 5, 6}};
       }},
      {"bias_extent", Rule::broadcast_extent, "bias",
       [](Call& c) {
         c.inputs.bias = c.inputs.query;
         c.inputs.bias_extents = {{1, 2, 5, 7}};
       }},
      {"bias_extent_zero", Rule::broadcast_extent, "bias",
       [](Call& c) {
         c.inputs.bias = c.inputs.query;
         c.inputs.bias_extents = {{1, 0, 5, 7}};
       }},
      {"int8_query", Rule::input_dtype, "int8", [](Call& c) { c.inputs.query.dtype = Dtype::int8; }},
      {"bfloat16_query", Rule::input_dtype, "bfloat16", [](Call& c) { c.inputs.query.dtype = Dtype::bfloat16; }},
      {"bfloat16_value", Rule::input_dtype, "bfloat16", [](Call& c) { c.inputs.value.dtype = Dtype::bfloat16; }},
      {"bfloat16_output", Rule::dtype, "output", [](Call& c) { c.outputs.output.dtype = Dtype::bfloat16; }},
      {"int8_bias", Rule::input_dtype, "int8",
       [](Call& c) {
         c.inputs.bias = {c.inputs.query.data, Dtype::int8};
       }},
      {"int8_output", Rule::dtype, "output", [](Call& c) { c.outputs.output.dtype = Dtype::int8; }},
      {"probs_head", Rule::selected_head, "probs.heads[0]",
       [](Call& c) {
         c.outputs.probs_selection.heads = integers({4});
         c.outputs.probs_selection.num_heads = 1;
       }},
      {"probs_query", Rule::selected_query, "probs.queries[1]",
       [](Call& c) {
         c.outputs.probs_selection.queries = integers({0, -1});
         c.outputs.probs_selection.num_queries = 2;
       }},
      {"scores_query", Rule::selected_query, "scores.queries[0]",
       [](Call& c) {
         c.outputs.scores_selection.queries = integers({5});
         c.outputs.scores_selection.num_queries = 1;
       }},
      {"scores_average", Rule::average, "scores.average", [](Call& c) { c.outputs.scores_selection.average = true; }},
      {"top_k_head", Rule::selected_head, "topK.heads[0]",
       [](Call& c) {
         c.outputs.top_k_selection.heads = integers({-1});
         c.outputs.top_k_selection.num_heads = 1;
       }},
      {"top_k_without_indices", Rule::top_k_together, "topK", [](Call& c) { c.outputs.top_k_indices = nullptr; }},
      {"top_k_without_values", Rule::top_k_together, "topK", [](Call& c) { c.outputs.top_k_values = nullptr; }},
      {"rest_without_lse", Rule::array_given, "lse",
       [](Call& c) {
         static float rest;
         c.outputs.lse = nullptr, c.outputs.lse_rest = &rest;
       }},
      {"top_k_beyond_memory", Rule::size, "topK",
       [](Call& c) { c.outputs.top_k = std::numeric_limits<std::int64_t>::max(); }},
      {"top_k_of_none", Rule::top_k, "topK", [](Call& c) { c.outputs.top_k = 0; }},
      {"probs_fewer_heads_than_none", Rule::selected_count, "probs",
       [](Call& c) {
         c.outputs.probs_selection.heads = integers({0});
         c.outputs.probs_selection.num_heads = -1;
       }},
      {"patch_fewer_queries_than_none", Rule::selected_count, "patch.probs",
       [](Call& c) { c.inputs.probs = {.selection = {.queries = integers({0}), .num_queries = -3}, .mean = true}; }},
      {"mean_of_no_heads", Rule::average_of_none, "probs.average",
       [](Call& c) {
         c.outputs.probs_selection.heads = integers({0});
         c.outputs.probs_selection.num_heads = 0;
         c.outputs.probs_selection.average = true;
       }},
      {"ragged_half_given", Rule::ragged_together, "together",
       [=](Call& c) {
         ragged(c, integers({0, 5}), nullptr, 1);
       }},
      {"ragged_batch", Rule::ragged_batch_size, "batchSize",
       [=](Call& c) {
         ragged(c, integers({0, 5}), integers({0, 7}), 1);
         c.shape.batch_size = 2;
       }},
      {"ragged_first", Rule::ragged_start, "cuSeqLensQuery[0]",
       [=](Call& c) {
         ragged(c, integers({1, 5}), integers({0, 7}), 1);
       }},
      {"ragged_order", Rule::ragged_order, "cuSeqLensKey",
       [=](Call& c) {
         ragged(c, integers({0, 2, 5}), integers({0, 8, 7}), 2);
       }},
      {"ragged_last", Rule::ragged_end, "cuSeqLensKey",
       [=](Call& c) {
         ragged(c, integers({0, 5}), integers({0, 6}), 1);
       }},
      {"ragged_query_last", Rule::ragged_end, "cuSeqLensQuery",
       [=](Call& c) {
         ragged(c, integers({0, 4}), integers({0, 7}), 1);
       }},
      {"ragged_lengths", Rule::ragged_lengths, "keyLengths",
       [=](Call& c) {
         ragged(c, integers({0, 5}), integers({0, 7}), 1);
         c.options.key_lengths = integers({7});
       }},
      {"ragged_without_entries", Rule::ragged_count, "cuSeqLens",
       [=](Call& c) { ragged(c, integers({0}), integers({0}), -1); }},
      {"ragged_arrival", Rule::ragged_arrival, "there when the call starts",
       [=](Call& c) {
         static Arrived arrived;
         ragged(c, integers({0, 5}), integers({0, 7}), 1);
         c.inputs.arrival = &arrived;
       }},
      {"ragged_cache", Rule::ragged_cache, "cache",
       [=](Call& c) {
         attends(c);
         ragged(c, integers({0, 5}), integers({0, 7}), 1);
         c.shape.batch_size = 1;
         c.inputs.cache = cache_of({.num_kv_heads = 2, .head_dim = 8, .value_dim = 6});
       }},
      {"cache_extent", Rule::cache_extent, "headDim",
       [](Call& c) { c.inputs.cache = cache_of({.batch_size = 2, .num_kv_heads = 2, .head_dim = 9, .value_dim = 6}); }},
      {"tokens_held", Rule::key_lengths, "keyLengths[1]",
       [](Call& c) {
         attends(c);
         c.options.key_lengths = integers({0, 1});
       }},
      {"no_query", Rule::array_given, "query", [](Call& c) { c.inputs.query.data = nullptr; }},
      {"no_key", Rule::array_given, "key", [](Call& c) { c.inputs.key.data = nullptr; }},
      {"no_value", Rule::array_given, "value", [](Call& c) { c.inputs.value.data = nullptr; }},
      {"no_query_for_a_cache", Rule::array_given, "query", [](Call& c) { attends(c), c.inputs.query.data = nullptr; }},
      {"alibi_half_given", Rule::alibi_positions_together, "together",
       [](Call& c) {
         c.options.alibi_query_positions = integers({0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
       }},
      {"alibi_without_slopes", Rule::alibi_positions_slopes, "alibiSlopes",
       [](Call& c) {
         c.options.alibi_query_positions = c.options.alibi_key_positions = integers(std::vector<std::int32_t>(14));
       }},
      {"dropout_rate", Rule::dropout_rate, "rate", [](Call& c) { c.options.dropout.rate = 1.5; }},
      {"dropout_cache", Rule::dropout_cache, "cache",
       [](Call& c) {
         attends(c);
         c.options.dropout.rate = 0.5;
       }},
      {"dropout_patch", Rule::dropout_patch, "patch.probs",
       [](Call& c) {
         c.options.dropout.rate = 0.5;
         c.inputs.probs.mean = true;
       }},
      {"patch_average", Rule::average, "patch.probs.average",
       [](Call& c) { c.inputs.probs = {.selection = {.average = true}, .mean = true}; }},
      {"patch_head_twice", Rule::repeated_head, "patch.probs.heads[1]",
       [](Call& c) {
         c.inputs.probs = {.selection = {.heads = integers({3, 3}), .num_heads = 2}, .mean = true};
       }},
      {"patch_query_twice", Rule::repeated_query, "patch.probs.queries[2]",
       [](Call& c) {
         c.inputs.probs = {.selection = {.queries = integers({1, 0, 1}), .num_queries = 3}, .mean = true};
       }},
      {"key_room", Rule::key_room, "room for 3 keys, the call has 7", [](Call& c) { c.outputs.key_room = 3; }},
      {"score_and_empty_rows", Rule::score_empty_rows, "score",
       [](Call& c) {
         c.options.score = formula([](F& f) { return with(f, Operation::number, 0); });
         c.options.empty_rows = EmptyRows::fail;
       }},
      {"formula_positions", Rule::formula_positions, "sequence 0 has queries at 16777216..16777220 and 7 keys",
       [](Call& c) {
         c.options.score = formula([](F& f) { return with(f, Operation::number, 0); });
         c.options.query_offset = integers({1 << 24, 0});
       }},
      {"empty_row", Rule::empty_row, "batch 1, head 0, query 0",
       [](Call& c) {
         c.options.key_lengths = integers({7, 0});
         c.options.empty_rows = EmptyRows::fail;
       }},
      {"scratch_overflows", k64Bits ? Rule::scratch_size : Rule::array_size, "too large to address",
       [](Call& c) { c.shape = {1, 1, 1, 0, 0, std::int64_t{1} << 60, 1}; }},
  };
}

std::string rule_name(const testing::TestParamInfo<Breach>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Validation, EveryRule, testing::ValuesIn(breaches()), rule_name);

// ---------------------------------------------------------------------------------------------- the rules of other
// calls

constexpr double kNanNumber = std::numeric_limits<double>::quiet_NaN(), kOnes[] = {1.0, 1.0};
constexpr std::size_t kAppendedAt = 88;  // of a saved cache without rotary embedding

struct Refusal {
  Rule rule;
  std::function<Status()> call;
};

/// A call with a formula, and of gradients.
std::function<Status()> formula_call(std::function<Formula(F&)> write, bool visible = false) {
  return [=] {
    Call c;
    (visible ? c.options.visible : c.options.score) = formula(write);
    return c.run();
  };
}

std::function<Status()> gradient_call(
    std::function<void(BackwardInputs&, AttentionOptions&, BackwardOutputs&)> breaks) {
  return [=] {
    Call c;
    BackwardInputs inputs{c.inputs, {c.data.query.bytes().data()}, floats({0}), {c.data.query.bytes().data()}};
    BackwardOutputs outputs;
    breaks(inputs, c.options, outputs);
    return attention_backward(pool_of(1), c.shape, inputs, c.options, outputs);
  };
}

/// The derivative of a score formula of one number, with one read.
std::function<Status()> derivative_call(FormulaRead read, bool wanted = false, std::int64_t num_reads = 1) {
  return gradient_call([=](BackwardInputs& in, AttentionOptions& options, BackwardOutputs& out) {
    static FormulaRead kept;
    static ScoreDerivative derivative;
    kept = read;
    options.score = formula([](F& f) { return f.formula(); });
    derivative = {*options.score, num_reads == 1 ? &kept : nullptr, num_reads};
    in.score_derivative = &derivative;
    out.reads = wanted;
  });
}

constexpr KvCacheShape kShape{.num_kv_heads = 2, .head_dim = 4, .value_dim = 3};
constexpr KvCacheShape kRing{.num_kv_heads = 2, .head_dim = 4, .value_dim = 3, .window = 5};

/// A cache with 20 tokens, or what it can hold.
std::unique_ptr<KvCache> filled(const KvCacheShape& shape) {
  auto cache = make_cache(shape);
  const std::int64_t count = shape.capacity > 0 && shape.window == 0 ? shape.capacity : 20;
  EXPECT_TRUE(Tokens(shape, count, 3).append(*cache, 0, count).ok());
  return cache;
}

std::function<Status()> with_cache(KvCacheShape shape, std::function<Status(KvCache&)> call) {
  return [=] { return call(*filled(shape)); };
}

KvCacheShape with_tables(KvCacheShape shape) {
  static const std::vector<float> table(200, 1.0f);
  const float* data = table.data();
  shape.rotary = RotaryOptions{.scaling = RotaryScaling::tables, .cosines = data, .sines = data, .table_rows = 100};
  return shape;
}

KvCacheShape with_places(KvCacheShape shape) {
  shape.cache_positions = true;
  shape.rotary = RotaryOptions();
  return shape;
}

std::function<Status()> created(std::function<void(KvCacheShape&)> breaks) {
  return [=] {
    KvCacheShape shape = kShape;
    breaks(shape);
    std::unique_ptr<KvCache> cache;
    return KvCache::create(shape, &cache);
  };
}

/// Attends to a cache with one query.
std::function<Status()> attended(KvCacheShape shape,
                                 std::function<void(AttentionInputs&, AttentionOptions&, AttendInside&)> breaks) {
  return with_cache(shape, [=](KvCache& cache) {
    const AttentionShape call{1, 2, 2, 1, 0, 4, 3};
    AttentionInputs inputs{.query = {floats(std::vector<float>(8))}};
    AttentionOptions options;
    AttendInside inside;
    breaks(inputs, options, inside);
    return cache.attend(pool_of(1), call, inputs, options, {}, inside);
  });
}

/// Appends one token to a cache.
std::function<Status()> appended(KvCacheShape shape, std::function<void(NewTokens&)> breaks) {
  return with_cache(shape, [=](KvCache& cache) {
    const float* data = floats(std::vector<float>(8));
    NewTokens tokens{.num_tokens = 1, .key = {data}, .value = {data}};
    breaks(tokens);
    return cache.append(pool_of(1), tokens);
  });
}

std::function<Status()> kept(KvCacheShape shape, std::int32_t from, std::int32_t row) {
  return with_cache(shape, [=](KvCache& cache) {
    return cache.keep(pool_of(1), {integers({from}), integers({1}), integers({row})});
  });
}

/// Keeps a token that it does not name.
std::function<Status()> kept_rows_missing() {
  return with_cache(kShape, [](KvCache& cache) {
    return cache.keep(pool_of(1), {integers({0}), integers({1}), nullptr});
  });
}

/// Loads a saved cache whose bytes `breaks` has changed; with its checksum made right again if `sealed`.
std::function<Status()> loaded(std::function<void(std::vector<std::uint8_t>&)> breaks, bool sealed = false) {
  return [=] {
    std::vector<std::uint8_t> bytes = saved(*filled(kShape));
    breaks(bytes);
    const std::uint32_t checksum = crc32(bytes.data(), std::ssize(bytes) - 4);
    if (sealed) std::memcpy(&*bytes.end() - 4, &checksum, 4);
    std::unique_ptr<KvCache> cache;
    return KvCache::load(bytes.data(), std::ssize(bytes), &cache);
  };
}

std::function<void(std::vector<std::uint8_t>&)> put(std::size_t at, std::int64_t value) {
  return [=](std::vector<std::uint8_t>& bytes) { std::memcpy(bytes.data() + at, &value, sizeof value); };
}

/// A layer and a call of it.
struct LayerCall {
  layers::Model model = layers::model(16, 2, 8, 16);
  layers::Call call = layers::self_call(model, 1, 4);
  Dtype dtype = Dtype::float32;
  LayerPatches patches;
  LayerViews views;
  bool saves = false;

  /// A cache for it.
  void cache(std::function<void(KvCacheShape&)> change = [](KvCacheShape&) {}) {
    KvCacheShape shape{.num_kv_heads = 2, .head_dim = 8, .value_dim = 8};
    change(shape);
    call.cache = cache_of(shape);
  }
  void turns() { model.options.position = LayerPosition::rotary; }
  void context(std::int64_t length) {
    call.key_length = length;
    call.key_context = layers::random_floats(length * 16, 5);
  }
  [[nodiscard]] Status run() const {
    const auto layer = layers::build(model);
    LayerInputs inputs = layers::inputs_of(call);
    inputs.x.dtype = dtype;
    inputs.patches = patches;
    layers::Floats y(4 * 16);
    std::unique_ptr<SavedForward> saved;
    return layer->forward(pool_of(1), inputs, call.masks, call.attention, layers::into(y), saves ? &saved : nullptr,
                          views);
  }
};

std::function<Status()> layer_call(std::function<void(LayerCall&)> breaks) {
  return [=] {
    LayerCall call;
    breaks(call);
    return call.run();
  };
}

std::function<Status()> layer_created(std::function<void(LayerShape&, LayerWeights&, LayerOptions&)> breaks) {
  return [=] {
    layers::Model m = layers::model(16, 2, 8, 16);
    const layers::Weights weights(m);
    LayerWeights view = weights.view(m);
    breaks(m.shape, view, m.options);
    std::unique_ptr<Layer> layer;
    return Layer::create(m.shape, view, m.options, &layer);
  };
}

/// Gradients of a call that was saved.
std::function<Status()> layer_gradients(std::function<void(LayerShape&, LayerBackwardInputs&, LayerGradients&)> breaks,
                                        bool of_another = false) {
  return [=] {
    layers::Model m = layers::model(16, 2, 8, 16);
    layers::Floats y(4 * 16);
    LayerBackwardInputs inputs{.output_gradient = {y.data()}};
    LayerGradients gradients;
    breaks(m.shape, inputs, gradients);
    const auto layer = layers::build(m), other = layers::build(m);
    const layers::Call call = layers::self_call(m, 1, 4);
    std::unique_ptr<SavedForward> saved;
    EXPECT_TRUE(layer->forward(pool_of(1), layers::inputs_of(call), {}, {}, layers::into(y), &saved).ok());
    return (of_another ? other : layer)->backward(pool_of(1), *saved, inputs, gradients);
  };
}

std::function<Status()> updated(std::function<void(LayerUpdate&)> breaks) {
  return [=] {
    LayerUpdate update;
    breaks(update);
    return layers::build(layers::model(16, 2, 8, 16))->update(update);
  };
}

std::function<Status()> linear_call(LinearShape shape, std::function<void(ConstArray&, LinearWeights&)> breaks) {
  return [=] {
    const float* data = floats(std::vector<float>(16));
    float y[16];
    ConstArray x{data};
    LinearWeights weights{{data}, 2, 1};
    breaks(x, weights);
    return linear(pool_of(1), shape, x, weights, {y});
  };
}

std::function<Status()> linear_gradient(std::int64_t in, std::int64_t out, std::int64_t in_stride,
                                        std::int64_t out_stride) {
  return [=] {
    const float* data = floats(std::vector<float>(16));
    float gradient[16];
    return linear_backward(pool_of(1), {1, in, out}, {data}, {{data}, in_stride, out_stride}, {data},
                           {.weight = gradient});
  };
}

template <class Call>
std::function<Status()> row_call(Status (*run)(ThreadPool&, const Call&), std::function<void(Call&)> breaks) {
  return [=] {
    float numbers[4] = {};
    Call call{.rows = 1, .width = 4, .x = {numbers, 4}, .y = numbers};
    breaks(call);
    return run(pool_of(1), call);
  };
}

std::function<Status()> normed(std::function<void(NormedRows&)> breaks) { return row_call(norm_rows, breaks); }

std::function<Status()> mapped(std::function<void(MappedRows&)> breaks) { return row_call(map_rows, breaks); }

std::function<Status()> topped() {
  return [] {
    float numbers[4] = {};
    std::int32_t indices[1];
    return top_rows(pool_of(1), {1, 2, {numbers, 2}, 3, numbers + 2, indices});
  };
}

std::function<Status()> taken(std::function<void(TakenRows&)> breaks) {
  return [=] {
    float numbers[4] = {};
    const std::int32_t row = 2;
    TakenRows call{.rows = 1, .width = 1, .numbers = &row, .table = {numbers}, .table_rows = 4, .y = numbers + 1};
    breaks(call);
    return take_rows(pool_of(1), call);
  };
}

std::function<Status()> frequencies(RotaryOptions options) {
  return [=] {
    double theta[2], amplitude;
    return rotary_frequencies(options, 4, theta, &amplitude);
  };
}

std::function<Status()> tables(RotaryOptions options, double position) {
  return [=] {
    float cosines[2], sines[2];
    return rotary_tables(options, 4, &position, 1, cosines, sines);
  };
}

std::function<Status()> buckets(std::int64_t count, std::int64_t distance, bool bidirectional, std::int64_t queries) {
  return [=] {
    float bias[4];
    return relative_position_bias(floats({0, 0, 0, 0}), count, distance, bidirectional, 1, queries, 1, 0, bias);
  };
}

/// Turns one token of four features by a table of rows.
std::function<Status()> turned(std::int64_t batches, Dtype dtype, std::int64_t rows, const std::int32_t* row,
                               const float* x = floats({1, 1, 1, 1}), Layout layout = Layout::bhsd) {
  return [=] {
    const float* table = floats({1, 1, 1, 1});
    float y[4];
    return rotary_embedding(pool_of(1), layout, batches, 1, 1, 4, 4, false, {x, dtype}, table, table, rows, row, {y});
  };
}

std::vector<Refusal> refusals() {
  using Shape = LayerShape;
  using Weights = LayerWeights;
  using Options = LayerOptions;
  using In = BackwardInputs;
  using Out = BackwardOutputs;
  using RS = RotaryScaling;
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  static float some[64] = {};
  static const double factors[] = {1.0, 0.0};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto nothing = [](auto&...) {};
  const auto scaled = [](RS scaling) { return RotaryOptions{.scaling = scaling, .factor = 2, .original_length = 8}; };
  const auto changed = [=](RS scaling, double RotaryOptions::*field, double value) {
    RotaryOptions options = scaled(scaling);
    options.*field = value;
    return frequencies(options);
  };
  const auto merged = [](std::int64_t parts, Dtype dtype, bool has_lse = true, Layout layout = Layout::bhsd) {
    return [=] {
      const AttentionPart part{{some, dtype}, has_lse ? some : nullptr};
      return merge_attention(pool_of(1), {1, 1, 1, 1, 1, 1, 1}, layout, &part, parts, nullptr, {some}, some);
    };
  };
  return {
      {Rule::out_of_memory,
       [] {
         Call c;
         set_allocation_gate([](std::size_t) { return false; });
         const Status status = c.run();
         set_allocation_gate(nullptr);
         return status;
       }},
      {Rule::part_count, merged(0, Dtype::float32)},
      {Rule::part_dtype, merged(1, Dtype::int8)},
      {Rule::part_given, merged(1, Dtype::float32, false)},
      {Rule::array_given, gradient_call([](In& in, auto&, auto&) { in.lse = nullptr; })},
      {Rule::array_given, gradient_call([](In& in, auto&, auto&) { in.output.data = nullptr; })},
      {Rule::array_given, gradient_call([](In& in, auto&, auto&) { in.output_gradient.data = nullptr; })},
      {Rule::array_given, appended(kShape, [](NewTokens& tokens) { tokens.key.data = nullptr; })},
      {Rule::array_given, appended(kShape, [](NewTokens& tokens) { tokens.value.data = nullptr; })},
      {Rule::array_given, with_cache(kShape, [](KvCache& cache) { return cache.select(nullptr); })},
      {Rule::array_given, with_cache(kShape, [](KvCache& cache) { return cache.rewind_each(nullptr); })},
      {Rule::array_given, with_cache(kShape, [](KvCache& cache) { return cache.keep(pool_of(1), {}); })},
      {Rule::array_given, kept_rows_missing()},
      {Rule::array_given, layer_call([](LayerCall& c) { c.call.x = layers::Floats(); })},
      {Rule::array_given, layer_gradients([](auto&, LayerBackwardInputs& in, auto&) { in.output_gradient = {}; })},
      {Rule::array_given, linear_call({4, 3, 2}, [](ConstArray& x, auto&) { x.data = nullptr; })},
      {Rule::array_given, turned(1, Dtype::float32, 1, nullptr, nullptr)},
      {Rule::array_given,
       [] {
         float cosine, sine;
         return rotary_tables({}, 2, nullptr, 1, &cosine, &sine);
       }},
      {Rule::array_given,
       [] {
         double position = 0;
         return rotary_tables({}, 2, &position, 1, nullptr, nullptr);
       }},
      {Rule::array_given, [] { return rotary_frequencies({}, 2, nullptr, nullptr); }},
      {Rule::array_given, [] { return sinusoidal_positions(1, 4, SinusoidalSplit::halves, 1e4, nullptr); }},
      {Rule::array_given, [] { return alibi_slopes(8, nullptr); }},
      {Rule::least, [] { return alibi_slopes(-1, some); }},
      {Rule::array_given, [] { return relative_position_bias(nullptr, 4, 8, true, 1, 1, 1, 0, some); }},
      {Rule::array_given, [] { return relative_position_bias(some, 4, 8, true, 1, 1, 1, 0, nullptr); }},
      {Rule::array_given, [] { return KvCache::create(kShape, nullptr); }},
      {Rule::array_given, [] { return KvCache::load(nullptr, 100, nullptr); }},
      {Rule::array_given, with_cache(kShape, [](KvCache& cache) { return cache.fork(nullptr); })},
      {Rule::array_given, with_cache(kShape, [](KvCache& cache) { return cache.slice(0, 0, nullptr); })},
      {Rule::array_given, with_cache(kShape, [](KvCache& cache) { return cache.save(nullptr, cache.saved_size()); })},
      {Rule::array_given,
       [] {
         const layers::Model m = layers::model(16, 2, 8, 16);
         return Layer::create(m.shape, layers::Weights(m).view(m), m.options, nullptr);
       }},
      {Rule::ring_dropped, attended(kRing,
                                    [](auto&, AttentionOptions& options, auto&) {
                                      options.causal = Causal::lower_right;
                                      options.query_offset = integers({18});
                                    })},
      {Rule::ring_places_alibi, attended(with_places(kRing),
                                         [](auto&, AttentionOptions& options, auto&) {
                                           options.alibi_slopes = floats({1, 1});
                                           options.alibi_query_positions = options.alibi_key_positions =
                                               integers(std::vector<std::int32_t>(8));
                                         })},

      {Rule::gradient_cache, gradient_call([](In& in, auto&, auto&) { in.forward.cache = cache_of(kShape); })},
      {Rule::gradient_arrival, gradient_call([](In& in, auto&, auto&) {
         static Arrived arrived;
         in.forward.arrival = &arrived;
       })},
      {Rule::gradient_of, gradient_call([](auto&, auto&, Out& out) { out.bias = some; })},
      {Rule::gradient_of, gradient_call([](auto&, auto&, Out& out) { out.sinks = some; })},
      {Rule::gradient_of, gradient_call([](auto&, auto&, Out& out) { out.alibi_slopes = some; })},
      {Rule::gradient_tables, gradient_call([](auto&, auto&, Out& out) { out.reads = true; })},
      {Rule::derivative_together, gradient_call([](auto&, AttentionOptions& options, auto&) {
         options.score = formula([](F& f) { return f.formula(); });
       })},
      {Rule::derivative_read, derivative_call({9, -1, -1})},
      {Rule::derivative_read_gradient, derivative_call({0, -1, -1}, true)},
      {Rule::formula_list, derivative_call({}, false, 2)},

      {Rule::formula_length, formula_call([](F& f) {
         while (f.size() <= kMostFormulaInstructions) f.add(Operation::abs, 0);
         return f.formula();
       })},
      {Rule::formula_table, formula_call([](F& f) {
         static const FormulaTable table{nullptr, 1, 3};
         Formula formula = f.formula();
         formula.tables = &table, formula.num_tables = 1;
         return formula;
       })},
      {Rule::formula_result, formula_call([](F& f) { return f.formula(5); })},
      {Rule::formula_operation, formula_call([](F& f) { return with(f, static_cast<Operation>(31), 0, 0, 0); })},
      {Rule::formula_variable, formula_call([](F& f) { return with(f, Operation::variable, 11); })},
      {Rule::formula_reads_s,
       formula_call([](F& f) { return with(f, Operation::variable, static_cast<std::int32_t>(FormulaVariable::s)); },
                    true)},
      {Rule::formula_number, formula_call([](F& f) { return with(f, Operation::number, 1); })},
      {Rule::formula_look_up, formula_call([](F& f) { return with(f, Operation::table1, 0, 0); })},
      {Rule::formula_rank, formula_call([](F& f) {
         return with(f, Operation::table1, f.keep({1, 2, 3, 4}, 2), 0);
       })},
      {Rule::formula_operand, formula_call([](F& f) { return with(f, Operation::abs, 3); })},
      {Rule::formula_bounds, formula_call([](F& f) {
         return with_bound(f, {0, 1, -1, -1, 0});
       })},
      {Rule::formula_coefficient, formula_call(
                                      [](F& f) {
                                        return with_bound(f, {0, 0, -1, -1, 0});
                                      },
                                      true)},
      {Rule::formula_bound, formula_call(
                                [](F& f) {
                                  return with_bound(f, {0, 1, 9, -1, 0});
                                },
                                true)},

      {Rule::count, created([](KvCacheShape& s) { s.value_dim = huge; })},
      {Rule::cache_batches, created([](KvCacheShape& s) { s.batch_size = 0x7fffffff; })},
      {Rule::cache_dtype, created([](KvCacheShape& s) { s.dtype = Dtype::bfloat16; })},
      {Rule::keep_first_window, created([](KvCacheShape& s) { s.keep_first = 3; })},
      {Rule::capacity_window, created([](KvCacheShape& s) { s.keep_first = 3, s.window = 5, s.capacity = 7; })},
      {Rule::block_size, created([](KvCacheShape& s) { s.head_dim = s.num_kv_heads = 0x7fffffff; })},
      {Rule::cache_positions_ring, created([](KvCacheShape& s) { s.cache_positions = true; })},
      {Rule::cache_positions_tables,
       created([](KvCacheShape& s) { s = with_tables(kRing), s.cache_positions = true; })},
      {Rule::append_length, appended(kShape, [](NewTokens& tokens) { tokens.lengths = integers({2}); })},
      {Rule::append_room, appended({.num_kv_heads = 2, .head_dim = 4, .value_dim = 3, .capacity = 9}, nothing)},
      {Rule::positions_rotary_cache, appended(kShape, [](NewTokens& tokens) { tokens.positions = integers({2}); })},
      {Rule::ring_places_positions,
       appended(with_places(kRing), [](NewTokens& tokens) { tokens.positions = integers({2}); })},
      {Rule::sections_planes,
       [] {
         double position = 0;
         float cosine, sine;
         return rotary_tables({.temporal_section = 1}, 2, &position, 1, &cosine, &sine);
       }},
      {Rule::position_planes, appended(with_places(kRing), [](NewTokens& tokens) { tokens.position_planes = 3; })},
      {Rule::position_of_row,
       appended(with_tables(kShape), [](NewTokens& tokens) { tokens.positions = integers({100}); })},
      {Rule::ring_places_patch,
       attended(with_places(kRing), [](auto&, auto&, AttendInside& inside) { inside.query.mean = true; })},
      {Rule::keep_from, kept(kShape, 21, 0)},
      {Rule::keep_rows, kept(kShape, 10, 10)},
      {Rule::keep_dropped, kept(kRing, 18, 1)},
      {Rule::keep_tables, kept(with_tables(kShape), 10, 3)},
      {Rule::rewind_length, with_cache(kShape, [](KvCache& cache) { return cache.rewind(-1); })},
      {Rule::rewind_dropped, with_cache(kRing, [](KvCache& cache) { return cache.rewind(12); })},
      {Rule::slice_range, with_cache(kShape,
                                     [](KvCache& cache) {
                                       std::unique_ptr<KvCache> part;
                                       return cache.slice(4, 3, &part);
                                     })},
      {Rule::select_index, with_cache(kShape, [](KvCache& cache) { return cache.select(integers({1})); })},
      {Rule::save_room, with_cache(kShape, [](KvCache& cache) { return cache.save(nullptr, 3); })},
      {Rule::saved_magic, loaded([](auto& bytes) { bytes[0] = 0; })},
      {Rule::saved_truncated, loaded([](auto& bytes) { bytes.resize(20); })},
      {Rule::saved_version, loaded(put(8, 9))},
      {Rule::saved_checksum, loaded([](auto& bytes) { bytes.back() ^= 1; })},
      {Rule::saved_header, loaded(put(24, huge), true)},
      {Rule::saved_size, loaded([](auto& bytes) { bytes.resize(bytes.size() + 16); }, true)},
      {Rule::saved_tokens, loaded(put(kAppendedAt, huge), true)},

      {Rule::layer_layout, layer_call([](LayerCall& c) { c.call.layout = Layout::bhsd; })},
      {Rule::dtype, layer_call([](LayerCall& c) { c.dtype = Dtype::int8; })},
      {Rule::save_cache, layer_call([](LayerCall& c) { c.cache(), c.saves = true; })},
      {Rule::attend_only_context, layer_call([](LayerCall& c) { c.cache(), c.context(4), c.call.attend_only = true; })},
      {Rule::attend_only_cache, layer_call([](LayerCall& c) { c.call.attend_only = true; })},
      {Rule::append_lengths_cache, layer_call([](LayerCall& c) { c.call.append_lengths = integers({1}); })},
      {Rule::append_lengths, layer_call([](LayerCall& c) { c.cache(), c.call.append_lengths = integers({5}); })},
      {Rule::value_length,
       layer_call([](LayerCall& c) { c.context(3), c.call.value_context.swap(c.call.key_context); })},
      {Rule::key_input_dim, layer_call([](LayerCall& c) { c.model.shape.key_input_dim = 12; })},
      {Rule::value_input_dim, layer_call([](LayerCall& c) { c.model.shape.value_input_dim = 12; })},
      {Rule::save_patches, layer_call([](LayerCall& c) { c.patches.query.mean = c.saves = true; })},
      {Rule::attend_only_patches,
       layer_call([](LayerCall& c) { c.cache(), c.call.attend_only = c.patches.key.mean = true; })},
      {Rule::rotary_cache_patches, layer_call([](LayerCall& c) {
         c.cache([](KvCacheShape& shape) { shape.rotary = RotaryOptions(); });
         c.patches.key.mean = true;
       })},
      {Rule::contributions_projection, layer_call([](LayerCall& c) {
         c.model.shape.output_projection = false;
         c.views.contributions.data = some;
       })},
      {Rule::rotary_twice, layer_call([](LayerCall& c) {
         c.turns(), c.cache([](KvCacheShape& shape) { shape.rotary = RotaryOptions(); });
       })},
      {Rule::ring_places_rotary, layer_call([](LayerCall& c) {
         c.turns(), c.cache([](KvCacheShape& shape) { shape.window = 5, shape.cache_positions = true; });
       })},
      {Rule::ring_places_angles, layer_call([](LayerCall& c) {
         c.turns(), c.cache([](KvCacheShape& shape) {
           shape.window = 5, shape.cache_positions = true, shape.rotary = RotaryOptions{.base = 5};
         });
       })},
      {Rule::sequence_length_cache,
       layer_call([scaled](LayerCall& c) { c.turns(), c.cache(), c.model.options.rotary = scaled(RS::dynamic_ntk); })},
      {Rule::key_positions, layer_call([](LayerCall& c) {
         c.call.key_positions = integers({0, 0, 0, 0});
       })},
      {Rule::positions_layer, layer_call([](LayerCall& c) {
         c.call.positions.data = integers({0, 0, 0, 0});
       })},
      {Rule::positions_key, layer_call([](LayerCall& c) {
         c.turns(), c.context(4), c.call.positions.data = integers({0, 0, 0, 0});
       })},
      {Rule::positions_alibi, layer_call([](LayerCall& c) {
         c.turns(), c.call.positions.data = integers({0, 0, 0, 0}), c.call.attention.alibi_slopes = floats({1, 1});
       })},
      {Rule::position_row, layer_call([](LayerCall& c) {
         c.model.options.position = LayerPosition::table;
         c.model.options.position_table = some, c.model.options.position_rows = 4;
         c.call.positions.data = integers({0, 1, 2, 4});
       })},
      {Rule::position_rows, layer_call([](LayerCall& c) {
         c.model.options.position = LayerPosition::table;
         c.model.options.position_table = some, c.model.options.position_rows = 3;
       })},
      {Rule::output_dim, layer_created([](Shape& s, auto&, auto&) { s.output_projection = false, s.output_dim = 5; })},
      {Rule::weights_given, layer_created([](auto&, Weights& w, auto&) { w.key.weight.data = nullptr; })},
      {Rule::output_weight_given, layer_created([](auto&, Weights& w, auto&) { w.output.weight.data = nullptr; })},
      {Rule::output_weight_not_given, layer_created([](Shape& s, auto&, auto&) { s.output_projection = false; })},
      {Rule::not_negative, layer_created([](auto&, auto&, Options& o) { o.qk_norm_epsilon = -1; })},
      {Rule::gain_norm, layer_created([](auto&, auto&, Options& o) { o.key_gain = some; })},
      {Rule::position_table, layer_created([](auto&, auto&, Options& o) { o.position = LayerPosition::table; })},
      {Rule::positive,
       layer_created([](auto&, auto&, Options& o) { o.position = LayerPosition::sinusoidal, o.sinusoidal_base = 0; })},
      {Rule::saved_forward, layer_gradients(nothing, true)},
      {Rule::gradient_projection, layer_gradients([](Shape& s, auto&, LayerGradients& g) {
         s.output_projection = false, g.output_weights.bias = some;
       })},
      {Rule::gradient_gain, layer_gradients([](auto&, auto&, LayerGradients& g) { g.key_gain = some; })},
      {Rule::gradient_position_table,
       layer_gradients([](auto&, auto&, LayerGradients& g) { g.position_table = some; })},
      {Rule::gradient_context, layer_gradients([](auto&, auto&, LayerGradients& g) { g.key_context = some; })},
      {Rule::layer_weight_dtype, layer_created([](auto&, Weights& w, auto&) { w.value.weight.dtype = Dtype::int8; })},
      {Rule::layer_weight_dtype, layer_created([](auto&, Weights& w, auto&) {
         w.query.bias = {some, Dtype::int8};
       })},
      {Rule::layer_weight_dtype, updated([](LayerUpdate& update) {
         update.weights.key.weight = {some, Dtype::int8};
       })},
      {Rule::update_gain, updated([](LayerUpdate& update) { update.key_gain = some; })},
      {Rule::linear_shape, linear_call({4, 0, 2}, nothing)},
      {Rule::linear_size, linear_call({std::int64_t{1} << 62, 3, 2}, nothing)},
      {Rule::linear_weight, linear_call({4, 3, 2}, [](auto&, LinearWeights& w) { w.weight.data = nullptr; })},
      {Rule::linear_dtype, linear_call({4, 3, 2}, [](ConstArray& x, auto&) { x.dtype = Dtype::int8; })},
      {Rule::linear_scales, linear_call({4, 3, 2}, [](auto&, LinearWeights& w) { w.weight.dtype = Dtype::int8; })},
      {Rule::linear_panels,
       [] {
         const auto* data = static_cast<const char*>(static_cast<const void*>(floats(std::vector<float>(256))));
         const auto place = reinterpret_cast<std::uintptr_t>(data);
         float y[2];
         const PanelWeights weights{{data + (64 - place % 64) + 4}, {}};
         return linear(pool_of(1), {1, 3, 2}, {data}, weights, {y});
       }},
      {Rule::gradient_strides, linear_gradient(2, 3, 0, 1)},
      {Rule::gradient_strides, linear_gradient(2, 3, 1, 0)},
      {Rule::gradient_strides, linear_gradient(3, 3, 4, 2)},
      {Rule::gradient_strides, linear_gradient(2, 1, 0, 0)},
      {Rule::none, linear_gradient(2, 3, 6, 2)},
      {Rule::none, linear_gradient(1, 3, 0, 1)},
      {Rule::none, linear_gradient(2, 1, 1, 0)},
      {Rule::none, linear_gradient(1, 1, 0, 0)},
      {Rule::row_extents, normed([](NormedRows& call) { call.width = 0; })},
      {Rule::row_size, mapped([](MappedRows& call) { call.rows = std::int64_t{1} << 60; })},
      {Rule::row_arrays, mapped([](MappedRows& call) { call.x.data = nullptr; })},
      {Rule::choice, normed([](NormedRows& call) { call.norm = RowNorm{2}; })},
      {Rule::choice, mapped([](MappedRows& call) { call.function = RowFunction{7}; })},
      {Rule::choice, taken([](TakenRows& call) { call.table.dtype = Dtype{4}; })},
      {Rule::choice, layer_created([](auto&, auto&, Options& o) { o.qk_norm = QkNorm{3}; })},
      {Rule::choice, layer_created([](auto&, auto&, Options& o) { o.position = LayerPosition{4}; })},
      {Rule::choice, layer_created([](auto&, auto&, Options& o) { o.sinusoidal_split = SinusoidalSplit{2}; })},
      {Rule::choice, layer_created([](auto&, auto&, Options& o) { o.weight_dtype = Dtype{4}; })},
      {Rule::choice, appended(kShape, [](NewTokens& tokens) { tokens.layout = Layout{4}; })},
      {Rule::choice, merged(1, Dtype::float32, true, Layout{4})},
      {Rule::choice, turned(1, Dtype::float32, 1, nullptr, some, Layout{4})},
      {Rule::choice, [] { return sinusoidal_positions(1, 4, SinusoidalSplit{2}, 1e4, some); }},
      {Rule::choice,
       [] {
         const double position = 0.0;
         return rotary_embedding_at(pool_of(1), Layout{-1}, 1, 1, 1, 4, {}, {some}, &position, {some});
       }},
      {Rule::row_epsilon, normed([](NormedRows& call) { call.epsilon = -1; })},
      {Rule::row_divisor, mapped([](MappedRows& call) { call.divisor = 0; })},
      {Rule::row_scale, taken([](TakenRows& call) { call.scale = std::numeric_limits<float>::infinity(); })},
      {Rule::row_scales, taken([](TakenRows& call) { call.table.dtype = Dtype::int8; })},
      {Rule::row_scales, taken([](TakenRows& call) {
         static const float scales[] = {1.0f, 1.0f, kInfinity, 1.0f};
         call.table.dtype = Dtype::int8, call.scales = scales;
       })},
      {Rule::row_top, topped()},
      {Rule::row_number, taken([](TakenRows& call) { call.table_rows = 2; })},

      {Rule::table_extents, [] { return sinusoidal_positions(-1, 4, SinusoidalSplit::halves, 1e4, some); }},
      {Rule::size, [] { return sinusoidal_positions(huge, huge, SinusoidalSplit::halves, 1e4, some); }},
      {Rule::positive, [] { return sinusoidal_positions(1, 4, SinusoidalSplit::halves, 0.0, some); }},
      {Rule::buckets, buckets(1, 128, false, 1)},
      {Rule::even_buckets, buckets(5, 128, true, 1)},
      {Rule::max_distance, buckets(8, 2, true, 1)},
      {Rule::bias_extents, buckets(8, 128, true, -1)},
      {Rule::rotary_dim, frequencies({.rotary_dim = 3})},
      {Rule::scaling, frequencies({.scaling = static_cast<RS>(-1)})},
      {Rule::sections, frequencies({.temporal_section = 1, .height_section = 2, .width_section = -1})},
      {Rule::frequencies_given, frequencies({.scaling = RS::frequencies})},
      {Rule::frequencies, frequencies({.scaling = RS::frequencies, .frequencies = &kNanNumber})},
      {Rule::not_negative, frequencies({.scaling = RS::frequencies, .attention_factor = -1, .frequencies = factors})},
      {Rule::tables_given, frequencies({.scaling = RS::tables})},
      {Rule::table_rows, frequencies({.scaling = RS::tables, .cosines = some, .sines = some})},
      {Rule::tables_frequencies, frequencies({.scaling = RS::tables, .cosines = some, .sines = some, .table_rows = 1})},
      {Rule::longrope_given, changed(RS::longrope, &RotaryOptions::factor, 2)},
      {Rule::longrope_factors, frequencies({.scaling = RS::longrope,
                                            .factor = 2,
                                            .original_length = 8,
                                            .short_factors = factors,
                                            .long_factors = factors})},
      {Rule::longrope_length, frequencies({.scaling = RS::longrope,
                                           .factor = 2,
                                           .original_length = 1,
                                           .short_factors = kOnes,
                                           .long_factors = kOnes})},
      {Rule::positive, changed(RS::linear, &RotaryOptions::factor, 0)},
      {Rule::positive, changed(RS::yarn, &RotaryOptions::original_length, 0)},
      {Rule::dynamic_ntk_factor, changed(RS::dynamic_ntk, &RotaryOptions::factor, 0.5)},
      {Rule::not_negative, changed(RS::dynamic_ntk, &RotaryOptions::sequence_length, -1)},
      {Rule::yarn_base, changed(RS::yarn, &RotaryOptions::base, 1)},
      {Rule::positive, changed(RS::yarn, &RotaryOptions::beta_slow, 0)},
      {Rule::beta_fast, changed(RS::yarn, &RotaryOptions::beta_fast, nan)},
      {Rule::not_negative, changed(RS::yarn, &RotaryOptions::attention_factor, -1)},
      {Rule::not_negative, changed(RS::yarn, &RotaryOptions::mscale, -1)},
      {Rule::not_negative, changed(RS::yarn, &RotaryOptions::mscale_all_dim, nan)},
      {Rule::positive, changed(RS::llama3, &RotaryOptions::low_freq_factor, 0)},
      {Rule::high_freq_factor, changed(RS::llama3, &RotaryOptions::high_freq_factor, 1)},
      {Rule::position, tables({}, nan)},
      {Rule::position_of_no_row, tables({.scaling = RS::tables, .cosines = some, .sines = some, .table_rows = 1}, 1)},
      {Rule::rotary_extents, turned(-1, Dtype::float32, 1, nullptr)},
      {Rule::rotary_dtype, turned(1, Dtype::int8, 1, nullptr)},
      {Rule::row_per_token, turned(1, Dtype::float32, 0, nullptr)},
      {Rule::token_row, turned(1, Dtype::float32, 1, integers({1}))},
  };
}

TEST(Rules, OfOtherCallsAreRefusedByName) {
  for (const Refusal& refusal : refusals()) {
    const Status status = refusal.call();
    EXPECT_EQ(status.rule, refusal.rule) << "got: " << status.message().text
                                         << "; wanted: " << Status{.rule = refusal.rule}.message().text;
  }
}

TEST(Rules, AreAllBrokenByATest) {
  std::set<Rule> broken;
  for (const Breach& breach : breaches()) broken.insert(breach.rule);
  for (const Refusal& refusal : refusals()) broken.insert(refusal.rule);
  if (!k64Bits) broken.insert(Rule::scratch_size);  // no arrays of 32 bits need so much
  for (int n = 1; n < static_cast<int>(Rule::end); ++n) {
    const Status status{.rule = static_cast<Rule>(n)};
    EXPECT_TRUE(broken.contains(status.rule)) << status.message().text;
  }
}

TEST(Rules, WriteNumbersAsPrintfDoes) {
  for (const double value : {0.0, -0.0, 1.0, -1.5, 0.1, 1e-5, -2.5e-4, 123456.0, 999999.7, 1234567.0, 1e100, 5e-324,
                             1e22, 1.0 / 3, std::numeric_limits<double>::max(), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    char text[64];
    std::snprintf(text, sizeof text, "base must be finite and greater than 0, got %g", value);
    EXPECT_STREQ(Status(refuse(Rule::positive, Argument::base, value)).message().text, text);
  }
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0},
                                   std::numeric_limits<std::int64_t>::max()})
    EXPECT_EQ("length must be at least 0, got " + std::to_string(value),
              Status(refuse(Rule::rewind_length, value)).message().text);
  static_assert(sizeof(Status) == 32);
}

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
