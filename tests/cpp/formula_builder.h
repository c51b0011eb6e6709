#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "cases.h"
#include "headwise/formula.h"

namespace headwise {

/// Writes formulas instruction by instruction. It owns what the formula points to.
class FormulaBuilder {
 public:
  using Operation = FormulaOperation;
  using Variable = FormulaVariable;

  std::int32_t number(float value) {
    numbers_.push_back(value);
    return add(Operation::number, static_cast<std::int32_t>(numbers_.size()) - 1);
  }
  std::int32_t variable(Variable variable) { return add(Operation::variable, static_cast<std::int32_t>(variable)); }
  std::int32_t table(std::vector<float> values, std::int32_t index) {
    return add(Operation::table1, keep(std::move(values), 1), index);
  }
  std::int32_t table(std::vector<float> values, std::int32_t rows, std::int32_t row, std::int32_t column) {
    return add(Operation::table2, keep(std::move(values), rows), row, column);
  }
  std::int32_t add(Operation operation, std::int32_t a, std::int32_t b = -1, std::int32_t c = -1) {
    instructions_.push_back({operation, a, b, c});
    return size() - 1;
  }
  void bound(FormulaBound bound) { bounds_.push_back(bound); }

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(instructions_.size()); }
  [[nodiscard]] std::int32_t keep(std::vector<float> values, std::int32_t rows) {
    const auto columns = static_cast<std::int32_t>(values.size()) / rows;
    values_.push_back(std::move(values));
    tables_.push_back({values_.back().data(), rows, columns});
    return static_cast<std::int32_t>(tables_.size()) - 1;
  }

  /// Views into the builder. `result`: the last instruction if absent.
  [[nodiscard]] Formula formula() const { return formula(size() - 1); }
  [[nodiscard]] Formula formula(std::int32_t result) const {
    return {instructions_.data(), size(),         result,         numbers_.data(), count(numbers_),
            tables_.data(),       count(tables_), bounds_.data(), count(bounds_)};
  }

 private:
  template <class T>
  static std::int64_t count(const std::vector<T>& list) {
    return static_cast<std::int64_t>(list.size());
  }

  std::vector<FormulaInstruction> instructions_;
  std::vector<float> numbers_;
  std::deque<std::vector<float>> values_;
  std::vector<FormulaTable> tables_;
  std::vector<FormulaBound> bounds_;
};

/// A random formula. That of `visible` reads no s; both read what depends on positions, heads and tables.
void build_random_formula(FormulaBuilder& builder, std::uint32_t seed, bool visible);

}  // namespace headwise
