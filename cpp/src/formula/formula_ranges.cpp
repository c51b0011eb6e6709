#include "formula/formula_ranges.h"

#include <cmath>

namespace headwise {

namespace {

constexpr std::int64_t kChildren = 16;

std::int64_t size_of(const FormulaTable& table) { return static_cast<std::int64_t>(table.rows) * table.columns; }

/// Nodes of all levels.
std::int64_t count_nodes(std::int64_t size) {
  std::int64_t count = 0;
  while (size > 1) count += size = divide_up(size, kChildren);
  return count;
}

/// Makes the nodes of each level from those of the level below. Ends with one node.
template <class T>
void read_level(const T* elements, std::int64_t size, ValueRange* nodes) {
  if (size <= 1) return;
  for (std::int64_t i = 0; i < size; i += kChildren) {
    ValueRange range;
    for (std::int64_t e = i; e < std::min(i + kChildren, size); ++e) range.include(elements[e]);
    nodes[i / kChildren] = range;
  }
  const std::int64_t count = divide_up(size, kChildren);
  read_level(nodes, count, nodes + count);
}

}  // namespace

Error TableRanges::read(const FormulaProgram& program) {
  program_ = &program;
  const Formula& formula = program.formula();
  const auto for_each_look_up = [&](auto visit) {
    for (std::int32_t n = 0; n < formula.num_instructions; ++n)
      if (program.value(n).needed && is_look_up(formula.instructions[n].operation)) visit(n, formula.instructions[n].a);
  };
  std::int64_t count = 0;
  for_each_look_up([&](std::int32_t n, std::int32_t table) {
    first_[n] = -1;
    for (std::int32_t other = 0; other < n; ++other)  // the same table may have been met
      if (program.value(other).needed && is_look_up(formula.instructions[other].operation) &&
          formula.instructions[other].a == table)
        first_[n] = first_[other];
    if (first_[n] >= 0) return;
    first_[n] = count;
    count += count_nodes(size_of(formula.tables[table]));
  });
  if (Error e = nodes_.allocate(count)) return e;
  std::int64_t read = 0;
  for_each_look_up([&](std::int32_t n, std::int32_t table) {
    if (first_[n] < read) return;
    const std::int64_t size = size_of(formula.tables[table]);
    read_level(formula.tables[table].data, size, nodes_.data() + first_[n]);
    read = first_[n] + count_nodes(size);
  });
  return {};
}

ValueRange TableRanges::of(std::int32_t n, std::int64_t begin, std::int64_t end) const {
  const FormulaTable& table = program_->formula().tables[program_->formula().instructions[n].a];
  ValueRange range;
  const auto include_ends = [&](const auto* elements) {
    while (begin < end && begin % kChildren != 0) range.include(elements[begin++]);
    while (begin < end && end % kChildren != 0) range.include(elements[--end]);
    begin /= kChildren, end /= kChildren;
  };
  include_ends(table.data);
  const ValueRange* level = nodes_.data() + first_[n];
  std::int64_t size = divide_up(size_of(table), kChildren);
  while (begin < end) {
    include_ends(level);
    level += size;
    size = divide_up(size, kChildren);
  }
  return range;
}

namespace {

/// With room for results that err by a few ulp.
ValueRange widened(ValueRange range) {
  constexpr float kShare = 0x1p-20f, kLeast = 0x1p-140f;
  if (range.low > -kInfinity && range.low < kInfinity) range.low -= std::abs(range.low) * kShare + kLeast;
  if (range.high > -kInfinity && range.high < kInfinity) range.high += std::abs(range.high) * kShare + kLeast;
  return range;
}

/// The range of the results at the corners. A NaN among them is no limit; the caller says where NaN can be.
template <class Function>
ValueRange around_corners(ValueRange a, ValueRange b, Function function) {
  ValueRange range;
  for (const float x : {a.low, a.high})
    for (const float y : {b.low, b.high}) {
      const float corner = function(x, y);
      if (corner == corner) range.include(corner);
    }
  return range;
}

ValueRange add(ValueRange a, ValueRange b) {
  const bool cancels = (a.high == kInfinity && b.low == -kInfinity) || (a.low == -kInfinity && b.high == kInfinity);
  return cancels ? ValueRange::anything() : ValueRange{a.low + b.low, a.high + b.high, a.nan || b.nan};
}

ValueRange negate(ValueRange a) { return {-a.high, -a.low, a.nan}; }

ValueRange multiply(ValueRange a, ValueRange b) {
  if ((a.has(0.0f) && b.has_infinity()) || (a.has_infinity() && b.has(0.0f))) return ValueRange::anything();
  ValueRange range = around_corners(a, b, [](float x, float y) { return x * y; });
  range.nan |= a.nan || b.nan;
  return range;
}

ValueRange divide(ValueRange a, ValueRange b) {
  if (b.has(0.0f) || (a.has_infinity() && b.has_infinity())) return ValueRange::anything();
  ValueRange range = around_corners(a, b, [](float x, float y) { return x / y; });
  range.nan |= a.nan || b.nan;
  return range;
}

ValueRange absolute(ValueRange a) {
  const float low = a.has(0.0f) ? 0.0f : std::min(std::abs(a.low), std::abs(a.high));
  return {low, a.magnitude(), a.nan};
}

float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }

bool is_whole(float x) { return std::floor(x) == x && std::abs(x) < 0x1p24f; }

}  // namespace

void FormulaRanges::place(Placement& place, const FormulaProgram& program, const TableRanges& tables,
                          const KernelTable& kernels, std::int64_t boxes) {
  program_ = &program;
  tables_ = &tables;
  kernels_ = &kernels;
  ranges_ = place.take<ValueRange>(program.formula().num_instructions, boxes);
}

BoxBits FormulaRanges::ask(const FormulaBoxes& boxes) {
  const Formula& formula = program_->formula();
  const std::int64_t count = boxes.count();
  std::int32_t place = 0;
  for (int rate = 0; rate < kFormulaRates; ++rate)
    program_->for_each(static_cast<FormulaRate>(rate), [&](std::int32_t n) {
      places_[n] = place;
      const std::int64_t different = varies(n) ? count : 1;
      place += static_cast<std::int32_t>(different);
      const FormulaInstruction& instruction = formula.instructions[n];
      if (instruction.operation == FormulaOperation::variable || program_->is_distance(n))
        for (std::int64_t box = 0; box < different; ++box) ranges(n)[box] = boxes.range(formula, n, box);
      else if (instruction.operation <= FormulaOperation::parameter)
        *ranges(n) = ValueRange::of(formula.numbers[instruction.a]);
      else
        compute(n, different);
    });
  BoxBits bits{0, 0};
  for (std::int64_t box = 0; box < count; ++box) {
    const ValueRange& range = ranges(formula.result)[varies(formula.result) ? box : 0];
    bits.some |= static_cast<std::uint64_t>(range.maybe_true()) << box;
    bits.every |= static_cast<std::uint64_t>(!range.maybe_false()) << box;
  }
  return bits;
}

std::int64_t FormulaBoxes::count() const { return divide_up(last_key - first_key, width); }

/// Of a variable, or of the difference of two.
ValueRange FormulaBoxes::range(const Formula& formula, std::int32_t n, std::int64_t box) const {
  const FormulaInstruction& instruction = formula.instructions[n];
  if (instruction.operation == FormulaOperation::subtract)
    return add(range(formula, instruction.a, box), negate(range(formula, instruction.b, box)));
  const Sequence& sequence = *rows.sequence;
  const std::int64_t first_query = rows.query(begin), last_query = rows.query(end - 1);
  const std::int64_t key = first_key + box * width, end_key = std::min(key + width, last_key);
  const auto from = [](std::int64_t low, std::int64_t high) {
    return ValueRange{static_cast<float>(low), static_cast<float>(high), false};
  };
  const auto always = [&](std::int64_t value) { return from(value, value); };
  switch (static_cast<FormulaVariable>(instruction.a)) {
    case FormulaVariable::q:
      return from(first_query + sequence.offset, last_query + sequence.offset);
    case FormulaVariable::i:
      return from(first_query, last_query);
    case FormulaVariable::k:
      return from(sequence.positions.of(key), sequence.positions.of(end_key - 1));
    case FormulaVariable::j:
      return from(key, end_key - 1);
    case FormulaVariable::h:
      return first_query == last_query ? from(rows.head(begin), rows.head(end - 1))
                                       : from(rows.first_head, rows.first_head + rows.heads - 1);
    case FormulaVariable::g:
      return always(rows.group);
    case FormulaVariable::b:
      return always(sequence.number);
    case FormulaVariable::sq:
      return always(sequence.num_queries);
    case FormulaVariable::skv:
      return always(sequence.num_keys);
    case FormulaVariable::d:
      return always(sequence.head_dim);
    case FormulaVariable::s:
      break;
  }
  return ValueRange::anything();
}

void FormulaRanges::compute(std::int32_t n, std::int64_t count) {
  const FormulaInstruction& instruction = program_->formula().instructions[n];
  const int operands = count_operands(instruction.operation);
  ValueRange* out = ranges(n);
  for (std::int64_t box = 0; box < count; ++box) {
    ValueRange of[3];
    for (int i = 0; i < operands; ++i) {
      const std::int32_t from = operand(instruction, i);
      of[i] = ranges(from)[varies(from) ? box : 0];
    }
    out[box] = combine(n, instruction.operation, of[0], of[1], of[2]);
  }
}

/// The value that the vector program computes.
float FormulaRanges::value(FormulaOperation operation, float a, float b) const {
  float as[kMostLanes], bs[kMostLanes], out[kMostLanes];
  std::fill_n(as, kernels_->lanes, a);
  std::fill_n(bs, kernels_->lanes, b);
  kernels_->formula_steps[static_cast<std::size_t>(operation)]({{as, bs, nullptr}, {0, 0, 0}, nullptr, out},
                                                               kernels_->lanes);
  return out[0];
}

/// Of a function that ascends.
ValueRange FormulaRanges::monotone(FormulaOperation operation, ValueRange a) const {
  return widened({value(operation, a.low), value(operation, a.high), a.nan});
}

ValueRange FormulaRanges::combine(std::int32_t n, FormulaOperation operation, ValueRange a, ValueRange b,
                                  ValueRange c) const {
  const bool nan = a.nan || b.nan;
  const auto positive = [&](FormulaOperation function) {  // of sqrt and log, which know no negative numbers
    if (a.low >= 0.0f) return monotone(function, a);
    if (a.high < 0.0f) return ValueRange::anything();
    return monotone(function, {0.0f, a.high, true});
  };
  switch (operation) {
    case FormulaOperation::table1:
      return look_up1(n, a);
    case FormulaOperation::table2:
      return look_up2(n, a, b);
    case FormulaOperation::negate:
      return negate(a);
    case FormulaOperation::abs:
      return absolute(a);
    case FormulaOperation::floor:
      return {std::floor(a.low), std::floor(a.high), nan};
    case FormulaOperation::sign:
      return {sign(a.low), sign(a.high), nan};
    case FormulaOperation::sqrt:
    case FormulaOperation::log:
      return positive(operation);
    case FormulaOperation::exp:
    case FormulaOperation::tanh:
      return monotone(operation, a);
    case FormulaOperation::sin:
    case FormulaOperation::cos:
      if (a.is_point() && !a.has_infinity()) return ValueRange::of(value(operation, a.low));
      return {-1.0f, 1.0f, nan || a.has_infinity()};
    case FormulaOperation::logical_not:
      return ValueRange::truth(a.maybe_false(), a.maybe_true());
    case FormulaOperation::add:
      return add(a, b);
    case FormulaOperation::subtract:
      return add(a, negate(b));
    case FormulaOperation::multiply:
      return multiply(a, b);
    case FormulaOperation::divide:
      return divide(a, b);
    case FormulaOperation::remainder:
      return remainder(a, b);
    case FormulaOperation::power:
      return power(a, b);
    case FormulaOperation::minimum:
      return {std::min(a.low, b.low), std::min(a.high, b.high), nan};
    case FormulaOperation::maximum:
      return {std::max(a.low, b.low), std::max(a.high, b.high), nan};
    case FormulaOperation::less:
      return ValueRange::truth(a.low < b.high, nan || a.high >= b.low);
    case FormulaOperation::less_or_equal:
      return ValueRange::truth(a.low <= b.high, nan || a.high > b.low);
    case FormulaOperation::equal:
    case FormulaOperation::not_equal: {
      const bool maybe_equal = a.low <= b.high && b.low <= a.high;
      const bool maybe_different = nan || !(a.is_point() && b.is_point() && a.low == b.low);
      return operation == FormulaOperation::equal ? ValueRange::truth(maybe_equal, maybe_different)
                                                  : ValueRange::truth(maybe_different, maybe_equal);
    }
    case FormulaOperation::logical_and:
      return ValueRange::truth(a.maybe_true() && b.maybe_true(), a.maybe_false() || b.maybe_false());
    case FormulaOperation::logical_or:
      return ValueRange::truth(a.maybe_true() || b.maybe_true(), a.maybe_false() && b.maybe_false());
    case FormulaOperation::select: {
      ValueRange range;
      if (a.maybe_true()) range.include(b);
      if (a.maybe_false()) range.include(c);
      return range;
    }
    case FormulaOperation::number:
    case FormulaOperation::variable:
    case FormulaOperation::parameter:
      break;  // of no operands
  }
  return ValueRange::anything();
}

/// x^y has its extremes at the corners where x > 0. For other x, y must be a whole number that is known.
ValueRange FormulaRanges::power(ValueRange a, ValueRange b) const {
  if (a.has_infinity() || b.has_infinity()) return ValueRange::anything();
  const auto corners = [&](ValueRange x) {
    ValueRange range =
        widened(around_corners(x, b, [&](float u, float v) { return value(FormulaOperation::power, u, v); }));
    range.nan |= a.nan || b.nan;
    return range;
  };
  if (a.low > 0.0f) return corners(a);
  const bool known = b.is_point() && is_whole(b.low) && b.low > 0.0f;
  if (!known) return ValueRange::anything();
  return std::fmod(b.low, 2.0f) == 0.0f ? corners(absolute(a)) : corners(a);
}

/// Within one turn of a known divisor the remainder ascends.
ValueRange FormulaRanges::remainder(ValueRange a, ValueRange b) const {
  const float largest = b.magnitude();
  if (b.is_point() && largest > 0.0f && largest < kInfinity && !a.has_infinity()) {
    const double first = static_cast<double>(a.low) / largest, last = static_cast<double>(a.high) / largest;
    const bool one_sign = a.low >= 0.0f || a.high <= 0.0f;
    if (one_sign && std::trunc(first) == std::trunc(last) && std::abs(first) < 0x1p24 && std::abs(last) < 0x1p24)
      return {value(FormulaOperation::remainder, a.low, b.low), value(FormulaOperation::remainder, a.high, b.low),
              a.nan};
  }
  return {a.low < 0.0f ? std::max(a.low, -largest) : 0.0f, a.high > 0.0f ? std::min(a.high, largest) : 0.0f,
          a.nan || b.nan || b.has(0.0f) || a.has_infinity()};
}

namespace {

/// All elements may have been NaN.
ValueRange filled(ValueRange range) { return range.low <= range.high ? range : ValueRange::anything(); }

/// The indices of an axis that a range reaches, and whether it also reaches beyond the axis.
struct Reached {
  std::int64_t begin, end;
  bool beyond;
};

Reached reached_by(ValueRange index, std::int32_t extent) {
  const double low = std::floor(index.low), high = std::floor(index.high);
  const double first = std::max(low, 0.0), last = std::min(high, extent - 1.0);
  const bool beyond = index.nan || low < 0.0 || high > extent - 1.0;
  return first <= last ? Reached{static_cast<std::int64_t>(first), static_cast<std::int64_t>(last) + 1, beyond}
                       : Reached{0, 0, true};
}

}  // namespace

ValueRange FormulaRanges::look_up1(std::int32_t n, ValueRange index) const {
  const Formula& formula = program_->formula();
  const Reached at = reached_by(index, formula.tables[formula.instructions[n].a].columns);
  ValueRange range = tables_->of(n, at.begin, at.end);
  if (at.beyond) range.include(0.0f);
  return filled(range);
}

ValueRange FormulaRanges::look_up2(std::int32_t n, ValueRange row, ValueRange column) const {
  constexpr std::int64_t kMostRows = 16;  // more are taken whole
  const Formula& formula = program_->formula();
  const FormulaTable& table = formula.tables[formula.instructions[n].a];
  const Reached rows = reached_by(row, table.rows), columns = reached_by(column, table.columns);
  ValueRange range;
  const std::int64_t width = table.columns;
  if (rows.end - rows.begin > kMostRows) range = tables_->of(n, rows.begin * width, rows.end * width);
  for (std::int64_t r = rows.begin; r < rows.end && rows.end - rows.begin <= kMostRows; ++r)
    range.include(tables_->of(n, r * width + columns.begin, r * width + columns.end));
  if (rows.beyond || columns.beyond) range.include(0.0f);
  return filled(range);
}

}  // namespace headwise
