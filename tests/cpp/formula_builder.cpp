#include "formula_builder.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace headwise {

namespace {

using Operation = FormulaOperation;
using Variable = FormulaVariable;

/// Draws the parts of one formula.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : seed_(seed) {}
  std::int32_t below(std::int32_t end) {
    return static_cast<std::int32_t>(cases::word(seed_, 7, count_++) % static_cast<std::uint32_t>(end));
  }
  bool one_in(std::int32_t n) { return below(n) == 0; }
  template <class List>
  auto one_of(const List& list) {
    return *(std::begin(list) + below(static_cast<std::int32_t>(std::size(list))));
  }

 private:
  std::uint32_t seed_, count_ = 0;
};

float random_number(Dice& dice) {
  constexpr float kSpecial[] = {0.0f, 1.0f, -1.0f, 0.5f, 2.0f, 3.0f, 16.0f, std::numeric_limits<float>::infinity()};
  if (dice.one_in(2)) return dice.one_of(kSpecial);
  return static_cast<float>(dice.below(4001) - 2000) / (dice.one_in(2) ? 64.0f : 1.0f);
}

std::vector<float> random_values(Dice& dice, std::int32_t count) {
  const bool whole = !dice.one_in(3), rare = dice.one_in(6);
  std::vector<float> values;
  for (std::int32_t n = 0; n < count; ++n) {
    if (rare && dice.one_in(9))
      values.push_back(dice.one_in(2) ? std::numeric_limits<float>::quiet_NaN()
                                      : -std::numeric_limits<float>::infinity());
    else
      values.push_back(whole ? static_cast<float>(n / 8 + dice.below(2)) : random_number(dice) / 16.0f);
  }
  return values;
}

}  // namespace

void build_random_formula(FormulaBuilder& builder, std::uint32_t seed, bool visible) {
  constexpr Variable kVariables[] = {Variable::q, Variable::k, Variable::i, Variable::j,  Variable::h,
                                     Variable::g, Variable::b, Variable::d, Variable::sq, Variable::skv};
  constexpr Operation kCommon[] = {Operation::add,  Operation::subtract, Operation::multiply,
                                   Operation::less, Operation::select,   Operation::less_or_equal};
  Dice dice(seed);
  const auto leaf = [&] {
    if (!visible && dice.one_in(3)) return builder.variable(Variable::s);
    if (dice.one_in(3)) return builder.number(random_number(dice));
    if (dice.one_in(2)) return builder.variable(dice.one_in(2) ? Variable::q : Variable::k);
    return builder.variable(dice.one_of(kVariables));
  };
  const std::int32_t leaves = 2 + dice.below(4), operations = 1 + dice.below(14);
  if (!visible) builder.variable(Variable::s);
  const std::int32_t q = builder.variable(Variable::q), k = builder.variable(Variable::k);
  for (std::int32_t n = 0; n < leaves; ++n) leaf();
  if (dice.one_in(2)) builder.add(Operation::subtract, dice.one_in(2) ? q : k, dice.one_in(2) ? q : k);
  for (std::int32_t n = 0; n < operations; ++n) {
    // Mostly what came last, so that the formula is deep.
    const auto any = [&] {
      const std::int32_t size = builder.size();
      return dice.one_in(2) ? size - 1 - dice.below(std::min(size, 3)) : dice.below(size);
    };
    if (dice.one_in(8)) {
      builder.table(random_values(dice, dice.one_in(9) ? 0 : 1 + dice.below(120)), any());
      continue;
    }
    if (dice.one_in(10)) {
      const std::int32_t rows = 1 + dice.below(20);
      const std::vector<float> values = random_values(dice, rows * (1 + dice.below(30)));
      const std::int32_t row = any();
      builder.table(values, rows, row, any());
      continue;
    }
    const Operation operation = dice.one_in(2)
                                    ? dice.one_of(kCommon)
                                    : static_cast<Operation>(static_cast<int>(Operation::negate) +
                                                             dice.below(static_cast<int>(Operation::select) -
                                                                        static_cast<int>(Operation::negate) + 1));
    const std::int32_t a = any(), b = any();
    builder.add(operation, a, b, any());
  }
  // Scores that a row can bear: without this most rows would be NaN or have one key.
  const std::int32_t last = builder.size() - 1;
  if (!visible && !dice.one_in(6)) {
    const std::int32_t low = builder.add(Operation::maximum, last, builder.number(-20.0f));
    const std::int32_t limited = builder.add(Operation::minimum, low, builder.number(20.0f));
    if (dice.one_in(4)) {
      const std::int32_t hidden = builder.number(-std::numeric_limits<float>::infinity());
      const std::int32_t even = builder.add(Operation::remainder, k, builder.number(2.0f));
      builder.add(Operation::select, even, limited, hidden);
    }
  }
}

}  // namespace headwise
