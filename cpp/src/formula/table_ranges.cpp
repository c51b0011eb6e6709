#include "formula/table_ranges.h"

#include "base/memory.h"
#include "formula/formula_rules.h"

namespace headwise {

namespace {

constexpr std::int64_t kBlock = 16;

std::int64_t size_of(const FormulaTable& table) { return static_cast<std::int64_t>(table.rows) * table.columns; }

/// Blocks of all levels.
std::int64_t count_blocks(std::int64_t size) {
  std::int64_t count = 0;
  while (size > 1) count += size = divide_up(size, kBlock);
  return count;
}

/// Makes the blocks of each level from those of the level below. Ends with one block.
template <class T>
void read_level(const T* elements, std::int64_t size, ValueRange* blocks) {
  if (size <= 1) return;
  for (std::int64_t i = 0; i < size; i += kBlock) {
    ValueRange range;
    for (std::int64_t e = i; e < std::min(i + kBlock, size); ++e) range.include(elements[e]);
    blocks[i / kBlock] = range;
  }
  const std::int64_t count = divide_up(size, kBlock);
  read_level(blocks, count, blocks + count);
}

}  // namespace

Status TableRanges::read(const FormulaProgram& program) {
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
    count += count_blocks(size_of(formula.tables[table]));
  });
  if (!blocks_.allocate(count)) return Status::out_of_memory(count * static_cast<std::int64_t>(sizeof(ValueRange)));
  std::int64_t read = 0;
  for_each_look_up([&](std::int32_t n, std::int32_t table) {
    if (first_[n] < read) return;
    const std::int64_t size = size_of(formula.tables[table]);
    read_level(formula.tables[table].data, size, blocks_.data() + first_[n]);
    read = first_[n] + count_blocks(size);
  });
  return {};
}

ValueRange TableRanges::of(std::int32_t n, std::int64_t begin, std::int64_t end) const {
  const FormulaTable& table = program_->formula().tables[program_->formula().instructions[n].a];
  ValueRange range;
  const auto include_ends = [&](const auto* elements) {
    while (begin < end && begin % kBlock != 0) range.include(elements[begin++]);
    while (begin < end && end % kBlock != 0) range.include(elements[--end]);
    begin /= kBlock, end /= kBlock;
  };
  include_ends(table.data);
  const ValueRange* level = blocks_.data() + first_[n];
  std::int64_t size = divide_up(size_of(table), kBlock);
  while (begin < end) {
    include_ends(level);
    level += size;
    size = divide_up(size, kBlock);
  }
  return range;
}

}  // namespace headwise
