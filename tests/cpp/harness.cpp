#include "harness.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

namespace headwise {

std::uint32_t some_of(std::uint32_t usual) {
  const char* const fewer = std::getenv("HEADWISE_FEWER");
  return usual / std::max(1, fewer ? std::atoi(fewer) : 1);
}

ThreadPool& pool_of(int threads) {
  static std::unique_ptr<ThreadPool> pools[5];
  if (!pools[threads]) pools[threads] = std::make_unique<ThreadPool>(threads);
  return *pools[threads];
}

std::vector<const KernelTable*> kernel_tables() {
  std::vector<const KernelTable*> tables;
  for (int index = 0; const KernelTable* table = kernel_table_at(index); ++index) tables.push_back(table);
  return tables;
}

cases::Results compute(const cases::Case& call, const AttentionInputs& inputs, int threads) {
  cases::Results results(call.shape, call.returns, call.dtype);
  const Status status = attention(pool_of(threads), call.shape, inputs, call.options(), results.view());
  EXPECT_TRUE(status.ok()) << status.message().text;
  return results;
}

cases::Results compute(const cases::Case& call, int threads) { return compute(call, call.inputs(), threads); }

cases::Returns everything(ScoreStage stage, std::int64_t k) {
  cases::Returns returns;
  returns.entropy = true;
  returns.probs = returns.scores = returns.top_k = cases::OwnedSelection();
  returns.scores_stage = stage;
  returns.k = k;
  return returns;
}

namespace {

std::string identifier(std::string name) {
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

}  // namespace

std::string case_at(const testing::TestParamInfo<std::size_t>& info) {
  return identifier(cases::table()[info.param].name);
}

std::string case_named(const testing::TestParamInfo<std::string>& info) { return identifier(info.param); }

cases::Case random_case(const AttentionShape& shape, std::uint32_t seed) {
  cases::Case call;
  call.name = "random";
  call.seed = seed;
  call.shape = shape;
  call.query = cases::random_array(Dtype::float32,
                                   shape.batch_size * shape.num_heads * shape.query_length * shape.head_dim, seed, 1);
  call.key = cases::random_array(Dtype::float32,
                                 shape.batch_size * shape.num_kv_heads * shape.key_length * shape.head_dim, seed, 2);
  call.value = cases::random_array(Dtype::float32,
                                   shape.batch_size * shape.num_kv_heads * shape.key_length * shape.value_dim, seed, 3);
  return call;
}

}  // namespace headwise
