// Score formulas: what a range of positions can give, so that tiles are skipped.

#include <algorithm>

#include "attention/call_formulas.h"
#include "formula_builder.h"
#include "harness.h"

namespace headwise::test_formula_ranges {

using Operation = FormulaOperation;
using Variable = FormulaVariable;

/// A formula as a call reads it. The formula must outlive it.
struct ReadFormula {
  FormulaProgram program;
  TableRanges tables;

  explicit ReadFormula(const Formula& formula) {
    program.compile(formula);
    EXPECT_TRUE(tables.read(program).ok());
  }
};

/// The second sequence of a call.
Sequence long_sequence(std::int64_t queries, std::int64_t keys) {
  Sequence sequence;
  sequence.number = 1;
  sequence.head_dim = 8;
  sequence.num_queries = sequence.query_length = queries;
  sequence.num_keys = sequence.key_length = keys;
  return sequence;
}

TEST(FormulaRanges, NeverDenyWhatAPairGives) {
  std::int64_t none = 0, all = 0, mixed = 0;
  for (std::uint32_t seed = 0; seed < some_of(6000); ++seed) {
    FormulaBuilder builder;
    build_random_formula(builder, 2 * seed + 1, true);
    const Formula formula = builder.formula();
    const ReadFormula read(formula);
    const KernelTable& kernels = kernel_table();
    const auto die = [&](std::uint32_t n, std::uint32_t below) { return cases::word(seed, 3, n) % below; };
    const std::int64_t width = 1 + die(1, 24), boxes = 1 + die(2, 8), rows = 1 + die(3, 16), heads = 1 + die(4, 3);
    const std::int64_t begin = die(5, 200), end = begin + width * boxes - die(6, static_cast<std::uint32_t>(width));
    const FormulaRoom room{rows, heads, 256};
    std::vector<char> memory(bytes_of<FormulaTile>(read.program, kernels, room));
    std::vector<char> range_memory(bytes_of<FormulaRanges>(read.program, read.tables, kernels, 64));
    Sequence sequence = long_sequence(300, 400);
    sequence.offset = static_cast<std::int64_t>(die(7, 300)) - 100;
    if (die(8, 4) == 0) sequence.positions = {begin + width / 2, 100};
    const std::int64_t first_row = die(9, 100);
    const Rows these{&sequence, 1, 2, heads, first_row, first_row + rows};
    auto tile = placed_in<FormulaTile>(memory.data(), read.program, kernels, room);
    tile.set_rows(these);
    auto ranges = placed_in<FormulaRanges>(range_memory.data(), read.program, read.tables, kernels, 64);
    const std::int64_t first = die(10, static_cast<std::uint32_t>(rows));
    const BoxBits bits = ranges.ask({these, first, rows, begin, end, width});
    for (std::int64_t box = 0; box < boxes && begin + box * width < end; ++box) {
      const std::int64_t from = begin + box * width, to = std::min(from + width, end);
      const bool some = bits.some >> box & 1, every = bits.every >> box & 1;
      (every ? all : some ? mixed : none) += 1;
      for (std::int64_t r = first; r < rows; ++r) {
        std::vector<std::uint8_t> visible(to - from, 1);
        tile.hide(r, from, to, visible.data());
        for (const std::uint8_t v : visible)
          ASSERT_TRUE(v ? some : !every) << "seed " << seed << " box " << box << " row " << r;
      }
    }
  }
  EXPECT_GT(none, some_of(1000));
  EXPECT_GT(all, some_of(1000));
  EXPECT_GT(mixed, some_of(1000));
}

/// The usual rules of `visible` that are no bounds. `build` returns the rule's instruction.
struct UsualRule {
  const char* name;
  std::int32_t (*build)(FormulaBuilder& f);
};

std::int32_t of(FormulaBuilder& f, Operation operation, std::int32_t a, float b) {
  return f.add(operation, a, f.number(b));
}

std::int32_t is_causal(FormulaBuilder& f) {
  return f.add(Operation::less_or_equal, f.variable(Variable::k), f.variable(Variable::q));
}

std::int32_t same_document(FormulaBuilder& f) {
  std::vector<float> documents(512);
  for (std::size_t n = 0; n < documents.size(); ++n) documents[n] = static_cast<float>(n / 37);
  const std::int32_t query = f.table(documents, f.variable(Variable::q));
  return f.add(Operation::equal, query, f.table(documents, f.variable(Variable::k)));
}

/// Whether row and column of a patch in an image of 64 columns differ by at most 1.
std::int32_t are_neighbours(FormulaBuilder& f) {
  const std::int32_t q = f.variable(Variable::q), k = f.variable(Variable::k);
  const auto near = [&](std::int32_t a, std::int32_t b) {
    return of(f, Operation::less_or_equal, f.add(Operation::abs, f.add(Operation::subtract, a, b)), 1.0f);
  };
  const auto row = [&](std::int32_t n) { return f.add(Operation::floor, of(f, Operation::divide, n, 64.0f)); };
  const std::int32_t rows = near(row(q), row(k));
  const std::int32_t q_column = of(f, Operation::remainder, q, 64.0f), k_column = of(f, Operation::remainder, k, 64.0f);
  return f.add(Operation::logical_and, rows, near(q_column, k_column));
}

constexpr UsualRule kUsualRules[] = {
    {"causal", is_causal},
    {"documents", same_document},
    {"causal documents",
     [](FormulaBuilder& f) {
       const std::int32_t same = same_document(f);
       return f.add(Operation::logical_and, same, is_causal(f));
     }},
    {"prefix",
     [](FormulaBuilder& f) {
       const std::int32_t prefix = f.table({70.0f, 90.0f}, f.variable(Variable::b));
       const std::int32_t in_prefix = f.add(Operation::less, f.variable(Variable::k), prefix);
       return f.add(Operation::logical_or, in_prefix, is_causal(f));
     }},
    {"window with first tokens",
     [](FormulaBuilder& f) {
       const std::int32_t far = f.add(Operation::subtract, f.variable(Variable::q), f.variable(Variable::k));
       const std::int32_t in_window = of(f, Operation::less, far, 20.0f);
       const std::int32_t first = of(f, Operation::less, f.variable(Variable::k), 4.0f);
       const std::int32_t either = f.add(Operation::logical_or, in_window, first);
       return f.add(Operation::logical_and, either, is_causal(f));
     }},
    {"neighbours", are_neighbours},
};

TEST(FormulaRanges, SkipAllBoxesOfUsualRulesThatNobodySees) {
  constexpr std::int64_t kRows = 16, kWidth = 16, kLength = 512;
  for (const UsualRule& rule : kUsualRules) {
    FormulaBuilder builder;
    rule.build(builder);
    const Formula formula = builder.formula();
    const ReadFormula read(formula);
    const KernelTable& kernels = kernel_table();
    const FormulaRoom room{kRows, 1, kWidth};
    std::vector<char> memory(bytes_of<FormulaTile>(read.program, kernels, room));
    std::vector<char> range_memory(bytes_of<FormulaRanges>(read.program, read.tables, kernels, 64));
    auto tile = placed_in<FormulaTile>(memory.data(), read.program, kernels, room);
    auto ranges = placed_in<FormulaRanges>(range_memory.data(), read.program, read.tables, kernels, 64);
    const Sequence sequence = long_sequence(kLength, kLength);
    std::int64_t unseen = 0, skipped = 0, seen_by_all = 0, free = 0;
    for (std::int64_t row = 0; row < kLength; row += kRows) {
      const Rows rows{&sequence, 0, 0, 1, row, row + kRows};
      tile.set_rows(rows);
      const BoxBits bits = ranges.ask({rows, 0, kRows, 0, kLength, kWidth});
      for (std::int64_t box = 0; box < kLength / kWidth; ++box) {
        std::int64_t visible = 0;
        for (std::int64_t r = 0; r < kRows; ++r) {
          std::vector<std::uint8_t> keys(kWidth, 1);
          tile.hide(r, box * kWidth, (box + 1) * kWidth, keys.data());
          visible += std::count(keys.begin(), keys.end(), 1);
        }
        unseen += visible == 0;
        skipped += (bits.some >> box & 1) == 0;
        seen_by_all += visible == kRows * kWidth;
        free += bits.every >> box & 1;
      }
    }
    EXPECT_GT(unseen, 300) << rule.name;
    EXPECT_EQ(skipped, unseen) << rule.name;
    EXPECT_EQ(free, seen_by_all) << rule.name;
  }
}

TEST(TableRanges, OfATableAfterOneOfASingleElementAreItsOwn) {
  FormulaBuilder f;
  const std::int32_t k = f.variable(Variable::k);
  const std::int32_t one = f.table({9.0f}, k), many = f.table(std::vector<float>(100, 5.0f), k);
  const std::int32_t again = f.table(std::vector<float>(1000, 7.0f), k);
  f.add(Operation::add, f.add(Operation::add, one, many), again);
  const Formula formula = f.formula();
  const ReadFormula read(formula);
  const auto expect = [&](ValueRange range, float value) {
    EXPECT_EQ(range.low, value);
    EXPECT_EQ(range.high, value);
    EXPECT_FALSE(range.nan);
  };
  expect(read.tables.of(one, 0, 1), 9.0f);
  expect(read.tables.of(many, 3, 90), 5.0f);
  expect(read.tables.of(again, 0, 1000), 7.0f);
}

}  // namespace headwise::test_formula_ranges
