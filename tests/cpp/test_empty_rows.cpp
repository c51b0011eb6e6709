// A row is empty by visibility alone, and one policy speaks in every output. (Values are compared over the case table;
// here is what a table cannot say.)

#include <cmath>

#include "harness.h"

namespace headwise::test_empty_rows {

/// The rows that the last call found empty.
EmptyRowReport report;

/// Sees nothing in query rows 0 and 1 of every head: the diagonal of a lower-right causal call, 6 queries over 4 keys.
cases::Case with_empty_rows(EmptyRows policy) {
  cases::Case call = random_case({2, 2, 1, 6, 4, 8, 8}, 701);
  call.scalars.causal = Causal::lower_right;
  call.scalars.empty_rows = policy;
  call.scalars.empty_row_report = &report;
  call.returns = everything();
  return call;
}

Status run(const cases::Case& call, cases::Results& results) {
  report = {};
  return attention(pool_of(2), call.shape, call.inputs(), call.options(), results.view());
}

TEST(EmptyRows, FailNamesTheRowsAndWritesNothing) {
  const cases::Case call = with_empty_rows(EmptyRows::fail);
  cases::Results results(call.shape, call.returns, Dtype::float32);
  const std::vector<std::uint8_t> before = results.bits();
  const Status status = run(call, results);
  EXPECT_EQ(status.code, StatusCode::empty_row);
  EXPECT_EQ(results.bits(), before);
  ASSERT_EQ(report.count, 8);  // 2 batches x 2 heads x 2 rows
  for (int n = 0; n < 8; ++n) {
    EXPECT_EQ(report.rows[n].batch, n / 4);
    EXPECT_EQ(report.rows[n].head, n / 2 % 2);
    EXPECT_EQ(report.rows[n].query, n % 2);
  }
}

TEST(EmptyRows, FailListsAtMostEight) {
  cases::Case call = with_empty_rows(EmptyRows::fail);
  call.query_offset = {-100, -100};
  cases::Results results(call.shape, call.returns, Dtype::float32);
  EXPECT_EQ(run(call, results).code, StatusCode::empty_row);
  EXPECT_EQ(report.count, EmptyRowReport::kMostRows);
}

TEST(EmptyRows, FailComputesWhenEveryRowSeesAKey) {
  cases::Case call = with_empty_rows(EmptyRows::fail);
  call.scalars.causal = Causal::upper_left;
  cases::Case zero = call;
  zero.scalars.empty_rows = EmptyRows::zero;
  EXPECT_EQ(compute(call).bits(), compute(zero).bits());
}

TEST(EmptyRows, RowsWhoseWeightsAreGivenAreNotEmpty) {
  const std::vector<std::int32_t> queries{1, 0};
  const std::vector<float> weights(2 * 2 * queries.size() * 4, 0.25f);  // [B, heads, chosen rows, Skv]
  const auto given = [&](EmptyRows policy, const Patch& patch, cases::Results& results) {
    const cases::Case call = with_empty_rows(policy);
    AttentionInputs inputs = call.inputs();
    inputs.probs = patch;
    return attention(pool_of(2), call.shape, inputs, call.options(), results.view());
  };
  const auto room = [] {
    const cases::Case call = with_empty_rows(EmptyRows::zero);
    return cases::Results(call.shape, call.returns, Dtype::float32);
  };
  Patch patch;
  patch.selection.queries = queries.data();
  patch.selection.num_queries = static_cast<std::int64_t>(queries.size());
  patch.data = weights.data();
  cases::Results checked = room(), unchecked = room();
  ASSERT_TRUE(given(EmptyRows::fail, patch, checked).ok());
  ASSERT_TRUE(given(EmptyRows::zero, patch, unchecked).ok());
  EXPECT_EQ(checked.bits(), unchecked.bits());

  patch.selection.num_queries = 1;  // of row 1; row 0 stays empty
  const Status status = given(EmptyRows::fail, patch, checked);
  EXPECT_EQ(status.code, StatusCode::empty_row);
  ASSERT_EQ(report.count, 4);
  EXPECT_EQ(report.rows[0].query, 0);

  patch.data = nullptr;
  patch.mean = true;  // of the weights of no keys
  EXPECT_EQ(given(EmptyRows::fail, patch, checked).code, StatusCode::empty_row);
  EXPECT_EQ(report.count, 8);
}

TEST(EmptyRows, PaddingRowsAreNotEmpty) {
  cases::Case call = with_empty_rows(EmptyRows::fail);
  call.scalars.causal = Causal::none;
  call.query_lengths = {3, 0};
  cases::Results results(call.shape, call.returns, Dtype::float32);
  EXPECT_TRUE(run(call, results).ok());
}

TEST(EmptyRows, ASinkDoesNotFillARow) {
  cases::Case call = with_empty_rows(EmptyRows::fail);
  call.sinks = {1.0f, 2.0f};
  cases::Results results(call.shape, call.returns, Dtype::float32);
  EXPECT_EQ(run(call, results).code, StatusCode::empty_row);
}

TEST(EmptyRows, AMaskOrBiasAloneCanEmptyARow) {
  for (const bool by_bias : {false, true}) {
    cases::Case call = with_empty_rows(EmptyRows::fail);
    call.scalars.causal = Causal::none;
    if (by_bias) {
      call.bias = cases::Array(Dtype::float32, 24);
      call.bias_extents = {{1, 1, 6, 4}};
      for (std::int64_t j = 0; j < 4; ++j) call.bias->set(3 * 4 + j, -INFINITY);
    } else {
      call.has_mask = true;
      call.mask.assign(24, 1);
      call.mask_extents = {{1, 1, 6, 4}};
      for (std::int64_t j = 0; j < 4; ++j) call.mask[3 * 4 + j] = 0;
    }
    cases::Results results(call.shape, call.returns, Dtype::float32);
    const Status status = run(call, results);
    ASSERT_EQ(status.code, StatusCode::empty_row);
    EXPECT_EQ(report.count, 4);
    EXPECT_EQ(report.rows[0].query, 3);
  }
}

TEST(EmptyRows, FailCountsSequencesInARaggedBatch) {
  cases::Case call = random_case({1, 1, 1, 7, 7, 8, 8}, 702);
  call.scalars.empty_rows = EmptyRows::fail;
  call.scalars.empty_row_report = &report;
  call.cu_seq_lens_query = {0, 3, 5, 7};
  call.cu_seq_lens_key = {0, 4, 4, 7};
  cases::Results results(call.shape, call.returns, Dtype::float32);
  EXPECT_EQ(run(call, results).code, StatusCode::empty_row);
  ASSERT_EQ(report.count, 2);
  EXPECT_EQ(report.rows[1].batch, 1);
  EXPECT_EQ(report.rows[1].query, 1);
}

// Scores far below zero are not "hidden": a row of them is an ordinary row.
TEST(EmptyRows, TheLowestFiniteBiasLeavesARowVisible) {
  cases::Case call = random_case({1, 1, 1, 3, 5, 8, 2}, 703);
  call.scalars.empty_rows = EmptyRows::fail;
  call.returns = everything();
  call.bias = cases::Array(Dtype::float32, 1);
  call.bias->set(0, std::numeric_limits<float>::lowest());
  const cases::Results results = compute(call);
  for (const float p : results.probs) EXPECT_FLOAT_EQ(p, 0.2f);
}

}  // namespace headwise::test_empty_rows
