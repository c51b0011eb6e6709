// Score formulas: programs in calls of every kind, and that hidden pairs touch nothing.

#include <cmath>
#include <limits>

#include "base/memory.h"
#include "expectations.h"
#include "formula_builder.h"
#include "formula_cases.h"
#include "harness.h"
#include "kv_tokens.h"
#include "layer_model.h"
#include "reference/formula.h"

namespace headwise::test_formula_calls {

using cases::Case;
using cases::Results;
using formulas::dense_call;
using formulas::distance;
using formulas::random_formula_case;
using Operation = FormulaOperation;
using Variable = FormulaVariable;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(FormulaPrograms, GiveWhatTheDoubleReferenceGives) {
  for (std::uint32_t seed = 0; seed < some_of(3000); ++seed) {
    SCOPED_TRACE(seed);
    FormulaBuilder score, visible;
    build_random_formula(score, 2 * seed, false);
    build_random_formula(visible, 2 * seed + 1, true);
    const Formula score_formula = score.formula(), visible_formula = visible.formula();
    Case call = random_formula_case(seed);
    if (seed % 3 != 0) call.scalars.score = &score_formula;
    if (seed % 3 != 1) call.scalars.visible = &visible_formula;
    const std::vector<const KernelTable*> tables = kernel_tables();
    const UsingKernels kernels(*tables[seed % tables.size()]);
    expect_near_reference(call, compute(call));
    if (testing::Test::HasFailure()) return;
  }
}

/// Rows of which the reference knows the result.
TEST(FormulaPrograms, OfTheTestsAreMostlyKnownToTheReference) {
  std::int64_t known = 0, rows = 0, interesting = 0;
  for (std::uint32_t seed = 0; seed < some_of(300); ++seed) {
    FormulaBuilder score;
    build_random_formula(score, 2 * seed, false);
    const Formula formula = score.formula();
    Case call = random_formula_case(seed);
    call.scalars.score = &formula;
    for (const reference::Head& head : reference::attention(call.shape, call.inputs(), call.options()))
      for (std::int64_t i = 0; i < call.shape.query_length; ++i) {
        bool unknown = false;
        std::int64_t finite = 0;
        for (std::int64_t j = 0; j < call.shape.key_length; ++j) {
          if (!head.visible(i, j)) continue;
          unknown |= std::isinf(head.rescored(i, j, 1e-6).error);
          finite += std::isfinite(head.formula(i, j));
        }
        ++rows;
        known += !unknown;
        interesting += !unknown && finite > 1;
      }
  }
  EXPECT_GT(static_cast<double>(known) / rows, 0.7);
  EXPECT_GT(static_cast<double>(interesting) / rows, 0.4);
}

/// Where the formula is all that hides, hiding the same pairs by a mask gives the same bits. So what is skipped, and
/// who shares a tile, changes nothing.
TEST(FormulaPrograms, OfVisibleHaveTheBitsOfTheMaskThatTheyDescribe) {
  for (std::uint32_t seed = 0; seed < some_of(200); ++seed) {
    SCOPED_TRACE(seed);
    FormulaBuilder visible;
    build_random_formula(visible, 2 * seed + 1, true);
    const Formula formula = visible.formula();
    Case call = random_case(
        seed % 4 == 0 ? AttentionShape{1, 2, 1, 70, 600, 4, 4} : AttentionShape{1, 2, 2, 40, 300, 4, 4}, seed);
    call.returns = everything(ScoreStage::formula);
    call.returns.entropy = false;  // its sum begins at the first key that a mask shows
    call.scalars.visible = &formula;
    const std::vector<reference::Head> heads = reference::attention(call.shape, call.inputs(), call.options());
    Case masked = call;
    masked.scalars.visible = nullptr;
    masked.has_mask = true;
    masked.mask_extents = {{1, call.shape.num_heads, call.shape.query_length, call.shape.key_length}};
    bool unsure = false;
    for (const reference::Head& head : heads)
      for (std::int64_t i = 0; i < call.shape.query_length; ++i) {
        unsure |= head.unsure[i];
        for (std::int64_t j = 0; j < call.shape.key_length; ++j) masked.mask.push_back(head.visible(i, j));
      }
    if (unsure) continue;
    for (const KernelTable* table : kernel_tables()) {
      const UsingKernels kernels(*table);
      ASSERT_EQ(compute(call).bits(), compute(masked).bits()) << table->name;
    }
  }
}

TEST(FormulaPrograms, GiveTheSameBitsForEveryNumberOfThreads) {
  for (std::uint32_t seed = 0; seed < some_of(24); ++seed) {
    FormulaBuilder score, visible;
    build_random_formula(score, 2 * seed, false);
    build_random_formula(visible, 2 * seed + 1, true);
    const Formula score_formula = score.formula(), visible_formula = visible.formula();
    Case call = random_case({2, 4, 2, 150, 330, 8, 8}, seed);
    call.scalars.score = &score_formula;
    if (seed % 2) call.scalars.visible = &visible_formula;
    call.returns = everything(ScoreStage::formula);
    const std::vector<std::uint8_t> bits = compute(call, 1).bits();
    for (const int threads : {2, 3, 4}) EXPECT_EQ(compute(call, threads).bits(), bits) << seed;
    ThreadPool eight(8);
    Results results(call.shape, call.returns, call.dtype);
    ASSERT_TRUE(attention(eight, call.shape, call.inputs(), call.options(), results.view()).ok());
    EXPECT_EQ(results.bits(), bits) << seed;
  }
}

/// score: -inf for odd keys from the third on, else s / 2 - |q - k| / 8 + t[h][k % 5]; visible: k <= q + 3 and (q + k)
/// % 7.
struct Formulas {
  FormulaBuilder score, visible;
  Formula score_formula, visible_formula;
  Formulas() {
    FormulaBuilder& f = score;
    const std::int32_t s = f.add(Operation::divide, f.variable(Variable::s), f.number(2.0f));
    const std::int32_t k = f.variable(Variable::k);
    const std::int32_t far = f.add(Operation::multiply, f.add(Operation::abs, distance(f)), f.number(0.125f));
    std::vector<float> values;
    for (int n = 0; n < 40; ++n) values.push_back(static_cast<float>(n % 11) / 8.0f);
    const std::int32_t extra =
        f.table(values, 8, f.variable(Variable::h), f.add(Operation::remainder, k, f.number(5.0f)));
    const std::int32_t sum = f.add(Operation::add, f.add(Operation::subtract, s, far), extra);
    const std::int32_t odd = f.add(Operation::remainder, k, f.number(2.0f));
    const std::int32_t hidden = f.add(Operation::logical_and, odd, f.add(Operation::less, f.number(2.5f), k));
    f.add(Operation::select, hidden, f.number(-kInfinity), sum);
    score_formula = f.formula();
    FormulaBuilder& g = visible;
    const std::int32_t q = g.variable(Variable::q), key = g.variable(Variable::k);
    g.bound({0, 1, -1, g.add(Operation::add, q, g.number(3.0f)), 0});
    g.add(Operation::remainder, g.add(Operation::add, q, key), g.number(7.0f));
    visible_formula = g.formula();
  }
  void set(Case& call) const {
    call.scalars.score = &score_formula;
    call.scalars.visible = &visible_formula;
  }
};

TEST(FormulaCalls, OfFewRowsAndInSplitsMatchTheReference) {
  const Formulas formulas;
  for (const AttentionShape& shape : {AttentionShape{1, 4, 2, 1, 2000, 8, 8},
                                      {1, 8, 2, 3, 1300, 8, 8},
                                      {2, 4, 1, 12, 1100, 8, 4},
                                      {1, 2, 2, 30, 1500, 8, 8}}) {
    Case call = random_case(shape, 41);
    call.scalars.causal = Causal::lower_right;
    call.returns = everything(ScoreStage::formula);
    formulas.set(call);
    for (const KernelTable* table : kernel_tables()) {
      const UsingKernels kernels(*table);
      expect_near_reference(call, compute(call, 3));
    }
  }
}

TEST(FormulaCalls, OfRaggedBatchesCountFromTheBeginningOfTheSequence) {
  const Formulas formulas;
  Case call = random_case({1, 4, 2, 150, 170, 8, 8}, 42);
  call.cu_seq_lens_query = {0, 7, 7, 60, 150};
  call.cu_seq_lens_key = {0, 9, 40, 90, 170};
  call.returns = everything(ScoreStage::formula);
  formulas.set(call);
  expect_near_reference(call, compute(call, 2));
  FormulaBuilder f;  // b is the number of the sequence, Sq and Skv are its lengths
  const std::int32_t b = f.variable(Variable::b), sq = f.variable(Variable::sq), skv = f.variable(Variable::skv);
  f.add(Operation::multiply, f.add(Operation::add, f.variable(Variable::s), b), f.add(Operation::divide, sq, skv));
  const Formula formula = f.formula();
  call.scalars.score = &formula;
  expect_near_reference(call, compute(call, 2));
}

TEST(FormulaCalls, OnRingsReadPositionsAsAppended) {
  const Formulas formulas;
  KvCacheShape ring;
  ring.batch_size = 2, ring.num_kv_heads = 2, ring.head_dim = 8, ring.value_dim = 8;
  ring.keep_first = 3, ring.window = 300;
  const Tokens tokens(ring, 700, 16);
  const auto cache = make_cache(ring);
  ASSERT_TRUE(tokens.append(*cache, 0, 700).ok());
  for (const std::int64_t queries : {1, 5, 40}) {
    Case call = tokens.dense_call(4, queries, 17);
    call.shape.key_length = cache->length(0);
    call.returns = everything(ScoreStage::formula);
    formulas.set(call);
    AttentionInputs inputs = call.inputs();
    inputs.cache = cache.get();
    Results results(call.shape, call.returns, Dtype::float32);
    const Status status = cache->attend(pool_of(2), call.shape, inputs, call.options(), results.view());
    ASSERT_TRUE(status.ok()) << status.message().text;
    expect_near_reference(call.shape, call.options(), call.returns,
                          reference::attention(call.shape, inputs, call.options()), results);
  }
}

TEST(FormulaCalls, RowsThatAScoreEmptiesFollowThePolicy) {
  FormulaBuilder f;  // rows 3, 4, 5 see nothing
  const std::int32_t i = f.variable(Variable::i);
  const std::int32_t hidden = f.add(Operation::logical_and, f.add(Operation::less, f.number(2.0f), i),
                                    f.add(Operation::less, i, f.number(6.0f)));
  f.add(Operation::select, hidden, f.number(-kInfinity), f.variable(Variable::s));
  const Formula formula = f.formula();
  for (const EmptyRows policy : {EmptyRows::zero, EmptyRows::nan, EmptyRows::uniform})
    for (const std::int64_t rows : {8, 40}) {
      Case call = random_case({1, 2, 2, rows, 60, 8, 8}, 43);
      call.scalars.empty_rows = policy;
      call.scalars.score = &formula;
      call.returns = everything(ScoreStage::formula);
      expect_near_reference(call, compute(call));
    }
}

TEST(FormulaCalls, ThatFailOnEmptyRowsAskTheVisibleFormula) {
  FormulaBuilder f;  // row 4 sees nothing
  f.add(Operation::not_equal, f.variable(Variable::i),
        f.add(Operation::add, f.number(4.0f), f.add(Operation::multiply, f.variable(Variable::k), f.number(0.0f))));
  const Formula formula = f.formula();
  Case call = random_case({1, 2, 2, 8, 200, 8, 8}, 44);
  call.scalars.empty_rows = EmptyRows::fail;
  call.scalars.visible = &formula;
  EmptyRowReport report;
  call.scalars.empty_row_report = &report;
  Results results(call.shape, call.returns, Dtype::float32);
  const Status status = attention(pool_of(1), call.shape, call.inputs(), call.options(), results.view());
  EXPECT_EQ(status.code, StatusCode::empty_row);
  ASSERT_EQ(report.count, 2);
  EXPECT_EQ(report.rows[0].query, 4);
}

TEST(FormulaCalls, OfLayersEqualTheOptionsAlsoOnACache) {
  FormulaBuilder alibi, causal;
  const std::int32_t s = alibi.variable(Variable::s);
  alibi.add(Operation::subtract, s,
            alibi.add(Operation::multiply, alibi.number(0.25f), alibi.add(Operation::abs, distance(alibi))));
  causal.bound({0, 1, -1, causal.variable(Variable::q), 0});
  const Formula score = alibi.formula(), visible = causal.formula(-1);
  const std::vector<float> slopes(4, 0.25f);
  const layers::Model model = layers::model(32, 4, 8, 32);
  const auto layer = layers::build(model);
  for (const bool cached : {false, true}) {
    const auto run = [&](bool formulas) {
      const auto cache = cached ? layers::cache_for(model, 2, 40) : nullptr;
      layers::Floats all;
      for (const std::int64_t length : {30, 1, 5, 20}) {
        layers::Call call = layers::self_call(model, 2, length, static_cast<unsigned>(length));
        call.cache = cache.get();
        if (formulas) {
          call.attention.score = &score;
          call.attention.visible = &visible;
        } else {
          call.attention.alibi_slopes = slopes.data();
          call.attention.causal = cached ? Causal::lower_right : Causal::upper_left;
        }
        const layers::Floats y = layers::output_of(*layer, call, 2);
        all.insert(all.end(), y.begin(), y.end());
      }
      return all;
    };
    EXPECT_EQ(run(true), run(false));
  }
}

TEST(FormulaCalls, OutOfMemoryIsAStatusAtEveryAllocation) {
  const Formulas formulas;
  Case call = random_case({2, 4, 2, 30, 90, 8, 8}, 51);
  formulas.set(call);
  call.returns = everything(ScoreStage::formula);
  const std::vector<std::uint8_t> good = compute(call, 2).bits();
  static int left;
  for (int granted = 0;; ++granted) {
    left = granted;
    Results results(call.shape, call.returns, call.dtype);
    const std::vector<std::uint8_t> before = results.bits();
    set_allocation_gate([](std::size_t) { return left-- > 0; });
    const Status status = attention(pool_of(2), call.shape, call.inputs(), call.options(), results.view());
    set_allocation_gate(nullptr);
    if (status.ok()) {
      EXPECT_EQ(results.bits(), good);
      EXPECT_GE(granted, 6);
      return;
    }
    EXPECT_EQ(status.code, StatusCode::out_of_memory) << status.message().text;
    EXPECT_EQ(results.bits(), before);
  }
}

/// Poison in keys, values and the formula itself, where pairs are hidden by `visible` or by a score of -inf.
TEST(FormulaIsolation, PoisonInHiddenPairsChangesNoBit) {
  for (const bool by_score : {false, true}) {
    for (const AttentionShape& shape :
         {AttentionShape{1, 2, 2, 40, 90, 8, 8}, {1, 2, 2, 5, 90, 8, 8}, {1, 2, 1, 40, 600, 8, 8}}) {
      const auto call_with = [&](float poison, FormulaBuilder& f, Formula& formula) {
        // Row i sees every third key, and key i.
        const std::int32_t i = f.variable(Variable::i), j = f.variable(Variable::j);
        const std::int32_t third = f.add(Operation::remainder, j, f.number(3.0f));
        const std::int32_t hidden = f.add(Operation::logical_and, third, f.add(Operation::not_equal, i, j));
        if (by_score) {
          f.add(Operation::select, hidden, f.number(-kInfinity), f.variable(Variable::s));
        } else {
          f.add(Operation::logical_not, hidden);
        }
        formula = f.formula();
        Case call = random_case(shape, 45);
        (by_score ? call.scalars.score : call.scalars.visible) = &formula;
        call.returns = everything(ScoreStage::formula);
        for (std::int64_t key = 41; key < shape.key_length; ++key)  // no row has these as its own
          if (key % 3 != 0)
            for (std::int64_t g = 0; g < shape.num_kv_heads; ++g)
              for (std::int64_t d = 0; d < 8 && poison != 0.0f; ++d) {
                call.key.set((g * shape.key_length + key) * 8 + d, poison);
                call.value.set((g * shape.key_length + key) * 8 + d, poison);
              }
        return call;
      };
      FormulaBuilder clean_builder;
      Formula clean_formula;
      const Results clean = compute(call_with(0.0f, clean_builder, clean_formula));
      for (const float poison : {kNan, kInfinity, -kInfinity}) {
        FormulaBuilder builder;
        Formula formula;
        EXPECT_EQ(compute(call_with(poison, builder, formula)).bits(), clean.bits()) << poison;
      }
    }
  }
}

TEST(FormulaIsolation, NaNOfTheScoreFormulaInHiddenPairsChangesNoBit) {
  Case call = random_case({1, 2, 2, 40, 300, 8, 8}, 46);
  call.scalars.causal = Causal::lower_right;
  call.returns = everything(ScoreStage::formula);
  FormulaBuilder plain, poisoned;
  plain.variable(Variable::s);
  const std::int32_t k = poisoned.variable(Variable::k), q = poisoned.variable(Variable::q);
  // s + 0 * sqrt(q - k) is NaN after the diagonal
  poisoned.add(Operation::add, poisoned.variable(Variable::s),
               poisoned.add(Operation::multiply, poisoned.number(0.0f),
                            poisoned.add(Operation::sqrt, poisoned.add(Operation::subtract, q, k))));
  const Formula clean_formula = plain.formula(), poisoned_formula = poisoned.formula();
  call.scalars.score = &clean_formula;
  const Results clean = compute(call);
  call.scalars.score = &poisoned_formula;
  EXPECT_EQ(compute(call).bits(), clean.bits());
}

TEST(FormulaIsolation, AVisibleNaNPoisonsItsRowAlone) {
  Case call = random_case({1, 1, 1, 40, 60, 8, 8}, 47);
  FormulaBuilder f;  // NaN for row 5, key 7
  const std::int32_t here =
      f.add(Operation::logical_and, f.add(Operation::equal, f.variable(Variable::i), f.number(5.0f)),
            f.add(Operation::equal, f.variable(Variable::j), f.number(7.0f)));
  const std::int32_t zero = f.number(0.0f);
  f.add(Operation::select, here, f.add(Operation::divide, zero, zero), f.variable(Variable::s));
  const Formula formula = f.formula();
  const Results clean = compute(call);
  call.scalars.score = &formula;
  const Results results = compute(call);
  for (std::int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(std::isnan(results.lse[i]), i == 5);
    if (i == 5) continue;
    EXPECT_EQ(results.lse[i], clean.lse[i]);
  }
}

}  // namespace headwise::test_formula_calls
