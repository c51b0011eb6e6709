#include "formula_cases.h"

#include <vector>

#include "harness.h"

namespace headwise::formulas {

using cases::Case;

namespace {

std::vector<AttentionShape> shapes_of_programs() {
  return {{1, 2, 2, 20, 40, 4, 4}, {2, 4, 2, 9, 33, 4, 4}, {1, 4, 1, 3, 70, 8, 4},
          {1, 1, 1, 1, 45, 8, 4},  {1, 3, 3, 40, 5, 4, 8}, {1, 2, 1, 33, 300, 4, 4}};
}

}  // namespace

std::int32_t distance(FormulaBuilder& f) {
  return f.add(FormulaOperation::subtract, f.variable(FormulaVariable::q), f.variable(FormulaVariable::k));
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

Case dense_call(std::uint32_t seed) {
  Case call = random_case({1, 4, 2, 130, 300, 16, 12}, seed);
  call.returns = everything(ScoreStage::formula);
  call.query_offset = {150};
  return call;
}

}  // namespace headwise::formulas
