// Score formulas: what is refused.

#include "formula_builder.h"
#include "harness.h"

namespace headwise::test_formula_validation {

using cases::Case;
using cases::Results;
using Operation = FormulaOperation;
using Variable = FormulaVariable;

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

}  // namespace headwise::test_formula_validation
