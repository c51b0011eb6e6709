// Score formulas: those that say what an option says have its bits.

#include <limits>

#include "expectations.h"
#include "formula_builder.h"
#include "formula_cases.h"
#include "harness.h"

namespace headwise::test_formula_rules {

using cases::Case;
using formulas::dense_call;
using formulas::distance;
using formulas::random_formula_case;
using Operation = FormulaOperation;
using Variable = FormulaVariable;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(FormulaRules, AlibiHasTheBitsOfTheOption) {
  Case option = dense_call(1), formula = dense_call(1);
  option.alibi_slopes = {0.5f, 0.25f, 0.1f, 0.0625f};
  FormulaBuilder f;
  const std::int32_t s = f.variable(Variable::s);
  const std::int32_t slope = f.table(option.alibi_slopes, f.variable(Variable::h));
  f.add(Operation::subtract, s, f.add(Operation::multiply, slope, f.add(Operation::abs, distance(f))));
  const Formula alibi = f.formula();
  formula.scalars.score = &alibi;
  EXPECT_EQ(compute(formula).bits(), compute(option).bits());
}

TEST(FormulaRules, SoftcapHasTheBitsOfTheOption) {
  Case option = dense_call(2), formula = dense_call(2);
  option.scalars.softcap = 1.5f;
  FormulaBuilder f;
  const std::int32_t cap = f.number(1.5f);
  f.add(Operation::multiply, cap, f.add(Operation::tanh, f.add(Operation::divide, f.variable(Variable::s), cap)));
  const Formula softcap = f.formula();
  formula.scalars.score = &softcap;
  EXPECT_EQ(compute(formula).bits(), compute(option).bits());
}

TEST(FormulaRules, CausalAndWindowAsBoundsHaveTheBitsOfTheOptions) {
  for (const bool scaled : {false, true}) {  // 3 k <= 3 q + 0.5 says the same
    Case option = dense_call(3), formula = dense_call(3);
    option.scalars.causal = Causal::upper_left;
    option.scalars.window_left = 20;
    FormulaBuilder f;
    const std::int32_t q = f.variable(Variable::q);
    const std::int32_t factor = f.number(scaled ? 3.0f : 1.0f);
    const std::int32_t limit =
        f.add(Operation::add, f.add(Operation::multiply, q, factor), f.number(scaled ? 0.5f : 0.0f));
    f.bound({0, scaled ? 3 : 1, -1, limit, 0});
    // q - k < 21
    f.bound({0, -1, q, f.number(21.0f), 1});
    const Formula window = f.formula(-1);
    formula.scalars.visible = &window;
    EXPECT_EQ(compute(formula).bits(), compute(option).bits());
  }
}

TEST(FormulaRules, BoundsMatchTheReferenceForEveryKindOfLimit) {
  for (std::uint32_t seed = 0; seed < some_of(600); ++seed) {
    SCOPED_TRACE(seed);
    const auto die = [&](std::uint32_t n, std::uint32_t below) { return cases::word(seed, 5, n) % below; };
    FormulaBuilder f;
    const float limits[] = {kNan, kInfinity, -kInfinity, 1e30f, -1e30f, 2.5f, -3.25f, 17.0f, 0.0f, 40.75f};
    const std::int32_t q = f.variable(Variable::q), i = f.variable(Variable::i), h = f.variable(Variable::h);
    const std::int32_t limit =
        die(0, 2) ? f.number(limits[die(1, 10)]) : f.add(Operation::multiply, q, f.number(die(2, 2) ? 1.5f : -0.25f));
    const std::int32_t integers[] = {-1, q, i, h, f.add(Operation::negate, q), f.number(12.0f)};
    for (std::uint32_t n = 0; n < 1 + die(3, 2); ++n)
      f.bound({static_cast<std::int32_t>(die(4 + 5 * n, 2)), static_cast<std::int32_t>(die(5 + 5 * n, 7)) * 2 - 7,
               integers[die(6 + 5 * n, 6)], die(7 + 5 * n, 4) ? limit : -1,
               static_cast<std::int32_t>(die(8 + 5 * n, 2))});
    const Formula formula = f.formula(-1);
    Case call = random_formula_case(seed);
    call.scalars.visible = &formula;
    expect_near_reference(call, compute(call));
  }
}

TEST(FormulaRules, ABoundOfHugeNumbersHidesTheSameKeysAsItsDifference) {
  // -2 j + n < n, and 3 j + n <= n: keys from 1 on, and key 0.
  for (const float n : {16777216.0f, -0x1p60f, 0x1p61f, -3.389e38f})
    for (const bool strict : {false, true}) {
      SCOPED_TRACE(n);
      Case call = random_case({1, 2, 1, 6, 9, 3, 2}, 3), masked = call;
      FormulaBuilder f;
      const std::int32_t huge = f.number(n);
      f.bound({1, strict ? -2 : 3, huge, huge, strict});
      const Formula visible = f.formula(-1);
      call.scalars.visible = &visible;
      masked.has_mask = true;
      masked.mask_extents = {{1, 1, 1, masked.shape.key_length}};
      masked.mask.assign(static_cast<std::size_t>(masked.shape.key_length), strict);
      masked.mask[0] = !strict;
      EXPECT_EQ(compute(call).bits(), compute(masked).bits());
      expect_near_reference(call, compute(call));
    }
}

TEST(FormulaRules, TheIntegerOfABoundIsRoundedDown) {
  Case fraction = random_case({1, 2, 1, 6, 9, 3, 2}, 3), whole = fraction;
  FormulaBuilder f, g;
  f.bound({1, 2, f.number(0.875f), f.number(6.5f), 1});
  g.bound({1, 2, -1, g.number(6.0f), 0});
  const Formula rounded = f.formula(-1), expected = g.formula(-1);
  fraction.scalars.visible = &rounded, whole.scalars.visible = &expected;
  EXPECT_EQ(compute(fraction).bits(), compute(whole).bits());
  expect_near_reference(fraction, compute(fraction));
}

}  // namespace headwise::test_formula_rules
