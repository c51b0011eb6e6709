#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cases.h"
#include "expectations.h"
#include "harness.h"
#include "reference/reference.h"

namespace headwise::test_merge {

using cases::Array;
using cases::Case;
using cases::Results;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr AttentionShape kShape{2, 4, 2, 9, 70, 16, 70};  // a value width of more than one block of columns

/// Parts whose results are numbers of no particular meaning.
struct Parts {
  Parts(const AttentionShape& shape, std::int64_t count, Dtype dtype = Dtype::float32) {
    const std::int64_t rows = shape.batch_size * shape.num_heads * shape.query_length;
    for (std::int64_t p = 0; p < count; ++p) {
      const auto seed = static_cast<std::uint32_t>(p + 1);
      outputs.push_back(cases::random_array(dtype, rows * shape.value_dim, seed, 1));
      const Array lse = cases::random_array(Dtype::float32, rows, seed, 2, 8.0);
      lses.emplace_back();
      for (std::int64_t r = 0; r < rows; ++r) lses.back().push_back(static_cast<float>(lse.get(r)));
    }
  }

  [[nodiscard]] std::vector<AttentionPart> views() const {
    std::vector<AttentionPart> parts;
    for (std::size_t p = 0; p < outputs.size(); ++p) parts.push_back({outputs[p].view(), lses[p].data()});
    return parts;
  }

  std::vector<Array> outputs;
  std::vector<std::vector<float>> lses;
};

struct Merged {
  Array output;
  std::vector<float> lse;
  Status status;
};

Merged merge(const AttentionShape& shape, Layout layout, const std::vector<AttentionPart>& parts, const float* sinks,
             int threads = 1, Dtype dtype = Dtype::float32) {
  const std::int64_t rows = shape.batch_size * shape.num_heads * shape.query_length;
  Merged merged{Array(dtype, rows * shape.value_dim), std::vector<float>(static_cast<std::size_t>(rows), kNan), {}};
  merged.status =
      merge_attention(pool_of(threads), shape, layout, parts.data(), static_cast<std::int64_t>(parts.size()), sinks,
                      merged.output.mutable_view(), merged.lse.data());
  return merged;
}

double ulp(double magnitude) { return std::ldexp(magnitude, -23); }

void expect_near(const AttentionShape& shape, Layout layout, const std::vector<reference::MergedHead>& heads,
                 const Merged& merged) {
  ASSERT_TRUE(merged.status.ok()) << merged.status.message().text;
  for (std::int64_t head = 0; head < shape.batch_size * shape.num_heads; ++head)
    for (std::int64_t i = 0; i < shape.query_length; ++i) {
      const float lse = merged.lse[static_cast<std::size_t>(head * shape.query_length + i)];
      EXPECT_EQ(lse, static_cast<float>(heads[head].lse(i)));
      for (std::int64_t d = 0; d < shape.value_dim; ++d) {
        const std::int64_t at = reference::element_index(layout, shape.num_heads, shape.query_length, shape.value_dim,
                                                         head / shape.num_heads, head % shape.num_heads, i, d);
        ASSERT_NEAR(merged.output.get(at), heads[head].output(i, d), 4 * ulp(heads[head].output_magnitude(i, d)));
      }
    }
}

TEST(Merge, LiesWithinFourUlpsOfTheDoubleReference) {
  const float sinks[4] = {0.5f, -kInfinity, 9.0f, -3.0f};
  for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::bse, Layout::bes})
    for (const std::int64_t count : {1, 2, 7, 100}) {
      const Parts parts(kShape, count);
      for (const float* given : {static_cast<const float*>(nullptr), sinks})
        expect_near(kShape, layout, reference::merge_attention(kShape, layout, parts.views().data(), count, given),
                    merge(kShape, layout, parts.views(), given));
    }
}

TEST(Merge, UnitesAttentionOverDisjointKeysAndAddsSinksOnce) {
  Case whole = random_case(kShape, 5);
  whole.sinks = {0.5f, -1.0f, 2.0f, -kInfinity};
  const auto heads = reference::attention(whole.shape, whole.inputs(), whole.options());
  std::vector<Results> results;
  for (const auto& [from, to] : {std::pair{0, 30}, std::pair{30, 31}, std::pair{31, 70}}) {
    Case part = whole;
    part.sinks.clear();
    part.has_mask = true;
    part.mask_extents = {{1, 1, 1, 70}};
    part.mask.assign(70, 0);
    for (int j = from; j < to; ++j) part.mask[static_cast<std::size_t>(j)] = 1;
    results.push_back(compute(part));
  }
  std::vector<AttentionPart> parts;
  for (const Results& result : results) parts.push_back({result.output.view(), result.lse.data()});
  Merged merged = merge(kShape, Layout::bhsd, parts, whole.sinks.data());
  Results united(kShape, whole.returns, Dtype::float32);
  united.output = merged.output;
  united.lse = merged.lse;
  expect_near_reference(whole.shape, whole.options(), whole.returns, heads, united);
}

TEST(Merge, EmptyPartsHaveNoShareWhateverTheyHold) {
  Parts parts(kShape, 3);
  const Merged expected = merge(kShape, Layout::bhsd, {parts.views()[0], parts.views()[2]}, nullptr);
  parts.lses[1].assign(parts.lses[1].size(), -kInfinity);
  for (std::int64_t k = 0; k < parts.outputs[1].size(); ++k) parts.outputs[1].set(k, kNan);
  const Merged merged = merge(kShape, Layout::bhsd, parts.views(), nullptr);
  EXPECT_EQ(merged.output.bytes(), expected.output.bytes());
  EXPECT_EQ(merged.lse, expected.lse);
}

TEST(Merge, RowsThatAreEmptyInEveryPartAreZeroWithTheSinkAsLse) {
  Parts parts(kShape, 2);
  for (auto& lse : parts.lses) lse.assign(lse.size(), -kInfinity);
  const float sinks[4] = {0.5f, -kInfinity, 9.0f, -3.0f};
  const Merged plain = merge(kShape, Layout::bhsd, parts.views(), nullptr);
  const Merged sunk = merge(kShape, Layout::bhsd, parts.views(), sinks);
  for (std::int64_t k = 0; k < plain.output.size(); ++k) {
    ASSERT_EQ(plain.output.get(k), 0.0);
    ASSERT_EQ(sunk.output.get(k), 0.0);
  }
  for (std::size_t r = 0; r < plain.lse.size(); ++r) {
    EXPECT_EQ(plain.lse[r], -kInfinity);
    EXPECT_EQ(sunk.lse[r], sinks[r / 9 % 4]);
  }
}

TEST(Merge, APoisonedPartPoisonsItsOwnRowOnly) {
  Parts parts(kShape, 2);
  const Merged clean = merge(kShape, Layout::bhsd, parts.views(), nullptr);
  parts.lses[0][13] = kNan;
  parts.lses[1][13] = -kInfinity;
  const Merged poisoned = merge(kShape, Layout::bhsd, parts.views(), nullptr);
  EXPECT_TRUE(std::isnan(poisoned.lse[13]));
  for (std::int64_t k = 0; k < clean.output.size(); ++k) {
    if (k / kShape.value_dim == 13)
      ASSERT_TRUE(std::isnan(poisoned.output.get(k)));
    else
      ASSERT_EQ(poisoned.output.get(k), clean.output.get(k));
  }
}

TEST(Merge, GivesTheSameBitsForEveryNumberOfThreads) {
  const Parts parts(kShape, 5);
  const Merged one = merge(kShape, Layout::bes, parts.views(), nullptr);
  for (int threads = 2; threads <= 4; ++threads) {
    const Merged many = merge(kShape, Layout::bes, parts.views(), nullptr, threads);
    EXPECT_EQ(many.output.bytes(), one.output.bytes());
    EXPECT_EQ(many.lse, one.lse);
  }
}

TEST(Merge, ReadsAndWritesHalves) {
  const Parts parts(kShape, 3, Dtype::float16);
  const auto heads = reference::merge_attention(kShape, Layout::bhsd, parts.views().data(), 3, nullptr);
  const Merged merged = merge(kShape, Layout::bhsd, parts.views(), nullptr, 1, Dtype::float16);
  for (std::int64_t k = 0; k < merged.output.size(); ++k) {
    const std::int64_t row = k / kShape.value_dim;
    const double expected = heads[row / 9].output(row % 9, k % kShape.value_dim);
    ASSERT_NEAR(merged.output.get(k), expected, std::ldexp(std::max(std::abs(expected), 0x1p-14), -11) * 1.001);
  }
}

TEST(Merge, RefusesWhatItCannotUnite) {
  const Parts parts(kShape, 1);
  const float bad_sinks[4] = {0, kNan, 0, 0}, infinite_sinks[4] = {kInfinity, 0, 0, 0};
  const auto refuse = [](const Merged& merged, StatusCode code, const char* words) {
    EXPECT_EQ(merged.status.code, code);
    EXPECT_NE(std::string(merged.status.message().text).find(words), std::string::npos) << merged.status.message().text;
    EXPECT_TRUE(merged.lse.empty() || std::isnan(merged.lse[0])) << "something was written";
  };
  refuse(merge(kShape, Layout::bhsd, {}, nullptr), StatusCode::invalid_option, "part");
  refuse(merge(kShape, Layout::bhsd, parts.views(), bad_sinks), StatusCode::invalid_option, "sinks[1]");
  refuse(merge(kShape, Layout::bhsd, parts.views(), infinite_sinks), StatusCode::invalid_option, "sinks[0]");
  std::vector<AttentionPart> views = parts.views();
  views[0].output.dtype = Dtype::bfloat16;
  refuse(merge(kShape, Layout::bhsd, views, nullptr), StatusCode::unsupported, "parts[0].output");
  AttentionShape odd = kShape;
  odd.num_kv_heads = 3;
  refuse(merge(odd, Layout::bhsd, parts.views(), nullptr), StatusCode::invalid_shape, "numKvHeads");
}

}  // namespace headwise::test_merge
