// libFuzzer target: any bytes become a score formula and a visible formula, instruction by instruction, and a small
// call that uses them. A refused formula must write nothing; a computed call must lie within the error model of the
// double reference.
//
//   cmake --preset fuzz && cmake --build --preset fuzz
//   build/fuzz/tests/cpp/fuzz_formula -max_total_time=60 build/corpus/fuzz_formula

#include <gtest/gtest.h>

#include <limits>

#include "expectations.h"
#include "formula_builder.h"
#include "fuzz_target.h"
#include "harness.h"

namespace headwise {
namespace {

using Operation = FormulaOperation;

class Decoder {
 public:
  Decoder(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  cases::Case call() {
    const std::int64_t kv_heads = integer(1, 2);
    cases::Case call = random_case({integer(0, 2), kv_heads * integer(1, 2), kv_heads, integer(0, 9),
                                    integer(0, rarely() ? 300 : 20), integer(1, 3), integer(1, 3)},
                                   bytes_.ConsumeIntegral<std::uint8_t>());
    call.scalars.causal = static_cast<Causal>(integer(0, 2));
    call.scalars.empty_rows = static_cast<EmptyRows>(integer(0, 2));
    if (flag()) call.query_offset.assign(static_cast<std::size_t>(call.shape.batch_size), number_below(100));
    call.returns.entropy = flag();
    if (flag()) call.returns.probs = cases::OwnedSelection();
    return call;
  }

  Formula formula(FormulaBuilder& builder, bool visible) {
    for (std::int64_t n = integer(1, 40); n > 0; --n) instruction(builder, visible);
    if (!visible && !rarely()) {  // scores that a row can bear: else most rows would be NaN or have one key
      const std::int32_t low = builder.add(Operation::maximum, builder.size() - 1, builder.number(-20.0f));
      builder.add(Operation::minimum, low, builder.number(20.0f));
    }
    if (visible && flag()) builder.bound({integer_of(0, 1), integer_of(-3, 3), any(builder), any(builder), flag()});
    return builder.formula();
  }

  bool flag() { return bytes_.ConsumeBool(); }
  const KernelTable& kernels() {
    return *tables_[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(tables_.size()) - 1))];
  }

 private:
  void instruction(FormulaBuilder& builder, bool visible) {
    const auto operation = static_cast<Operation>(rarely() ? integer(-1, 32) : integer(0, 30));
    const bool needs_operands = operation > Operation::variable && operation != Operation::parameter;
    if (operation == Operation::number || (needs_operands && builder.size() == 0)) {
      builder.number(number());
    } else if (operation == Operation::variable) {
      builder.add(operation, integer_of(visible && !rarely() ? 1 : 0, rarely() ? 11 : 10));
    } else if (operation == Operation::table1) {
      builder.table(numbers(integer(0, 9)), any(builder));
    } else if (operation == Operation::table2) {
      const std::int32_t rows = integer_of(1, 3);
      const std::vector<float> values = numbers(rows * integer(1, 4));
      const std::int32_t row = any(builder);
      builder.table(values, rows, row, any(builder));
    } else {
      const std::int32_t a = any(builder), b = any(builder);
      builder.add(operation, a, b, any(builder));
    }
  }

  /// An earlier instruction, rarely one that does not exist.
  std::int32_t any(const FormulaBuilder& builder) {
    if (rarely()) return integer_of(-2, builder.size() + 1);
    return flag() ? builder.size() - 1 : integer_of(0, builder.size() - 1);
  }

  float number() {
    constexpr float kSpecial[] = {0.0f, 1.0f, -1.0f, 0.5f, 16777216.0f, std::numeric_limits<float>::infinity()};
    if (flag()) return bytes_.PickValueInArray(kSpecial);
    return flag() ? bytes_.ConsumeFloatingPoint<float>() : static_cast<float>(integer(-300, 300)) / 8.0f;
  }

  std::vector<float> numbers(std::int64_t count) {
    std::vector<float> list;
    for (; count > 0; --count) list.push_back(number());
    return list;
  }

  bool rarely() { return bytes_.ConsumeIntegral<std::uint8_t>() > 250; }
  std::int64_t integer(std::int64_t low, std::int64_t high) { return bytes_.ConsumeIntegralInRange(low, high); }
  std::int32_t integer_of(std::int32_t low, std::int32_t high) {
    return static_cast<std::int32_t>(integer(low, std::max(low, high)));
  }
  std::int32_t number_below(std::int32_t end) { return integer_of(-end, end); }

  FuzzedDataProvider bytes_;
  std::vector<const KernelTable*> tables_ = fuzzed_kernel_tables();
};

}  // namespace

void fuzz(const std::uint8_t* data, std::size_t size) {
  Decoder decoder(data, size);
  cases::Case call = decoder.call();
  FormulaBuilder score_builder, visible_builder;
  Formula score, visible;
  const bool has_score = decoder.flag();
  if (has_score) score = decoder.formula(score_builder, false), call.scalars.score = &score;
  if (!has_score || decoder.flag()) visible = decoder.formula(visible_builder, true), call.scalars.visible = &visible;
  cases::Results results(call.shape, call.returns, call.dtype);
  const std::vector<std::uint8_t> before = results.bits();
  const UsingKernels using_kernels(decoder.kernels());
  const Status status = attention(pool_of(1), call.shape, call.inputs(), call.options(), results.view());
  if (status.ok()) {
    expect_near_reference(call, results);
  } else {
    EXPECT_EQ(results.bits(), before) << "refused (" << status.message().text << "), but an output was written";
  }
}

}  // namespace headwise
