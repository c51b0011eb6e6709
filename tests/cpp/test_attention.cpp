#include <limits>

#include "expectations.h"
#include "harness.h"
#include "headwise/attention.h"

namespace headwise {
namespace {

class EveryCase : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const cases::Case& call() const { return cases::table()[GetParam()]; }
};

TEST_P(EveryCase, LiesWithinTheErrorModelWithTheSameBitsForEveryThreadCount) {
  const AttentionOptions options = call().options();
  const std::vector<reference::Head> expected = reference::attention(call().shape, call().inputs(), options);
  for (const KernelTable* table : kernel_tables()) {
    SCOPED_TRACE(table->name);
    const UsingKernels kernels(*table);
    const cases::Results results = compute(call());
    expect_near_reference(call().shape, options, call().returns, expected, results);
    for (int threads = 2; threads <= 4; ++threads)
      EXPECT_EQ(compute(call(), threads).bits(), results.bits()) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryCase, testing::Range(std::size_t{0}, cases::table().size()), case_at);

/// Where every key is the same, every score of a row is, and what decides is the order.
TEST(TopK, TiesGoToTheLowerIndexInEveryHeadAndInTheirMean) {
  for (const bool average : {false, true}) {
    cases::Case call = random_case({1, 2, 2, 9, 50, 8, 8}, 901);
    for (std::int64_t k = 0; k < call.key.size(); ++k) call.key.set(k, 0.5);
    call.returns.top_k = cases::OwnedSelection{{}, {}, average};
    call.returns.k = 4;
    const cases::Results results = compute(call);
    for (std::size_t n = 0; n < results.top_k_indices.size(); ++n)
      ASSERT_EQ(results.top_k_indices[n], static_cast<std::int32_t>(n % 4));
  }
}

TEST(Dtypes, EveryArrayMayHaveItsOwn) {
  const cases::Case half = cases::named("half-17-33");  // its inputs are exact in both types
  const auto widened = [](const cases::Array& array) {
    cases::Array floats(Dtype::float32, array.size());
    for (std::int64_t k = 0; k < array.size(); ++k) floats.set(k, array.get(k));
    return floats;
  };
  cases::Case wide = half;
  wide.dtype = Dtype::float32;
  wide.query = widened(half.query), wide.key = widened(half.key), wide.value = widened(half.value);
  const cases::Results expected = compute(wide);
  for (int mix = 0; mix < 8; ++mix) {
    cases::Case mixed = wide;
    if ((mix & 1) != 0) mixed.query = half.query;
    if ((mix & 2) != 0) mixed.key = half.key;
    if ((mix & 4) != 0) mixed.value = half.value;
    EXPECT_EQ(compute(mixed).bits(), expected.bits()) << "mix " << mix;
  }
  const cases::Results stored = compute(half);
  for (std::int64_t k = 0; k < stored.output.size(); ++k) {
    cases::Array rounded(Dtype::float16, 1);
    rounded.set(0, expected.output.get(k));
    ASSERT_EQ(stored.output.get(k), rounded.get(0)) << "float16 output is float32 output, rounded once";
  }
}

/// A [B, heads, length, width] array brought from one layout into another.
cases::Array rearranged(const cases::Array& array, std::int64_t heads, std::int64_t length, std::int64_t width,
                        Layout from, Layout to) {
  cases::Array other(array.dtype(), array.size());
  const std::int64_t batch_size = array.size() / (heads * length * width);
  for (std::int64_t b = 0; b < batch_size; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t s = 0; s < length; ++s)
        for (std::int64_t w = 0; w < width; ++w)
          other.set(reference::element_index(to, heads, length, width, b, h, s, w),
                    array.get(reference::element_index(from, heads, length, width, b, h, s, w)));
  return other;
}

// The column form V softmax(K'Q / sqrt(d)) is the row form on transposed data.
TEST(Layouts, AllGiveTheSameBitsOnTheSameNumbers) {
  cases::Case rows = random_case({2, 4, 2, 33, 65, 12, 9}, 902);
  const AttentionShape& s = rows.shape;
  rows.scalars.causal = Causal::lower_right;
  rows.returns = everything();
  const cases::Results expected = compute(rows);
  for (const Layout layout : {Layout::bshd, Layout::bse, Layout::bes}) {
    cases::Case call = rows;
    call.scalars.layout = layout;
    call.query = rearranged(rows.query, s.num_heads, s.query_length, s.head_dim, Layout::bhsd, layout);
    call.key = rearranged(rows.key, s.num_kv_heads, s.key_length, s.head_dim, Layout::bhsd, layout);
    call.value = rearranged(rows.value, s.num_kv_heads, s.key_length, s.value_dim, Layout::bhsd, layout);
    cases::Results results = compute(call);
    results.output = rearranged(results.output, s.num_heads, s.query_length, s.value_dim, layout, Layout::bhsd);
    EXPECT_EQ(results.bits(), expected.bits()) << "layout " << static_cast<int>(layout);
  }
}

TEST(Window, AsWideAsANumberCanBeHidesNothing) {
  cases::Case open = random_case({2, 2, 2, 9, 20, 8, 8}, 903), wide = open;
  open.query_offset =
      wide.query_offset = {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  wide.scalars.window_left = wide.scalars.window_right = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(compute(wide).bits(), compute(open).bits());
}

}  // namespace
}  // namespace headwise
