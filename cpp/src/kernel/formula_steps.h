#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernel/arch.h"
#include "kernel/functions.h"
#include "kernel/kernel_table.h"

namespace headwise::kernels {
namespace {

/// Calls visit(first, vectors) for all vectors of a row, `at_a_time` of them while there are so many.
template <class Arch, int at_a_time, class Visit>
inline void for_each_step(std::int64_t count, Visit visit) {
  constexpr std::int64_t lanes = Floats<Arch>::size;
  std::int64_t j = 0;
  for (; j + at_a_time * lanes <= count; j += at_a_time * lanes) visit(j, std::integral_constant<int, at_a_time>());
  for (; j < count; j += lanes) visit(j, std::integral_constant<int, 1>());
}

/// out = function(operands), for a function of 1, 2 or 3 vectors.
template <class Arch, int operands, int at_a_time, class Function>
inline void map(const StepArrays& arrays, std::int64_t count, Function function) {
  using V = Floats<Arch>;
  constexpr std::ptrdiff_t lanes = V::size;
  const float* of[3] = {arrays.of[0], arrays.of[1], arrays.of[2]};
  const std::ptrdiff_t step[3] = {arrays.step[0] * lanes, arrays.step[1] * lanes, arrays.step[2] * lanes};
  float* const out = arrays.out;
  for_each_step<Arch, at_a_time>(count, [&](std::int64_t j, auto vectors) {
    V results[vectors()];
    for (int v = 0; v < vectors(); ++v) {
      const auto operand = [&](int n) { return V::load_unaligned(of[n] + v * lanes); };
      if constexpr (operands == 1)
        results[v] = function(operand(0));
      else if constexpr (operands == 2)
        results[v] = function(operand(0), operand(1));
      else
        results[v] = function(operand(0), operand(1), operand(2));
    }
    for (int v = 0; v < vectors(); ++v) results[v].store_unaligned(out + j + v * lanes);
    for (int n = 0; n < operands; ++n) of[n] += vectors() * step[n];
  });
}

/// A function of doubles, for floats.
template <class Arch, class Function, class... More>
inline Floats<Arch> in_double(Function function, Floats<Arch> x, More... more) {
  Doubles<Arch> wide[2], results[2];
  to_doubles<Arch>(x, wide);
  if constexpr (sizeof...(more) == 0) {
    for (int v = 0; v < 2; ++v) results[v] = function(wide[v]);
  } else {
    Doubles<Arch> others[2];
    to_doubles<Arch>(more..., others);
    for (int v = 0; v < 2; ++v) results[v] = function(wide[v], others[v]);
  }
  return to_floats<Arch>(results);
}

/// The operations. Comparisons and logic give 1 or 0.
template <class Arch>
struct FormulaFunctions {
  using V = Floats<Arch>;
  using D = DoubleFunctions<Arch>;

  static V one_where(typename V::batch_bool_type condition) { return xsimd::select(condition, V(1.0f), V(0.0f)); }
  static auto is_true(V a) { return a != V(0.0f); }

  static V negate(V a) { return -a; }
  static V abs(V a) { return xsimd::abs(a); }
  static V floor(V a) { return xsimd::floor(a); }
  static V sign(V a) { return xsimd::select(a > V(0.0f), V(1.0f), xsimd::select(a < V(0.0f), V(-1.0f), a)); }
  static V sqrt(V a) { return xsimd::sqrt(a); }
  static V exp(V a) { return in_double<Arch>(D::exp, a); }
  static V log(V a) { return in_double<Arch>(D::log, a); }
  static V sin(V a) { return in_double<Arch>(D::sin, a); }
  static V cos(V a) { return in_double<Arch>(D::cos, a); }
  static V logical_not(V a) { return one_where(a == V(0.0f)); }
  static V add(V a, V b) { return a + b; }
  static V subtract(V a, V b) { return a - b; }
  static V multiply(V a, V b) { return a * b; }
  static V divide(V a, V b) { return a / b; }
  static V remainder(V a, V b) { return in_double<Arch>(D::remainder, a, b); }
  static V power(V a, V b) { return in_double<Arch>(D::power, a, b); }
  // A NaN is kept, whichever operand it is.
  static V minimum(V a, V b) { return xsimd::select(a == a, xsimd::select(a < b, a, b), a); }
  static V maximum(V a, V b) { return xsimd::select(a == a, xsimd::select(a > b, a, b), a); }
  static V less(V a, V b) { return one_where(a < b); }
  static V less_or_equal(V a, V b) { return one_where(a <= b); }
  static V equal(V a, V b) { return one_where(a == b); }
  static V not_equal(V a, V b) { return one_where(a != b); }
  static V logical_and(V a, V b) { return one_where(is_true(a) & is_true(b)); }
  static V logical_or(V a, V b) { return one_where(is_true(a) | is_true(b)); }
  static V select(V a, V b, V c) { return xsimd::select(is_true(a), b, c); }
};

template <class Arch, Floats<Arch> (*function)(Floats<Arch>), int at_a_time = 4>
void step1(const StepArrays& arrays, std::int64_t count) {
  map<Arch, 1, at_a_time>(arrays, count, [](auto a) { return function(a); });
}
template <class Arch, Floats<Arch> (*function)(Floats<Arch>, Floats<Arch>), int at_a_time = 4>
void step2(const StepArrays& arrays, std::int64_t count) {
  map<Arch, 2, at_a_time>(arrays, count, [](auto a, auto b) { return function(a, b); });
}
template <class Arch, Floats<Arch> (*function)(Floats<Arch>, Floats<Arch>, Floats<Arch>)>
void step3(const StepArrays& arrays, std::int64_t count) {
  map<Arch, 3, 4>(arrays, count, [](auto a, auto b, auto c) { return function(a, b, c); });
}

template <class Arch>
void tanh_step(const StepArrays& arrays, std::int64_t count) {
  const HyperbolicTangent<Arch> hyperbolic_tangent;
  map<Arch, 1, 1>(arrays, count, [&](Floats<Arch> a) { return hyperbolic_tangent(a); });
}

/// An axis of a table. Indices are rounded down.
template <class Arch>
struct TableAxis {
  using V = Floats<Arch>;
  V last;

  explicit TableAxis(std::int32_t extent) : last(last_index(extent)) {}

  /// The largest float that is an index. -1 if there is none.
  static float last_index(std::int32_t extent) {
    const auto rounded = static_cast<float>(extent - 1);
    return static_cast<std::int64_t>(rounded) < extent ? rounded : std::nextafter(rounded, 0.0f);
  }
  auto has(V index) const { return (index >= V(0.0f)) & (index <= last); }
};

/// out[i] = values[at[i]], but 0 where `inside` is false.
template <class Arch>
inline void gather(const float* values, Integers<Arch> at, typename Floats<Arch>::batch_bool_type inside, float* out) {
  using V = Floats<Arch>;
  constexpr int lanes = V::size;
  std::int32_t indices[lanes];
  float found[lanes];
  at.store_unaligned(indices);
  for (int i = 0; i < lanes; ++i) found[i] = values[indices[i]];
  xsimd::select(inside, V::load_unaligned(found), V(0.0f)).store_unaligned(out);
}

template <class Arch>
inline void look_up(const float* values, std::int32_t extent, const float* index, std::ptrdiff_t step,
                    std::int64_t count, float* out) {
  using V = Floats<Arch>;
  const TableAxis<Arch> axis(extent);
  for (std::int64_t j = 0; j < count; j += V::size) {
    const V at = xsimd::floor(V::load_unaligned(index + j * step));
    const auto inside = axis.has(at);
    gather<Arch>(values, xsimd::to_int(xsimd::select(inside, at, V(0.0f))), inside, out + j);
  }
}

template <class Arch>
void table1_step(const StepArrays& arrays, std::int64_t count) {
  const FormulaTable& table = *arrays.table;
  if (table.columns == 0) {
    std::fill_n(arrays.out, count, 0.0f);
    return;
  }
  look_up<Arch>(table.data, table.columns, arrays.of[0], arrays.step[0], count, arrays.out);
}

template <class Arch>
void table2_step(const StepArrays& arrays, std::int64_t count) {
  using V = Floats<Arch>;
  const FormulaTable& table = *arrays.table;
  const TableAxis<Arch> rows(table.rows), columns(table.columns);
  const bool empty = table.rows == 0 || table.columns == 0;
  if (empty || arrays.step[0] == 0) {  // one row for all
    const V row = xsimd::floor(V::load_unaligned(arrays.of[0]));
    if (empty || !xsimd::all(rows.has(row))) {
      std::fill_n(arrays.out, count, 0.0f);
      return;
    }
    const float* values = table.data + static_cast<std::int64_t>(row.get(0)) * table.columns;
    return look_up<Arch>(values, table.columns, arrays.of[1], arrays.step[1], count, arrays.out);
  }
  const Integers<Arch> width(table.columns);
  for (std::int64_t j = 0; j < count; j += V::size) {
    const V row = xsimd::floor(V::load_unaligned(arrays.of[0] + j));
    const V column = xsimd::floor(V::load_unaligned(arrays.of[1] + j * arrays.step[1]));
    const auto inside = rows.has(row) & columns.has(column);
    const Integers<Arch> at = xsimd::to_int(xsimd::select(inside, row, V(0.0f))) * width +
                              xsimd::to_int(xsimd::select(inside, column, V(0.0f)));
    gather<Arch>(table.data, at, inside, arrays.out + j);
  }
}

// How a line of formula_operations.def is computed. Functions of double need so many registers that they take one
// vector at a time.
#define STEP_none(name, operands) nullptr
#define STEP_loop(name, operands) name##_step<Arch>
#define STEP_floats(name, operands) step##operands<Arch, FormulaFunctions<Arch>::name>
#define STEP_doubles(name, operands) step##operands<Arch, FormulaFunctions<Arch>::name, 1>
#define OPERATION(name, operands, step, script) STEP_##step(name, operands),
template <class Arch>
constexpr FormulaSteps make_formula_steps() {
  return {{
#include "headwise/formula_operations.def"
  }};
}
#undef STEP_none
#undef STEP_loop
#undef STEP_floats
#undef STEP_doubles

}  // namespace
}  // namespace headwise::kernels
