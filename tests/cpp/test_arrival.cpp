// Inputs that are still being written when a call starts. The names matter: the thread sanitizer runs *Threads*.

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bindings/meanwhile_copies.h"
#include "headwise/arrival.h"
#include "headwise/thread_pool.h"
#include "kv_tokens.h"

namespace headwise::test_arrival {

/// Copies what lies in `source` to `target`, a pair at a time, when the call asks for it.
class CopiedMeanwhile : public Arrival {
 public:
  explicit CopiedMeanwhile(std::int64_t pairs) : pairs_(pairs) {}
  void add(const std::vector<float>& source, std::vector<float>& target) { arrays_.push_back({&source, &target}); }

  void complete() override {
    for (std::int64_t pair = 0; pair < pairs_; ++pair) {
      for (const auto& [source, target] : arrays_) {
        const std::int64_t size = static_cast<std::int64_t>(source->size()) / pairs_;
        std::copy_n(source->begin() + pair * size, size, target->begin() + pair * size);
      }
      arrived_ = pair + 1;
      std::this_thread::yield();
    }
  }

  void wait_for(std::int64_t pair) override {
    while (pair >= arrived_) std::this_thread::yield();
  }

 private:
  const std::int64_t pairs_;
  std::atomic<std::int64_t> arrived_ = 0;
  std::vector<std::pair<const std::vector<float>*, std::vector<float>*>> arrays_;
};

TEST(Threads, InputsMayArriveWhileTheCallRuns) {
  AttentionShape shape;
  shape.batch_size = 2;
  shape.num_heads = 6;
  shape.num_kv_heads = 3;
  shape.query_length = shape.key_length = 150;
  shape.head_dim = shape.value_dim = 24;
  const std::int64_t kv_size = 2 * 3 * 150 * 24;
  std::vector<float> query(2 * kv_size), key(kv_size), value(kv_size);
  for (std::size_t n = 0; n < query.size(); ++n) query[n] = static_cast<float>(n % 97) / 97 - 0.5f;
  for (std::int64_t n = 0; n < kv_size; ++n) {
    key[n] = static_cast<float>(n % 89) / 89 - 0.5f;
    value[n] = static_cast<float>(n % 83) / 83 - 0.5f;
  }
  const auto attend = [&](ThreadPool& pool, const AttentionInputs& inputs) {
    std::vector<float> output(query.size());
    EXPECT_TRUE(attention(pool, shape, inputs, {}, {.output = {output.data()}}).ok());
    return output;
  };
  ThreadPool caller(1);
  const AttentionInputs there{.query = {query.data()}, .key = {key.data()}, .value = {value.data()}};
  const std::vector<float> expected = attend(caller, there);

  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int run = 0; run < 10; ++run) {
      std::vector<float> late_query(query.size()), late_key(kv_size), late_value(kv_size);
      CopiedMeanwhile copies(shape.batch_size * shape.num_kv_heads);
      copies.add(query, late_query);
      copies.add(key, late_key);
      copies.add(value, late_value);
      const AttentionInputs late{
          .query = {late_query.data()}, .key = {late_key.data()}, .value = {late_value.data()}, .arrival = &copies};
      ASSERT_EQ(attend(pool, late), expected);
    }
  }
}

TEST(Threads, ARotaryCacheTurnsQueriesWhenTheyHaveArrived) {
  KvCacheShape shape;
  shape.batch_size = 2;
  shape.num_kv_heads = 3;
  shape.head_dim = shape.value_dim = 24;
  shape.rotary = RotaryOptions();
  const Tokens tokens(shape, 40, 1);
  const auto cache = make_cache(shape);
  ASSERT_TRUE(tokens.append(*cache, 0, 40).ok());
  const cases::Case call = tokens.dense_call(6, 30, 2);
  const auto attend = [&](int threads, const AttentionInputs& inputs) {
    cases::Results results(call.shape, call.returns, call.dtype);
    const Status status = cache->attend(pool_of(threads), call.shape, inputs, call.options(), results.view());
    EXPECT_TRUE(status.ok()) << status.message().text;
    return results.bits();
  };
  const std::vector<std::uint8_t> expected = attend(1, call.inputs());
  const auto* floats = static_cast<const float*>(call.query.view().data);
  const std::vector<float> query(floats, floats + call.query.size());
  for (const int threads : {1, 2}) {
    std::vector<float> late_query(query.size());
    CopiedMeanwhile copies(2 * 3);
    copies.add(query, late_query);
    EXPECT_EQ(attend(threads, {.query = {late_query.data()}, .arrival = &copies}), expected);
  }
}

TEST(Arrival, IsRefusedForRaggedBatches) {
  AttentionShape shape;
  shape.query_length = shape.key_length = 4;
  const std::int32_t starts[] = {0, 1, 4};
  AttentionOptions options;
  options.cu_seq_lens_query = options.cu_seq_lens_key = starts;
  options.num_sequences = 2;
  const std::vector<float> rows(4);
  std::vector<float> late(4), output(4, 9.0f);
  CopiedMeanwhile copies(1);
  copies.add(rows, late);
  const AttentionInputs inputs{
      .query = {late.data()}, .key = {late.data()}, .value = {late.data()}, .arrival = &copies};
  const Status status = attention(pool_of(1), shape, inputs, options, {.output = {output.data()}});
  EXPECT_EQ(status.code, StatusCode::unsupported);
  EXPECT_NE(std::string(status.message().text).find("ragged"), std::string::npos) << status.message().text;
  EXPECT_EQ(output, std::vector<float>(4, 9.0f));
}

/// Large enough that an early start is worth it.
AttentionShape large_shape() {
  AttentionShape shape;
  shape.batch_size = 2;
  shape.query_length = shape.key_length = 4096;
  shape.head_dim = shape.value_dim = 16;
  return shape;
}

TEST(Arrival, OfAllPairsIsThatOfAnyBeyondTheLast) {
  const AttentionShape shape = large_shape();
  MeanwhileCopies copies([](double, double, double) {}, [] {});
  ASSERT_TRUE(copies.expect(shape, {}));
  copies.complete();
  for (const std::int64_t pair : {0, 1, 2, 1000}) copies.wait_for(pair);  // returns
}

TEST(Arrival, MakesTheResultsOnceWhenTheLastPairHasArrived) {
  static double arrived = 0;
  static std::vector<double> arrived_when_made;
  arrived_when_made.clear();
  MeanwhileCopies copies([](double, double end, double pairs) { arrived = end / pairs; },
                         [] { arrived_when_made.push_back(arrived); });
  ASSERT_TRUE(copies.expect(large_shape(), {}));
  EXPECT_TRUE(arrived_when_made.empty());
  copies.complete();
  EXPECT_EQ(arrived_when_made, std::vector<double>{1.0});
}

TEST(Arrival, IsOnlyForInputsThatLieHeadByHead) {
  const AttentionShape shape = large_shape();
  MeanwhileCopies copies([](double, double, double) {}, [] {});
  for (const Layout layout : {Layout::bshd, Layout::bse, Layout::bes}) {
    AttentionOptions queries, keys;
    queries.layout = layout;
    queries.kv_layout = Layout::bhsd;
    keys.kv_layout = layout;
    EXPECT_FALSE(copies.expect(shape, queries));
    EXPECT_FALSE(copies.expect(shape, keys));
  }
}

}  // namespace headwise::test_arrival
