// What masks, biases, windows and ALiBi do to tiles: keys that nobody sees are left out, and neither that nor the other
// rows of a tile changes a bit of a row. (Values are compared over the case table.)

#include <cmath>
#include <limits>

#include "expectations.h"
#include "harness.h"
#include "kv_tokens.h"

namespace headwise::test_masks {

using cases::Case;
using cases::Results;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Elements [begin, end) of the `heads` rows of `size` elements in an array.
template <class Set, class Get>
void copy_rows(std::int64_t heads, std::int64_t size, std::int64_t begin, std::int64_t end, Set set, Get get) {
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t k = begin; k < end; ++k) set(h * (end - begin) + k - begin, get(h * size + k));
}

/// Query rows [begin, end) of a call of one batch as a call of their own, at the positions that they had.
Case rows_of(const Case& call, std::int64_t begin, std::int64_t end) {
  const AttentionShape& s = call.shape;
  Case rows = call;
  rows.shape.query_length = end - begin;
  rows.query = cases::Array(call.dtype, s.num_heads * (end - begin) * s.head_dim);
  copy_rows(
      s.num_heads, s.query_length * s.head_dim, begin * s.head_dim, end * s.head_dim,
      [&](std::int64_t at, double x) { rows.query.set(at, x); }, [&](std::int64_t at) { return call.query.get(at); });
  if (call.has_mask && call.mask_extents.extent[2] != 1) {
    const std::int64_t heads = call.mask_extents.extent[1];
    rows.mask_extents.extent[2] = end - begin;
    rows.mask.resize(heads * (end - begin) * s.key_length);
    copy_rows(
        heads, s.query_length * s.key_length, begin * s.key_length, end * s.key_length,
        [&](std::int64_t at, std::uint8_t x) { rows.mask[at] = x; }, [&](std::int64_t at) { return call.mask[at]; });
  }
  rows.query_offset = {static_cast<std::int32_t>(begin) + (call.query_offset.empty() ? 0 : call.query_offset[0])};
  return rows;
}

/// Fails unless rows [begin, end) of `all` have the bits of `rows`.
void expect_rows(const Case& call, const Results& all, const Results& rows, std::int64_t begin, std::int64_t end) {
  const AttentionShape& s = call.shape;
  for (std::int64_t h = 0; h < s.num_heads; ++h) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = h * s.query_length + i, alone = h * (end - begin) + i - begin;
      ASSERT_EQ(all.lse[at], rows.lse[alone]) << "head " << h << " row " << i;
      for (std::int64_t d = 0; d < s.value_dim; ++d)
        ASSERT_EQ(all.output.get(at * s.value_dim + d), rows.output.get(alone * s.value_dim + d))
            << "head " << h << " row " << i << " feature " << d;
    }
  }
}

/// A mask [1, heads, Sq, Skv] that shows what `shows(h, i, j)` says.
template <class Shows>
void set_mask(Case& call, std::int64_t heads, Shows shows) {
  call.has_mask = true;
  call.mask_extents = {{1, heads, call.shape.query_length, call.shape.key_length}};
  call.mask.clear();
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < call.shape.query_length; ++i)
      for (std::int64_t j = 0; j < call.shape.key_length; ++j) call.mask.push_back(shows(h, i, j));
}

bool chance(std::int64_t k, double share) {
  return (cases::word(77, 1, static_cast<std::uint32_t>(k)) >> 8) * 0x1p-24 < share;
}

std::vector<Case> calls_over_several_tiles() {
  std::vector<Case> calls;
  const auto add = [&](auto change) {
    Case call = random_case({1, 4, 2, 300, 700, 24, 20}, 1201 + static_cast<std::uint32_t>(calls.size()));
    change(call);
    calls.push_back(std::move(call));
  };
  add([](Case& call) {
    call.query_offset = {400};
    call.scalars.causal = Causal::upper_left;
  });
  add([](Case& call) {
    call.query_offset = {390};
    call.scalars.causal = Causal::upper_left;
    call.scalars.window_left = 101;
    call.alibi_slopes = {0.5f, 0.25f, 0.125f, -0.125f};
  });
  add([](Case& call) {
    call.scalars.window_left = call.scalars.window_right = 37;
    call.scalars.exclude_self = true;
    call.query_offset = {201};
  });
  add([](Case& call) {
    set_mask(call, 4, [](std::int64_t h, std::int64_t i, std::int64_t j) {  // blocks, and holes in them
      return chance(h * 100000 + i / 23 * 1000 + j / 41, 0.2) && chance(i * 700 + j, 0.8);
    });
  });
  return calls;
}

TEST(Tiles, ARowHasTheSameBitsWhicheverRowsShareItsTile) {
  for (const Case& call : calls_over_several_tiles()) {
    const Results all = compute(call);
    for (const auto& [begin, end] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 300}, {3, 23}, {17, 57}, {101, 300}, {255, 275}}) {
      SCOPED_TRACE(testing::Message() << "seed " << call.seed << ", rows " << begin << " to " << end);
      expect_rows(call, all, compute(rows_of(call, begin, end)), begin, end);
    }
  }
}

TEST(Tiles, ThreadsChangeNoBit) {
  for (const Case& call : calls_over_several_tiles()) {
    const std::vector<std::uint8_t> bits = compute(call).bits();
    for (int threads = 2; threads <= 4; ++threads)
      EXPECT_EQ(compute(call, threads).bits(), bits) << "seed " << call.seed << ", " << threads << " threads";
  }
}

TEST(Masks, HaveTheBitsOfTheOptionThatHidesTheSameKeys) {
  for (const std::int64_t rows : {3, 20, 70}) {
    Case causal = random_case({1, 2, 1, rows, 600, 16, 16}, 1211);
    causal.scalars.causal = Causal::lower_right;
    causal.scalars.window_left = 333;
    const auto sees = [&](std::int64_t i, std::int64_t j) { return j <= i + 600 - rows && j >= i + 600 - rows - 333; };
    Case masked = causal, biased = causal;
    masked.scalars = biased.scalars = AttentionOptions();
    set_mask(masked, 1, [&](std::int64_t, std::int64_t i, std::int64_t j) { return sees(i, j); });
    biased.bias = cases::Array(Dtype::float16, rows * 600);
    biased.bias_extents = {{1, 1, rows, 600}};
    for (std::int64_t k = 0; k < rows * 600; ++k) biased.bias->set(k, sees(k / 600, k % 600) ? 0 : -kInfinity);
    EXPECT_EQ(compute(masked).bits(), compute(causal).bits()) << rows << " rows";
    EXPECT_EQ(compute(biased).bits(), compute(causal).bits()) << rows << " rows";
  }
}

TEST(Masks, OfPaddingHaveTheBitsOfKeyLengthsWithinATile) {
  for (const std::int64_t rows : {1, 40}) {
    Case lengths = random_case({2, 2, 2, rows, 250, 16, 16}, 1212), masked = lengths;
    lengths.key_lengths = {250, 211};
    masked.has_mask = true;
    masked.mask_extents = {{2, 1, 1, 250}};
    masked.mask.assign(500, 1);
    std::fill(masked.mask.begin() + 250 + 211, masked.mask.end(), std::uint8_t{0});
    EXPECT_EQ(compute(masked).bits(), compute(lengths).bits()) << rows << " rows";
  }
}

// Panels, tiles and splits that no row sees are not read at all. What they hold must not show.
TEST(Masks, HiddenTilesMayHoldAnything) {
  for (const std::int64_t rows : {2, 40, 200}) {
    Case call = random_case({1, 2, 1, rows, 1600, 16, 16}, 1213);
    call.returns = everything();
    set_mask(call, 2, [](std::int64_t h, std::int64_t i, std::int64_t j) {
      return j / 16 % 7 == 3 && chance(i * 1600 + j, 0.5) && (h == 0 || j > 800);
    });
    const Results clean = compute(call);
    expect_near_reference(call, clean);
    for (std::int64_t j = 0; j < 1600; ++j) {
      if (j / 16 % 7 == 3) continue;
      for (std::int64_t d = 0; d < 16; ++d) {
        call.key.set(j * 16 + d, std::numeric_limits<double>::quiet_NaN());
        call.value.set(j * 16 + d, kInfinity);
      }
    }
    EXPECT_EQ(compute(call).bits(), clean.bits()) << rows << " rows";
  }
}

TEST(Alibi, OfFarKeysIsThatOfTheirDistance) {
  Case call = random_case({1, 2, 2, 9, 70, 8, 8}, 1214);
  call.alibi_slopes = {1e-7f, -3e-8f};
  call.returns = everything();
  for (const std::int32_t offset : {(1 << 24) - 40, -(1 << 24) + 30, 1 << 30}) {
    call.query_offset = {offset};
    expect_near_reference(call, compute(call));
  }
}

// A ring that has dropped an odd number of tokens: no run of its rows begins where a panel does.
TEST(Rings, AtAnOddFirstKeyAttendAsTheirRowsDoInArrays) {
  KvCacheShape shape;
  shape.num_kv_heads = 2;
  shape.head_dim = 12, shape.value_dim = 7;
  shape.keep_first = 5, shape.window = 333;
  const Tokens tokens(shape, 901, 1215);
  const auto cache = make_cache(shape);
  ASSERT_TRUE(tokens.append(*cache, 0, 901).ok());
  for (const std::int64_t queries : {2, 40}) {
    Case call = held_tokens(*cache).dense_call(4, queries, 1216);
    call.scalars.causal = Causal::upper_left;
    call.returns = everything();
    Case ring = call;
    ring.query_offset = {static_cast<std::int32_t>(901 - queries)};
    ring.scalars.window_left = 200;
    call.query_offset = {static_cast<std::int32_t>(338 - queries)};
    call.scalars.window_left = 200;
    ring.shape.key_length = call.shape.key_length;
    Results results(ring.shape, ring.returns, ring.dtype);
    ASSERT_TRUE(cache->attend(pool_of(2), ring.shape, ring.inputs(), ring.options(), results.view()).ok());
    EXPECT_EQ(results.bits(), compute(call).bits()) << queries << " queries, in a window";

    // With ALiBi the kept tokens are farther away than their rows.
    ring.scalars.window_left = call.scalars.window_left = -1;
    ring.scalars.causal = call.scalars.causal = Causal::none;
    ring.alibi_slopes = {0.0625f, 0.03125f, 0.0f, -0.015625f};
    call.bias = cases::Array(Dtype::float32, 4 * queries * 338);
    call.bias_extents = {{1, 4, queries, 338}};
    for (std::int64_t h = 0; h < 4; ++h)
      for (std::int64_t i = 0; i < queries; ++i)
        for (std::int64_t j = 0; j < 338; ++j) {
          const std::int64_t position = j < 5 ? j : j + 901 - 338;
          call.bias->set((h * queries + i) * 338 + j,
                         -ring.alibi_slopes[h] * static_cast<float>(std::abs(i + 901 - queries - position)));
        }
    ASSERT_TRUE(cache->attend(pool_of(1), ring.shape, ring.inputs(), ring.options(), results.view()).ok());
    EXPECT_EQ(results.bits(), compute(call).bits()) << queries << " queries, with ALiBi";
  }
}

/// Positions, [B, length].
std::vector<std::int32_t> positions_of(std::int64_t batch_size, std::int64_t length, std::int64_t spread) {
  std::vector<std::int32_t> positions;
  for (std::int64_t n = 0; n < batch_size * length; ++n)
    positions.push_back(static_cast<std::int32_t>((n * 7919 + 5) % spread - spread / 2));
  return positions;
}

TEST(AlibiPositions, TheIndicesChangeNoBit) {
  for (const std::int64_t queries : {1, 9, 70}) {
    Case call = random_case({2, 4, 2, queries, 150, 16, 8}, 1301);
    call.alibi_slopes = {0.5f, 0.25f, 0.125f, -0.125f};
    call.scalars.causal = Causal::lower_right;
    call.returns = everything();
    Case given = call;
    for (std::int32_t b = 0; b < 2; ++b) {
      for (std::int32_t i = 0; i < queries; ++i)
        given.alibi_query_positions.push_back(150 - static_cast<std::int32_t>(queries) + i);
      for (std::int32_t j = 0; j < 150; ++j) given.alibi_key_positions.push_back(j);
    }
    EXPECT_EQ(compute(given).bits(), compute(call).bits()) << queries << " queries";
  }
}

TEST(AlibiPositions, AreThoseOfTheFormula) {
  for (const std::int64_t spread : {40, 1000000})
    for (const std::int64_t queries : {1, 9, 70}) {
      Case call = random_case({2, 4, 2, queries, 150, 16, 8}, 1302);
      const float steep = spread == 40 ? 0.1f : 1e-6f;
      call.alibi_slopes = {steep, -steep, 2 * steep, 0};
      call.alibi_query_positions = positions_of(2, queries, spread);
      call.alibi_key_positions = positions_of(2, 150, spread - 3);
      call.scalars.causal = Causal::lower_right;
      call.returns = everything();
      expect_near_reference(call, compute(call, 2));
    }
}

TEST(AlibiPositions, OfARaggedBatchAreThoseOfThePackedRows) {
  Case call = random_case({1, 2, 1, 12, 20, 8, 8}, 1303);
  call.alibi_slopes = {0.25f, 0.5f};
  call.cu_seq_lens_query = {0, 5, 5, 12};
  call.cu_seq_lens_key = {0, 9, 11, 20};
  call.alibi_query_positions = positions_of(1, 12, 30);
  call.alibi_key_positions = positions_of(1, 20, 31);
  call.returns = everything();
  expect_near_reference(call, compute(call));
}

TEST(AlibiPositions, ComeInPairsAndWithSlopes) {
  const auto refused = [](const Case& call) {
    Results results(call.shape, call.returns, call.dtype);
    return attention(pool_of(1), call.shape, call.inputs(), call.options(), results.view()).code;
  };
  Case call = random_case({1, 1, 1, 2, 2, 4, 4}, 1304);
  call.alibi_query_positions = call.alibi_key_positions = {0, 1};
  EXPECT_EQ(refused(call), StatusCode::invalid_option);
  call.alibi_slopes = {1.0f};
  EXPECT_EQ(refused(call), StatusCode::ok);
  call.alibi_key_positions.clear();
  EXPECT_EQ(refused(call), StatusCode::invalid_option);
}

}  // namespace headwise::test_masks
