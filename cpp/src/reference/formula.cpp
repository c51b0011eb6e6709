#include "reference/formula.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace headwise::reference {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();

const Evaluated kUnknown{kNaN, kInfinity};

Evaluated exact(double value) { return {value, 0}; }
Evaluated truth(bool value) { return exact(value ? 1 : 0); }
bool is_unknown(Evaluated x) { return x.error == kInfinity; }
bool is_exact(Evaluated x) { return x.error == 0; }

/// A result that float32 rounds. `ulps` is the error of the function.
Evaluated rounded(double value, double error, double ulps = 0.5) {
  if (std::isnan(value)) return error == 0 ? exact(kNaN) : kUnknown;
  if (std::isinf(value)) return exact(value);
  if (std::abs(value) + error > 0.999 * kLargest)
    return std::abs(value) - error > 1.001 * kLargest ? exact(std::copysign(kInfinity, value)) : kUnknown;
  if (error == 0 && ulps <= 0.5 && static_cast<double>(static_cast<float>(value)) == value) return exact(value);
  return {value, error + ulps * (std::abs(value) + error) * 0x1p-23 + 0x1p-148};
}

/// A function that ascends or descends.
template <class Function>
Evaluated monotone(Evaluated a, double ulps, Function function) {
  const double value = function(a.value);
  if (is_exact(a)) return rounded(value, 0, ulps);
  const double error =
      std::max(std::abs(function(a.value + a.error) - value), std::abs(function(a.value - a.error) - value));
  return std::isfinite(error) ? rounded(value, error, ulps) : kUnknown;
}

Evaluated multiply(Evaluated a, Evaluated b) {
  if (std::isinf(a.value) || std::isinf(b.value)) {
    const bool sign_known =
        (is_exact(a) || std::abs(a.value) > a.error) && (is_exact(b) || std::abs(b.value) > b.error);
    return sign_known ? exact(a.value * b.value) : kUnknown;
  }
  return rounded(a.value * b.value, std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error);
}

Evaluated divide(Evaluated a, Evaluated b) {
  if (std::isnan(a.value) || std::isnan(b.value)) return exact(kNaN);
  const bool a_known = is_exact(a) || std::abs(a.value) > a.error;
  if (b.value == 0 && is_exact(b)) return a_known ? exact(a.value / b.value) : kUnknown;
  if (std::abs(b.value) <= b.error) return kUnknown;
  if (std::isinf(a.value) || std::isinf(b.value)) return exact(a.value / b.value);
  const double quotient = a.value / b.value;
  return rounded(quotient, (a.error + std::abs(quotient) * b.error) / (std::abs(b.value) - b.error));
}

Evaluated remainder(Evaluated a, Evaluated b) {
  const double value = std::fmod(a.value, b.value);
  if (std::isnan(value)) return is_exact(a) && is_exact(b) ? exact(value) : kUnknown;
  if (std::isinf(b.value)) return a;
  if (std::abs(a.value / b.value) > 0x1p27) return kUnknown;
  if (is_exact(a) && is_exact(b)) return rounded(value, 0);
  if (std::abs(b.value) <= b.error) return kUnknown;
  const auto turns = [&](double da, double db) { return std::trunc((a.value + da) / (b.value + db)); };
  const double turn = turns(0, 0), margin = 1 + 1e-9;
  for (const double da : {-a.error, a.error})
    for (const double db : {-b.error, b.error})
      if (turns(da * margin, db * margin) != turn) return kUnknown;
  if (std::abs(a.value) <= a.error) return kUnknown;
  return rounded(value, a.error + std::abs(turn) * b.error);
}

double javascript_power(double a, double b) {
  if (std::isnan(b) || (std::abs(a) == 1 && std::isinf(b))) return kNaN;
  return std::pow(a, b);
}

Evaluated power(Evaluated a, Evaluated b) {
  const double value = javascript_power(a.value, b.value);
  if (is_exact(b) && b.value == 0) return exact(1);
  if (is_exact(a) && is_exact(b)) return rounded(value, 0, 0.51);
  if (!(a.value > a.error) || !std::isfinite(value)) return kUnknown;
  double error = 0;
  for (const double da : {-a.error, a.error})
    for (const double db : {-b.error, b.error})
      error = std::max(error, std::abs(javascript_power(a.value + da, b.value + db) - value));
  return std::isfinite(error) ? rounded(value, error, 0.51) : kUnknown;
}

bool truth_is_known(Evaluated a) { return is_exact(a) || std::isnan(a.value) || std::abs(a.value) > a.error; }

/// Whether a < b, or a <= b, is known: then it is `lower`.
Evaluated compare(Evaluated a, Evaluated b, bool lower) {
  const double margin = a.error + b.error;
  const bool known = margin == 0 || std::abs(a.value - b.value) > margin * (1 + 1e-9) || std::isinf(a.value) ||
                     std::isinf(b.value) || std::isnan(a.value) || std::isnan(b.value);
  return known ? truth(lower) : kUnknown;
}

Evaluated look_up(const FormulaTable& table, Evaluated row, Evaluated column) {
  const auto index = [](Evaluated x) {
    if (is_unknown(x)) return kUnknown;
    if (std::isnan(x.value)) return exact(-1);
    if (is_exact(x)) return exact(std::floor(x.value));
    const double low = std::floor(x.value - x.error), high = std::floor(x.value + x.error);
    return low == high ? exact(low) : kUnknown;
  };
  const Evaluated r = index(row), c = index(column);
  if (is_unknown(r) || is_unknown(c)) return kUnknown;
  if (!(r.value >= 0 && r.value < table.rows && c.value >= 0 && c.value < table.columns)) return exact(0);
  return exact(table.data[static_cast<std::int64_t>(r.value) * table.columns + static_cast<std::int64_t>(c.value)]);
}

Evaluated variable(FormulaVariable variable, const Pair& pair) {
  const std::int64_t whole[] = {0, pair.q, pair.k, pair.i, pair.j, pair.h, pair.g, pair.b, pair.sq, pair.skv, pair.d};
  return variable == FormulaVariable::s ? pair.s : exact(static_cast<double>(whole[static_cast<int>(variable)]));
}

Evaluated apply(FormulaOperation operation, Evaluated a, Evaluated b, Evaluated c) {
  using Operation = FormulaOperation;
  if (operation == Operation::select) {
    if (is_unknown(a) || !truth_is_known(a)) return kUnknown;
    return a.value != 0 ? b : c;
  }
  if (is_unknown(a) || is_unknown(b)) return kUnknown;
  const bool nan = std::isnan(a.value) || std::isnan(b.value);
  switch (operation) {
    case Operation::negate:
      return {-a.value, a.error};
    case Operation::abs:
      return {std::abs(a.value), a.error};
    case Operation::floor:
      return std::floor(a.value - a.error) == std::floor(a.value + a.error) ? exact(std::floor(a.value))
             : std::isfinite(a.value)                                       ? kUnknown
                                                                            : a;
    case Operation::sign:
      if (!truth_is_known(a)) return kUnknown;
      return exact(a.value > 0 ? 1 : a.value < 0 ? -1 : a.value);
    case Operation::sqrt:
      return monotone(a, 0.5, [](double x) { return std::sqrt(x); });
    case Operation::exp:
      return monotone(a, 0.51, [](double x) { return std::exp(x); });
    case Operation::log:
      return monotone(a, 0.51, [](double x) { return std::log(x); });
    case Operation::tanh:
      return monotone(a, 4, [](double x) { return std::tanh(x); });
    case Operation::sin:
    case Operation::cos:
      if (std::isfinite(a.value) && std::abs(a.value) + a.error > 0x1p24) return kUnknown;
      return rounded(operation == Operation::sin ? std::sin(a.value) : std::cos(a.value), a.error, 0.51);
    case Operation::logical_not:
      return truth_is_known(a) ? truth(a.value == 0) : kUnknown;
    case Operation::add:
      return rounded(a.value + b.value, a.error + b.error);
    case Operation::subtract:
      return rounded(a.value - b.value, a.error + b.error);
    case Operation::multiply:
      return multiply(a, b);
    case Operation::divide:
      return divide(a, b);
    case Operation::remainder:
      return remainder(a, b);
    case Operation::power:
      return power(a, b);
    case Operation::minimum:
      return nan ? exact(kNaN) : Evaluated{std::min(a.value, b.value), std::max(a.error, b.error)};
    case Operation::maximum:
      return nan ? exact(kNaN) : Evaluated{std::max(a.value, b.value), std::max(a.error, b.error)};
    case Operation::less:
      return compare(a, b, a.value < b.value);
    case Operation::less_or_equal:
      return compare(a, b, a.value <= b.value);
    case Operation::equal:
      return compare(a, b, a.value == b.value);
    case Operation::not_equal:
      return compare(a, b, a.value != b.value);
    case Operation::logical_and:
      return truth_is_known(a) && truth_is_known(b) ? truth(a.value != 0 && b.value != 0) : kUnknown;
    case Operation::logical_or:
      return truth_is_known(a) && truth_is_known(b) ? truth(a.value != 0 || b.value != 0) : kUnknown;
    case Operation::number:
    case Operation::variable:
    case Operation::parameter:
    case Operation::table1:
    case Operation::table2:
    case Operation::select:
      break;  // computed elsewhere
  }
  return kUnknown;
}

std::vector<Evaluated> evaluate_all(const Formula& formula, std::int32_t last, const Pair& pair) {
  std::vector<Evaluated> values;
  for (std::int32_t n = 0; n <= last; ++n) {
    const FormulaInstruction& at = formula.instructions[n];
    const auto of = [&](std::int32_t m) { return m >= 0 && m < n ? values[m] : exact(0); };
    switch (at.operation) {
      case FormulaOperation::number:
      case FormulaOperation::parameter:
        values.push_back(exact(formula.numbers[at.a]));
        break;
      case FormulaOperation::variable:
        values.push_back(variable(static_cast<FormulaVariable>(at.a), pair));
        break;
      case FormulaOperation::table1:
        values.push_back(look_up(formula.tables[at.a], exact(0), of(at.b)));
        break;
      case FormulaOperation::table2:
        values.push_back(look_up(formula.tables[at.a], of(at.b), of(at.c)));
        break;
      default:
        values.push_back(apply(at.operation, of(at.a), of(at.b), of(at.c)));
    }
  }
  return values;
}

bool within(const FormulaBound& bound, std::int64_t x, double integer, double limit) {
  if (!std::isfinite(integer)) return bound.strict ? integer < limit : integer <= limit;
  // The difference comes first: beside a huge number x would be lost.
  const double reached = static_cast<double>(bound.coefficient * x);
  const double room = (bound.strict ? std::ceil(limit) : std::floor(limit)) - std::floor(integer);
  return bound.strict ? reached < room : reached <= room;
}

/// Unknown if the errors decide.
Evaluated within(const FormulaBound& bound, std::int64_t x, Evaluated integer, Evaluated limit) {
  if (is_unknown(integer) || is_unknown(limit)) return kUnknown;
  const bool at_least = within(bound, x, integer.value + integer.error, limit.value - limit.error);
  const bool at_most = within(bound, x, integer.value - integer.error, limit.value + limit.error);
  return at_least == at_most ? truth(at_least) : kUnknown;
}

}  // namespace

Evaluated evaluate(const Formula& formula, std::int32_t n, const Pair& pair) {
  return evaluate_all(formula, n, pair).back();
}

Evaluated within_bounds(const Formula& formula, const Pair& pair) {
  Evaluated all = truth(true);
  for (std::int64_t n = 0; n < formula.num_bounds; ++n) {
    const FormulaBound& bound = formula.bounds[n];
    const auto value = [&](std::int32_t of) { return of < 0 ? exact(0) : evaluate(formula, of, pair); };
    const Evaluated holds = within(bound, bound.on_rows ? pair.j : pair.k, value(bound.integer), value(bound.limit));
    if (is_unknown(holds)) all = kUnknown;
    if (holds.value == 0) return holds;
  }
  return all;
}

}  // namespace headwise::reference
