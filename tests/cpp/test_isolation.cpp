// A hidden key contributes exactly nothing, and a visible NaN poisons its own row only. Every case of the table is
// computed with its own inputs and again with poison in places that some or all rows may not see; rows that may not see
// it must keep every bit of every output.

#include <bit>
#include <functional>
#include <limits>

#include "harness.h"
#include "reference/reference.h"

namespace headwise::test_isolation {

using cases::Case;
using cases::Results;
using reference::Head;

const double kPoisons[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()};

/// All bits that a call computed for query row i of head h of batch b.
std::vector<std::uint32_t> row_bits(const Case& call, const Results& results, std::int64_t b, std::int64_t h,
                                    std::int64_t i) {
  std::vector<std::uint32_t> bits;
  const auto add = [&](float value) { bits.push_back(std::bit_cast<std::uint32_t>(value)); };
  const AttentionShape& s = call.shape;
  const std::int64_t row = (b * s.num_heads + h) * s.query_length + i;
  for (std::int64_t d = 0; d < s.value_dim; ++d)
    add(static_cast<float>(results.output.get(
        reference::element_index(call.scalars.layout, s.num_heads, s.query_length, s.value_dim, b, h, i, d))));
  add(results.lse[row]);
  add(results.entropy[row]);
  for (std::int64_t j = 0; j < s.key_length; ++j) {
    add(results.probs[row * s.key_length + j]);
    add(results.scores[row * s.key_length + j]);
  }
  for (std::int64_t r = 0; r < call.returns.k; ++r) {
    add(results.top_k_values[row * call.returns.k + r]);
    bits.push_back(static_cast<std::uint32_t>(results.top_k_indices[row * call.returns.k + r]));
  }
  return bits;
}

/// Whether row i of a head may depend on what key j holds.
using Exposure = std::function<bool(std::int64_t b, std::int64_t h, std::int64_t i)>;

/// Expects the same bits in all rows that are not exposed; counts those.
std::int64_t expect_untouched(const Case& call, const Results& clean, const Results& poisoned,
                              const Exposure& exposed) {
  std::int64_t untouched = 0;
  for (std::int64_t b = 0; b < call.shape.batch_size; ++b) {
    for (std::int64_t h = 0; h < call.shape.num_heads; ++h) {
      for (std::int64_t i = 0; i < call.shape.query_length; ++i) {
        if (exposed(b, h, i)) continue;
        ++untouched;
        if (row_bits(call, clean, b, h, i) != row_bits(call, poisoned, b, h, i)) {
          ADD_FAILURE() << "batch " << b << ", head " << h << ", query " << i << " changed";
          return untouched;
        }
      }
    }
  }
  return untouched;
}

class Isolation : public testing::TestWithParam<std::size_t> {
 protected:
  Isolation() : call(cases::table()[GetParam()]) {
    call.returns = everything();
    heads = reference::attention(call.shape, call.inputs(), call.options());
  }

  [[nodiscard]] const Head& head(std::int64_t b, std::int64_t h) const { return heads[b * call.shape.num_heads + h]; }
  [[nodiscard]] std::int64_t group_of(std::int64_t h) const {
    return h / (call.shape.num_heads / call.shape.num_kv_heads);
  }
  /// The uniform policy averages the values that an empty row may not see: the one exception to isolation.
  [[nodiscard]] bool averages_all(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return call.scalars.empty_rows == EmptyRows::uniform && head(b, h).rows[i] == reference::RowKind::empty;
  }
  [[nodiscard]] bool sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return head(b, h).visible(i, j) || averages_all(b, h, i);
  }
  [[nodiscard]] bool is_seen(std::int64_t b, std::int64_t g, std::int64_t j) const {
    for (std::int64_t h = 0; h < call.shape.num_heads; ++h)
      for (std::int64_t i = 0; group_of(h) == g && i < call.shape.query_length; ++i)
        if (sees(b, h, i, j)) return true;
    return false;
  }
  void poison_row(cases::Array& array, std::int64_t width, std::int64_t b, std::int64_t g, std::int64_t j,
                  double poison) const {
    for (std::int64_t w = 0; w < width; ++w)
      array.set(reference::element_index(call.scalars.layout, call.shape.num_kv_heads, call.shape.key_length, width, b,
                                         g, j, w),
                poison);
  }

  Case call;
  std::vector<Head> heads;
};

TEST_P(Isolation, PoisonInKeysThatNoRowSeesChangesNoBit) {
  for (const KernelTable* table : kernel_tables()) {
    SCOPED_TRACE(table->name);
    const UsingKernels kernels(*table);
    const Results clean = compute(call);
    for (const double poison : kPoisons) {
      Case poisoned = call;
      for (std::int64_t b = 0; b < call.shape.batch_size; ++b)
        for (std::int64_t g = 0; g < call.shape.num_kv_heads; ++g)
          for (std::int64_t j = 0; j < call.shape.key_length; ++j)
            if (!is_seen(b, g, j)) {
              poison_row(poisoned.key, call.shape.head_dim, b, g, j, poison);
              poison_row(poisoned.value, call.shape.value_dim, b, g, j, poison);
            }
      EXPECT_EQ(compute(poisoned).bits(), clean.bits()) << "poison " << poison;
    }
  }
}

// The keys at which ranges, panels and tiles begin and end.
std::vector<std::int64_t> telling_keys(std::int64_t length) {
  std::vector<std::int64_t> keys;
  for (const std::int64_t j : {std::int64_t{0}, length / 3, length / 2, length - 1})
    if (j >= 0 && j < length && (keys.empty() || keys.back() != j)) keys.push_back(j);
  return keys;
}

TEST_P(Isolation, PoisonInAKeyOrValueStaysInTheRowsThatSeeIt) {
  if (call.key.size() == 0) return;
  const Results clean = compute(call);
  for (const std::int64_t j : telling_keys(call.shape.key_length)) {
    const std::int64_t b = call.shape.batch_size - 1, g = call.shape.num_kv_heads / 2;
    const auto exposed = [&](std::int64_t row_b, std::int64_t h, std::int64_t i) {
      return row_b == b && group_of(h) == g && sees(b, h, i, j);
    };
    for (const double poison : kPoisons) {
      for (const bool in_value : {false, true}) {
        SCOPED_TRACE(testing::Message() << (in_value ? "value " : "key ") << j << " is " << poison);
        Case poisoned = call;
        if (in_value)
          poison_row(poisoned.value, call.shape.value_dim, b, g, j, poison);
        else
          poison_row(poisoned.key, call.shape.head_dim, b, g, j, poison);
        expect_untouched(call, clean, compute(poisoned), exposed);
      }
    }
  }
}

TEST_P(Isolation, PoisonInAQueryStaysInItsRow) {
  if (call.query.size() == 0 || call.shape.key_length == 0) return;
  const std::int64_t b = call.shape.batch_size - 1, h = call.shape.num_heads / 2, i = call.shape.query_length / 2;
  const Results clean = compute(call);
  for (const double poison : kPoisons) {
    Case poisoned = call;
    for (std::int64_t d = 0; d < call.shape.head_dim; ++d)
      poisoned.query.set(reference::element_index(call.scalars.layout, call.shape.num_heads, call.shape.query_length,
                                                  call.shape.head_dim, b, h, i, d),
                         poison);
    const Results results = compute(poisoned);
    expect_untouched(call, clean, results, [&](std::int64_t row_b, std::int64_t row_h, std::int64_t row_i) {
      return row_b == b && row_h == h && row_i == i;
    });
    const bool attends = head(b, h).rows[i] == reference::RowKind::attends;
    if (attends && std::isnan(poison)) {
      EXPECT_TRUE(std::isnan(results.lse[(b * call.shape.num_heads + h) * call.shape.query_length + i]));
    }
  }
}

// A bias may be NaN wherever something else hides every pair that it is added to.
TEST_P(Isolation, PoisonInTheBiasOfHiddenPairsChangesNoBit) {
  if (!call.bias) return;
  Case unbiased = call;
  unbiased.bias.reset();
  const std::vector<Head> by_the_rest = reference::attention(call.shape, unbiased.inputs(), call.options());
  std::vector<bool> is_used(static_cast<std::size_t>(call.bias->size()), false);
  for (std::int64_t b = 0; b < call.shape.batch_size; ++b)
    for (std::int64_t h = 0; h < call.shape.num_heads; ++h)
      for (std::int64_t i = 0; i < call.shape.query_length; ++i)
        for (std::int64_t j = 0; j < call.shape.key_length; ++j) {
          const std::int64_t at[4] = {b, h, i, j};
          std::int64_t index = 0;
          for (int axis = 0; axis < 4; ++axis)
            index = index * call.bias_extents.extent[axis] + (call.bias_extents.extent[axis] == 1 ? 0 : at[axis]);
          if (by_the_rest[b * call.shape.num_heads + h].visible(i, j)) is_used[index] = true;
        }
  const Results clean = compute(call);
  for (const double poison : kPoisons) {
    Case poisoned = call;
    for (std::int64_t k = 0; k < call.bias->size(); ++k)
      if (!is_used[k]) poisoned.bias->set(k, poison);
    EXPECT_EQ(compute(poisoned).bits(), clean.bits()) << "poison " << poison;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Isolation, testing::Range(std::size_t{0}, cases::table().size()), case_at);

// One row of a tile sees a NaN value, its neighbours do not, and the tile is then computed along a careful path: the
// neighbours must come out as if nothing had happened.
TEST(IsolationInATile, ANaNValueThatOneRowSeesIsNotSeenByItsNeighbours) {
  Case call = random_case({1, 1, 1, 16, 40, 8, 8}, 501);
  call.returns = everything();
  call.has_mask = true;
  call.mask_extents = {{1, 1, 16, 40}};
  call.mask.assign(16 * 40, 1);
  for (std::int64_t i = 0; i < 16; ++i) call.mask[i * 40 + 20] = i == 5;
  Case poisoned = call;
  poisoned.value.set(20 * 8 + 3, std::numeric_limits<double>::quiet_NaN());
  const Results clean = compute(call), results = compute(poisoned);
  EXPECT_EQ(expect_untouched(call, clean, results, [](std::int64_t, std::int64_t, std::int64_t i) { return i == 5; }),
            15);
  EXPECT_TRUE(std::isnan(results.output.get(5 * 8 + 3)));
  EXPECT_EQ(results.output.get(5 * 8 + 2), clean.output.get(5 * 8 + 2)) << "other features of the value are finite";
}

}  // namespace headwise::test_isolation
