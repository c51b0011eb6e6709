// Score formulas: each operation, programs over tiles, what is skipped, and what is refused.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "attention/call_formulas.h"
#include "base/memory.h"
#include "expectations.h"
#include "formula_builder.h"
#include "harness.h"
#include "kv_tokens.h"
#include "layer_model.h"
#include "reference/formula.h"

namespace headwise::test_formula {

using cases::Case;
using cases::Results;
using Operation = FormulaOperation;
using Variable = FormulaVariable;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

// ------------------------------------------------------------------------------------------------------- operations

std::vector<float> apply(const KernelTable& table, Operation operation, std::vector<float> a, std::vector<float> b = {},
                         std::vector<float> c = {}) {
  const std::size_t count = a.size(), padded = (count + 15) / 16 * 16;
  for (std::vector<float>* list : {&a, &b, &c}) list->resize(padded, 1.0f);
  std::vector<float> out(padded);
  table.formula_steps[static_cast<std::size_t>(operation)](
      {{a.data(), b.data(), c.data()}, {1, 1, 1}, nullptr, out.data()}, static_cast<std::int64_t>(padded));
  out.resize(count);
  return out;
}

bool same(float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); }

/// The size of an ulp of float32 at x.
double ulp(double x) {
  const double magnitude = std::max(std::abs(x), 0x1p-126);
  return std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

/// Numbers of all sizes and signs, and the special ones.
std::vector<float> many_numbers(std::uint32_t step) {
  std::vector<float> numbers = {0.0f,       -0.0f, 1.0f,      -1.0f,      kInfinity,
                                -kInfinity, kNan,  0x1p-149f, -0x1p-149f, std::numeric_limits<float>::max()};
  for (std::uint64_t bits = 1; bits < 0x7f800000u; bits += step) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  return numbers;
}

/// The largest error in ulp where the expected result is a finite float; elsewhere the results must be equal.
template <class Function>
double largest_error(const std::vector<float>& results, const std::vector<float>& a, Function expected) {
  double largest = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    const double exact = expected(n);
    if (std::isfinite(static_cast<float>(exact)) && std::isfinite(results[n]))
      largest = std::max(largest, std::abs(results[n] - exact) / ulp(exact));
    else if (!same(results[n], static_cast<float>(exact)))
      return ADD_FAILURE() << a[n] << " gives " << results[n] << ", not " << exact, kInfinity;
  }
  return largest;
}

TEST(FormulaFunctions, ErrNoMoreThanStated) {
  const std::vector<float> all = many_numbers(4999 * (10 / some_of(10)));
  std::vector<float> angles = {kNan, kInfinity, 0.0f};
  for (float x = 0x1p-20f; x <= 0x1p24f; x *= 1.00001f) angles.insert(angles.end(), {x, -x, std::round(x)});
  for (int n = 1; n < 100000; ++n) angles.push_back(static_cast<float>(n * 1.5707963267948966));
  const auto check = [&](const KernelTable& table, Operation operation, const std::vector<float>& numbers,
                         double (*exact)(double), double stated) {
    EXPECT_LE(
        largest_error(apply(table, operation, numbers), numbers, [&](std::size_t n) { return exact(numbers[n]); }),
        stated)
        << static_cast<int>(operation);
  };
  for (const KernelTable* table : kernel_tables()) {
    SCOPED_TRACE(table->name);
    check(
        *table, Operation::exp, all, [](double x) { return std::exp(x); }, 0.501);
    check(
        *table, Operation::log, all, [](double x) { return std::log(x); }, 0.501);
    check(
        *table, Operation::sqrt, all, [](double x) { return std::sqrt(x); }, 0.5);
    check(
        *table, Operation::tanh, all, [](double x) { return std::tanh(x); }, 4);
    check(
        *table, Operation::sin, angles, [](double x) { return std::sin(x); }, 0.501);
    check(
        *table, Operation::cos, angles, [](double x) { return std::cos(x); }, 0.501);
  }
}

TEST(FormulaFunctions, SinAndCosOfHugeNumbersStayWithinOne) {
  for (const float x : apply(kernel_table(), Operation::sin, many_numbers(99991)))
    EXPECT_TRUE(std::isnan(x) || std::abs(x) <= 1.0f);
}

double javascript_power(double a, double b) {
  return std::isnan(b) || (std::abs(a) == 1 && std::isinf(b)) ? std::numeric_limits<double>::quiet_NaN()
                                                              : std::pow(a, b);
}

TEST(FormulaFunctions, PowerIsThatOfJavaScript) {
  std::vector<float> a, b;
  for (const float x : many_numbers(29999991))
    for (const float y : {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, 3.0f, -3.0f, 0.5f, -2.5f, 0.001f, 7.0f, 100.0f, 16777215.0f,
                          16777216.0f, kInfinity, -kInfinity, kNan})
      a.push_back(x), b.push_back(y);
  for (int n = 0; n < 100000; ++n) {
    a.push_back(std::exp(static_cast<float>(cases::word(1, 1, n) >> 8) * 0x1p-20f - 8.0f));
    b.push_back(static_cast<float>(cases::word(1, 2, n) >> 8) * 0x1p-20f - 8.0f);
  }
  for (const KernelTable* table : kernel_tables())
    EXPECT_LE(largest_error(apply(*table, Operation::power, a, b), a,
                            [&](std::size_t n) { return javascript_power(a[n], b[n]); }),
              0.501);
}

TEST(FormulaFunctions, RemainderIsExactWhereTheQuotientIsBelow2To28) {
  std::vector<float> a, b;
  for (int n = 0; n < 200000; ++n) {
    const float whole = static_cast<float>(cases::word(2, 1, n) >> 8);
    a.push_back(n % 2 ? whole : -whole);
    b.push_back(n % 3 ? static_cast<float>(1 + (cases::word(2, 2, n) >> (8 + n % 24))) : 0.37f + 0.01f * n);
  }
  for (const auto& [x, y] : {std::pair{5.0f, 0.0f},
                             {5.0f, kInfinity},
                             {-5.0f, kInfinity},
                             {kInfinity, 3.0f},
                             {kNan, 3.0f},
                             {3.0f, kNan},
                             {5.0f, -3.0f},
                             {-5.0f, 3.0f},
                             {0.0f, 3.0f}})
    a.push_back(x), b.push_back(y);
  for (const KernelTable* table : kernel_tables()) {
    const std::vector<float> rests = apply(*table, Operation::remainder, a, b);
    for (std::size_t n = 0; n < a.size(); ++n)
      ASSERT_TRUE(same(rests[n], std::fmod(a[n], b[n]))) << a[n] << " % " << b[n] << " = " << rests[n];
  }
}

TEST(FormulaFunctions, QuotientsNeverCrossAWholeNumber) {
  std::vector<float> a, b;
  for (int n = 0; n < 300000; ++n) {
    b.push_back(static_cast<float>(1 + cases::word(3, 1, n) % 4000));
    a.push_back(static_cast<float>(n % 2 ? cases::word(3, 2, n) >> 8 : (cases::word(3, 2, n) >> 8) / 4000 * b[n]));
  }
  for (const KernelTable* table : kernel_tables()) {
    const std::vector<float> floors = apply(*table, Operation::floor, apply(*table, Operation::divide, a, b));
    for (std::size_t n = 0; n < a.size(); ++n)
      ASSERT_EQ(floors[n], std::floor(static_cast<double>(a[n]) / b[n])) << a[n] << " / " << b[n];
  }
}

TEST(FormulaFunctions, SimpleOperationsFollowJavaScript) {
  const std::vector<float> numbers = {0.0f, -0.0f, 1.0f, -1.5f, 2.5f, kInfinity, -kInfinity, kNan};
  std::vector<float> a, b;
  for (const float x : numbers)
    for (const float y : numbers) a.push_back(x), b.push_back(y);
  const std::vector<std::pair<Operation, float (*)(float, float)>> functions = {
      {Operation::negate, [](float x, float) { return -x; }},
      {Operation::abs, [](float x, float) { return std::abs(x); }},
      {Operation::floor, [](float x, float) { return std::floor(x); }},
      {Operation::sign, [](float x, float) { return x > 0   ? 1.0f
                                                    : x < 0 ? -1.0f
                                                            : x; }},
      {Operation::logical_not, [](float x, float) { return x == 0 ? 1.0f : 0.0f; }},
      {Operation::add, [](float x, float y) { return x + y; }},
      {Operation::subtract, [](float x, float y) { return x - y; }},
      {Operation::multiply, [](float x, float y) { return x * y; }},
      {Operation::divide, [](float x, float y) { return x / y; }},
      {Operation::minimum, [](float x, float y) { return x != x || y != y ? kNan : std::min(x, y); }},
      {Operation::maximum, [](float x, float y) { return x != x || y != y ? kNan : std::max(x, y); }},
      {Operation::less, [](float x, float y) { return x < y ? 1.0f : 0.0f; }},
      {Operation::less_or_equal, [](float x, float y) { return x <= y ? 1.0f : 0.0f; }},
      {Operation::equal, [](float x, float y) { return x == y ? 1.0f : 0.0f; }},
      {Operation::not_equal, [](float x, float y) { return x != y ? 1.0f : 0.0f; }},
      {Operation::logical_and, [](float x, float y) { return x != 0 && y != 0 ? 1.0f : 0.0f; }},
      {Operation::logical_or, [](float x, float y) { return x != 0 || y != 0 ? 1.0f : 0.0f; }},
      {Operation::select, [](float x, float y) { return x != 0 ? y : 3.0f; }}};
  const std::vector<float> c(a.size(), 3.0f);
  for (const KernelTable* table : kernel_tables())
    for (const auto& [operation, function] : functions) {
      const std::vector<float> results = apply(*table, operation, a, b, c);
      for (std::size_t n = 0; n < a.size(); ++n)
        EXPECT_TRUE(same(results[n], function(a[n], b[n])))
            << static_cast<int>(operation) << " of " << a[n] << ", " << b[n] << " is " << results[n];
    }
}

// ---------------------------------------------------------------------------------------------------------- programs

std::vector<AttentionShape> shapes_of_programs() {
  return {{1, 2, 2, 20, 40, 4, 4}, {2, 4, 2, 9, 33, 4, 4}, {1, 4, 1, 3, 70, 8, 4},
          {1, 1, 1, 1, 45, 8, 4},  {1, 3, 3, 40, 5, 4, 8}, {1, 2, 1, 33, 300, 4, 4}};
}

Case random_formula_case(std::uint32_t seed) {
  const std::vector<AttentionShape> shapes = shapes_of_programs();
  Case call = random_case(shapes[seed % 31 == 0 ? 5 : seed % 5], seed);
  call.scalars.causal = static_cast<Causal>(seed / 7 % 3);
  if (seed % 11 == 0) call.scalars.softcap = 2.0f;
  if (seed % 13 == 0) call.query_offset.assign(static_cast<std::size_t>(call.shape.batch_size), 7);
  if (seed % 17 == 0) call.scalars.empty_rows = EmptyRows::uniform;
  call.returns = everything(seed % 2 ? ScoreStage::formula : ScoreStage::biased);
  return call;
}

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

// --------------------------------------------------------------------------------------------------------- intervals

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
    FormulaProgram program;
    program.compile(formula);
    TableRanges tables;
    ASSERT_TRUE(tables.read(program).ok());
    const KernelTable& kernels = kernel_table();
    const auto die = [&](std::uint32_t n, std::uint32_t below) { return cases::word(seed, 3, n) % below; };
    const std::int64_t width = 1 + die(1, 24), boxes = 1 + die(2, 8), rows = 1 + die(3, 16), heads = 1 + die(4, 3);
    const std::int64_t begin = die(5, 200), end = begin + width * boxes - die(6, static_cast<std::uint32_t>(width));
    const FormulaRoom room{rows, heads, 256};
    std::vector<char> memory(bytes_of<FormulaTile>(program, kernels, room));
    std::vector<char> range_memory(bytes_of<FormulaRanges>(program, tables, kernels, 64));
    Sequence sequence = long_sequence(300, 400);
    sequence.offset = static_cast<std::int64_t>(die(7, 300)) - 100;
    if (die(8, 4) == 0) sequence.positions = {begin + width / 2, 100};
    const std::int64_t first_row = die(9, 100);
    const Rows these{&sequence, 1, 2, heads, first_row, first_row + rows};
    auto tile = placed_in<FormulaTile>(memory.data(), program, kernels, room);
    tile.set_rows(these);
    auto ranges = placed_in<FormulaRanges>(range_memory.data(), program, tables, kernels, 64);
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
    FormulaProgram program;
    program.compile(formula);
    TableRanges tables;
    ASSERT_TRUE(tables.read(program).ok());
    const KernelTable& kernels = kernel_table();
    const FormulaRoom room{kRows, 1, kWidth};
    std::vector<char> memory(bytes_of<FormulaTile>(program, kernels, room));
    std::vector<char> range_memory(bytes_of<FormulaRanges>(program, tables, kernels, 64));
    auto tile = placed_in<FormulaTile>(memory.data(), program, kernels, room);
    auto ranges = placed_in<FormulaRanges>(range_memory.data(), program, tables, kernels, 64);
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
  FormulaProgram program;
  program.compile(formula);
  TableRanges ranges;
  ASSERT_TRUE(ranges.read(program).ok());
  const auto expect = [&](ValueRange range, float value) {
    EXPECT_EQ(range.low, value);
    EXPECT_EQ(range.high, value);
    EXPECT_FALSE(range.nan);
  };
  expect(ranges.of(one, 0, 1), 9.0f);
  expect(ranges.of(many, 3, 90), 5.0f);
  expect(ranges.of(again, 0, 1000), 7.0f);
}

// ------------------------------------------------------------------------------------------------- the built-in rules

std::int32_t distance(FormulaBuilder& f) {
  return f.add(Operation::subtract, f.variable(Variable::q), f.variable(Variable::k));
}

Case dense_call(std::uint32_t seed) {
  Case call = random_case({1, 4, 2, 130, 300, 16, 12}, seed);
  call.returns = everything(ScoreStage::formula);
  call.query_offset = {150};
  return call;
}

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

// ----------------------------------------------------------------------------------------------------- other callers

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

// --------------------------------------------------------------------------------------------------------- isolation

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

// -------------------------------------------------------------------------------------------------------- validation

struct Forgery {
  const char* name;
  const char* word;  ///< the message has it
  Formula (*forge)(FormulaBuilder&);
  bool visible = false;
};

/// The formula so far, with another instruction.
Formula with(FormulaBuilder& f, Operation operation, std::int32_t a, std::int32_t b = -1, std::int32_t c = -1) {
  f.add(operation, a, b, c);
  return f.formula();
}

Formula with_bound(FormulaBuilder& f, FormulaBound bound) {
  f.bound(bound);
  return f.formula();
}

Formula with_tables(FormulaBuilder& f, const FormulaTable* tables) {
  Formula formula = f.formula();
  formula.tables = tables;
  formula.num_tables = 1;
  return formula;
}

const FormulaTable kBadTables[] = {{nullptr, 1, 3}, {nullptr, -1, 0}, {nullptr, 1 << 20, 1 << 20}};

using F = FormulaBuilder;
const Forgery kForgeries[] = {
    {"operand after", "operand", [](F& f) { return with(f, Operation::abs, 3); }},
    {"operand itself", "operand", [](F& f) { return with(f, Operation::abs, 1); }},
    {"operand negative", "operand", [](F& f) { return with(f, Operation::abs, -1); }},
    {"second operand", "operand", [](F& f) { return with(f, Operation::add, 0, 99); }},
    {"third operand", "operand", [](F& f) { return with(f, Operation::select, 0, 0, -2); }},
    {"column", "operand",
     [](F& f) {
       return with(f, Operation::table2, f.keep({1, 2, 3, 4}, 2), 0, 7);
     }},
    {"number", "number", [](F& f) { return with(f, Operation::number, 1); }},
    {"parameter", "number", [](F& f) { return with(f, Operation::parameter, -1); }},
    {"variable", "variable", [](F& f) { return with(f, Operation::variable, 11); }},
    {"operation", "operation", [](F& f) { return with(f, static_cast<Operation>(31), 0, 0, 0); }},
    {"negative operation", "operation", [](F& f) { return with(f, static_cast<Operation>(-1), 0); }},
    {"table", "table", [](F& f) { return with(f, Operation::table1, 0, 0); }},
    {"rank", "rank",
     [](F& f) {
       return with(f, Operation::table1, f.keep({1, 2, 3, 4}, 2), 0);
     }},
    {"result", "result", [](F& f) { return f.formula(5); }},
    {"no result", "result", [](F& f) { return f.formula(-1); }},
    {"missing tables", "missing", [](F& f) { return with_tables(f, nullptr); }},
    {"negative count", "missing",
     [](F& f) {
       Formula formula = f.formula();
       formula.num_instructions = -1;
       return formula;
     }},
    {"table without data", "table 0", [](F& f) { return with_tables(f, kBadTables); }},
    {"negative rows", "table 0", [](F& f) { return with_tables(f, kBadTables + 1); }},
    {"huge table", "table 0", [](F& f) { return with_tables(f, kBadTables + 2); }},
    {"too long", "256",
     [](F& f) {
       while (f.size() <= kMostFormulaInstructions) f.add(Operation::abs, 0);
       return f.formula();
     }},
    {"bounds of score", "bounds",
     [](F& f) {
       return with_bound(f, {0, 1, -1, -1, 0});
     }},
    {"coefficient", "coefficient",
     [](F& f) {
       return with_bound(f, {0, 0, -1, -1, 0});
     },
     true},
    {"limit on the key", "bound",
     [](F& f) {
       return with_bound(f, {0, 1, -1, f.variable(Variable::j), 0});
     },
     true},
    {"integer outside", "bound",
     [](F& f) {
       return with_bound(f, {0, 1, 9, -1, 0});
     },
     true},
    {"visible reads s", "reads s",
     [](F& f) { return with(f, Operation::variable, static_cast<std::int32_t>(Variable::s)); }, true},
};

TEST(FormulaValidation, RefusesForgedProgramsBeforeAnyWork) {
  for (const Forgery& forgery : kForgeries) {
    SCOPED_TRACE(forgery.name);
    FormulaBuilder f;
    f.variable(Variable::q);
    const Formula formula = forgery.forge(f);
    Case call = random_case({1, 1, 1, 2, 3, 4, 4}, 48);
    (forgery.visible ? call.scalars.visible : call.scalars.score) = &formula;
    Results results(call.shape, call.returns, Dtype::float32);
    const std::vector<std::uint8_t> before = results.bits();
    const Status status = attention(pool_of(1), call.shape, call.inputs(), call.options(), results.view());
    EXPECT_EQ(status.code, StatusCode::invalid_option) << status.message().text;
    EXPECT_NE(std::string(status.message().text).find(forgery.word), std::string::npos) << status.message().text;
    EXPECT_NE(std::string(status.message().text).find(forgery.visible ? "visible" : "score"), std::string::npos);
    EXPECT_EQ(results.bits(), before);
  }
}

TEST(FormulaValidation, RefusesPositionsThatAreNotExact) {
  FormulaBuilder f;
  f.variable(Variable::s);
  const Formula formula = f.formula();
  for (const std::int32_t offset : {(1 << 24) - 1, -(1 << 24), 1 << 30}) {
    Case call = random_case({1, 1, 1, 2, 3, 4, 4}, 49);
    call.query_offset = {offset};
    ASSERT_TRUE(attention(pool_of(1), call.shape, call.inputs(), call.options(),
                          Results(call.shape, call.returns, Dtype::float32).view())
                    .ok());
    call.scalars.score = &formula;
    Results results(call.shape, call.returns, Dtype::float32);
    const Status status = attention(pool_of(1), call.shape, call.inputs(), call.options(), results.view());
    EXPECT_EQ(status.code, StatusCode::unsupported) << status.message().text;
    call.query_offset = {offset > 0 ? (1 << 24) - 2 : 1 - (1 << 24)};
    EXPECT_TRUE(attention(pool_of(1), call.shape, call.inputs(), call.options(), results.view()).ok());
  }
}

TEST(FormulaValidation, AScoreDoesNotGoWithFailingOnEmptyRows) {
  FormulaBuilder f;
  f.variable(Variable::s);
  const Formula formula = f.formula();
  Case call = random_case({1, 1, 1, 2, 3, 4, 4}, 50);
  call.scalars.empty_rows = EmptyRows::fail;
  call.scalars.score = &formula;
  Results results(call.shape, call.returns, Dtype::float32);
  const Status status = attention(pool_of(1), call.shape, call.inputs(), call.options(), results.view());
  EXPECT_EQ(status.code, StatusCode::unsupported) << status.message().text;
}

}  // namespace headwise::test_formula
