#include "formula/formula_tile.h"

#include <algorithm>

#include "base/memory.h"
#include "formula/formula_program.h"

namespace headwise {

void FormulaTile::place(Placement& place, const FormulaProgram& program, const KernelTable& kernels,
                        const FormulaRoom& room) {
  program_ = &program;
  kernels_ = &kernels;
  room_ = room;
  const auto take = [&](std::int64_t rows, std::int64_t columns) { return place.take<float>(rows, columns); };
  const auto kept = [&](FormulaRate rate) { return program.kept(rate); };
  const auto set_registers = [&](FormulaRate rate, std::int64_t stride) {
    registers_[static_cast<int>(rate)] = take(program.registers(rate), stride);
  };
  const std::int64_t lanes = kernels.lanes;
  step_ = kStepVectors * lanes;
  row_stride_ = round_up(room_.rows, lanes);
  key_stride_ = round_up(room_.keys, lanes);
  // A row with all keys of the tile reads whole vectors, from any distance on.
  distance_stride_ = round_up(room_.rows + key_stride_, lanes);
  uniforms_ = take(kept(FormulaRate::uniform), step_);
  set_registers(FormulaRate::uniform, step_);
  row_values_ = take(kept(FormulaRate::row), row_stride_);
  set_registers(FormulaRate::row, row_stride_);
  spread_ = take(kept(FormulaRate::row), step_);
  key_values_ = take(room_.heads * kept(FormulaRate::key), key_stride_);
  set_registers(FormulaRate::key, key_stride_);
  distance_values_ = take(room_.heads * kept(FormulaRate::distance), distance_stride_);
  set_registers(FormulaRate::distance, distance_stride_);
  set_registers(FormulaRate::pair, key_stride_);
  results_ = take(std::max(kept(FormulaRate::pair), 1), key_stride_);
}

std::int64_t FormulaTile::slots() const { return std::min(rows_.heads, rows_.size()); }

bool FormulaTile::has_jump() const {
  const KeyPositions& positions = sequence().positions;
  return positions.dropped > 0 && begin_ < positions.kept && positions.kept < end_;
}

void FormulaTile::set_rows(const Rows& rows) {
  rows_ = rows;
  begin_ = end_ = 0;
  point_at(FormulaRate::uniform, uniforms_, step_);
  run(FormulaRate::uniform, step_);
  point_at(FormulaRate::row, row_values_, row_stride_);
  run(FormulaRate::row, round_up(rows.size(), kernels_->lanes));
}

float FormulaTile::row_value(std::int32_t n, std::int64_t r) const {
  const FormulaProgram::Value& value = program_->value(n);
  return value.rate == FormulaRate::uniform ? uniforms_[value.place * step_]
                                            : row_values_[value.place * row_stride_ + r];
}

void FormulaTile::set_keys(std::int64_t begin, std::int64_t end) {
  begin_ = begin;
  end_ = end;
  distance_row_ = -1;
  const bool keys = program_->has(FormulaRate::key), distances = program_->has(FormulaRate::distance);
  for (std::int64_t slot = 0; slot < slots() && (keys || distances); ++slot) {
    spread_rows(slot);
    point_at(FormulaRate::key, key_values_ + slot * program_->kept(FormulaRate::key) * key_stride_, key_stride_);
    run(FormulaRate::key, round_up(end - begin, kernels_->lanes));
    if (distances && !has_jump()) compute_distances(slot);
  }
}

void FormulaTile::compute_distances(std::int64_t slot) {
  const std::int64_t lanes = kernels_->lanes;
  const std::int64_t queries = distance_row_ >= 0 ? 1 : last_query() - rows_.query(0) + 1;
  point_at(FormulaRate::distance, distance_values_ + slot * program_->kept(FormulaRate::distance) * distance_stride_,
           distance_stride_);
  run(FormulaRate::distance, round_up(queries - 1 + round_up(end_ - begin_, lanes), lanes));
}

/// Sets the places of the values of a rate: of the kept ones, and of the registers.
void FormulaTile::point_at(FormulaRate rate, float* kept, std::int64_t stride) {
  program_->for_each(rate, [&](std::int32_t n) {
    const FormulaProgram::Value& value = program_->value(n);
    data_[n] = (value.kept ? kept : registers_[static_cast<int>(rate)]) + value.place * stride;
  });
}

/// Makes steps of the values of row r, for the instructions of later rates.
void FormulaTile::spread_rows(std::int64_t r) {
  program_->for_each(FormulaRate::row, [&](std::int32_t n) {
    const FormulaProgram::Value& value = program_->value(n);
    if (!value.kept) return;
    data_[n] = spread_ + value.place * step_;
    std::fill_n(data_[n], step_, row_values_[value.place * row_stride_ + r]);
  });
}

void FormulaTile::run(FormulaRate rate, std::int64_t count) {
  phase_ = rate;
  program_->for_each(rate, [&](std::int32_t n) { run_step(n, count); });
}

void FormulaTile::run_step(std::int32_t n, std::int64_t count) {
  const Formula& formula = program_->formula();
  const FormulaInstruction& instruction = formula.instructions[n];
  if (instruction.operation == FormulaOperation::variable) return fill_variable(n, count);
  if (instruction.operation <= FormulaOperation::parameter) {
    std::fill_n(data_[n], count, formula.numbers[instruction.a]);
    return;
  }
  if (phase_ == FormulaRate::distance && program_->is_distance(n)) return fill_distances(n, count);
  StepArrays arrays{};
  const int operands = count_operands(instruction.operation);
  for (int i = 0; i < operands; ++i) {
    const std::int32_t of = operand(instruction, i);
    const FormulaRate rate = program_->value(of).rate;
    arrays.of[i] = data_[of];
    // Steps of earlier rates stand still.
    arrays.step[i] = rate == phase_ || rate > FormulaRate::row ? 1 : 0;
  }
  if (is_look_up(instruction.operation)) arrays.table = formula.tables + instruction.a;
  arrays.out = data_[n];
  kernels_->formula_steps[static_cast<std::size_t>(instruction.operation)](arrays, count);
}

void FormulaTile::fill_variable(std::int32_t n, std::int64_t count) {
  float* out = data_[n];
  const auto same = [&](std::int64_t value) { std::fill_n(out, count, static_cast<float>(value)); };
  const auto for_each_row = [&](auto value) {
    for (std::int64_t r = 0; r < count; ++r) out[r] = static_cast<float>(value(std::min(r, rows_.size() - 1)));
  };
  switch (static_cast<FormulaVariable>(program_->formula().instructions[n].a)) {
    case FormulaVariable::s:  // already there
      return;
    case FormulaVariable::q:
      return for_each_row([&](std::int64_t r) { return rows_.query(r) + sequence().offset; });
    case FormulaVariable::i:
      return for_each_row([&](std::int64_t r) { return rows_.query(r); });
    case FormulaVariable::h:
      return for_each_row([&](std::int64_t r) { return rows_.head(r); });
    case FormulaVariable::g:
      return for_each_row([&](std::int64_t) { return rows_.group; });
    case FormulaVariable::k:
      return fill_positions(out, count);
    case FormulaVariable::j:
      for (std::int64_t j = 0; j < count; ++j) out[j] = static_cast<float>(begin_ + j);
      return;
    case FormulaVariable::b:
      return same(sequence().number);
    case FormulaVariable::sq:
      return same(sequence().num_queries);
    case FormulaVariable::skv:
      return same(sequence().num_keys);
    case FormulaVariable::d:
      return same(sequence().head_dim);
  }
}

void FormulaTile::fill_positions(float* out, std::int64_t count) const {
  for (std::int64_t j = 0; j < count; ++j) out[j] = static_cast<float>(sequence().positions.of(begin_ + j));
}

/// k - q or q - k. The first key and the last query have the smallest k - q.
void FormulaTile::fill_distances(std::int32_t n, std::int64_t count) {
  float* out = data_[n];
  const FormulaInstruction& instruction = program_->formula().instructions[n];
  const bool ascends = program_->formula().instructions[instruction.a].a == static_cast<int>(FormulaVariable::k);
  const std::int64_t query = distance_row_ >= 0 ? rows_.query(distance_row_) : last_query();
  const std::int64_t position = query + sequence().offset, sign = ascends ? 1 : -1;
  if (distance_row_ >= 0) {
    for (std::int64_t j = 0; j < count; ++j)
      out[j] = static_cast<float>(sign * (sequence().positions.of(begin_ + j) - position));
    return;
  }
  const std::int64_t first = sequence().positions.of(begin_) - position;
  for (std::int64_t d = 0; d < count; ++d) out[d] = static_cast<float>(sign * (first + d));
}

/// Computes the values of pairs of row r and `count` keys from key `first` of the tile on. Kept values lie from `out`
/// on.
void FormulaTile::run_pairs(std::int64_t r, std::int64_t first, std::int64_t count, float* scores, float* out) {
  const std::int64_t slot = r % slots();
  spread_rows(r);
  point_at(FormulaRate::key, key_values_ + slot * program_->kept(FormulaRate::key) * key_stride_ + first, key_stride_);
  if (program_->has(FormulaRate::distance)) {
    if (has_jump() && distance_row_ != r) {
      distance_row_ = r;
      compute_distances(slot);
    }
    const std::int64_t behind = distance_row_ >= 0 ? 0 : last_query() - rows_.query(r);
    point_at(FormulaRate::distance,
             distance_values_ + slot * program_->kept(FormulaRate::distance) * distance_stride_ + behind + first,
             distance_stride_);
  }
  point_at(FormulaRate::pair, out, key_stride_);
  program_->for_each(FormulaRate::pair, [&](std::int32_t n) {
    if (program_->formula().instructions[n].operation == FormulaOperation::variable) data_[n] = scores;
  });
  run(FormulaRate::pair, round_up(count, kernels_->lanes));
}

/// The same for a program that has no values but its result. It is written to `out`, which may be `scores`.
void FormulaTile::run_result(std::int64_t r, std::int64_t first, std::int64_t count, float* scores, float* out) {
  const std::int32_t result = program_->formula().result;
  run_pairs(r, first, count, scores, out);
  if (program_->value(result).rate != FormulaRate::pair) copy_values(result, count, out);
}

void FormulaTile::copy_values(std::int32_t n, std::int64_t count, float* out) const {
  const FormulaRate rate = program_->value(n).rate;
  if (rate == FormulaRate::uniform || rate == FormulaRate::row)
    std::fill_n(out, count, *data_[n]);
  else
    std::copy_n(data_[n], count, out);
}

void FormulaTile::evaluate(std::int64_t r, std::int64_t begin, std::int64_t end, float* scores) {
  run_pairs(r, begin - begin_, end - begin, scores, results_);
}

/// Calls visit(first, count, at) for the keys that are set at a time: `first` is counted from the first key that is
/// set, `at` from `begin`.
template <class Visit>
void FormulaTile::for_each_chunk(std::int64_t begin, std::int64_t end, Visit visit) {
  for (std::int64_t j = begin; j < end;) {
    if (j < begin_ || j >= end_) set_keys(j, std::min(j + room_.keys, end));
    const std::int64_t last = std::min(end, end_);
    visit(j - begin_, last - j, j - begin);
    j = last;
  }
}

void FormulaTile::rescore(std::int64_t r, std::int64_t begin, std::int64_t end, float* scores) {
  for_each_chunk(begin, end, [&](std::int64_t first, std::int64_t count, std::int64_t at) {
    run_result(r, first, count, scores + at, scores + at);
  });
}

void FormulaTile::hide(std::int64_t r, std::int64_t begin, std::int64_t end, std::uint8_t* visible) {
  for_each_chunk(begin, end, [&](std::int64_t first, std::int64_t count, std::int64_t at) {
    run_result(r, first, count, nullptr, results_);
    for (std::int64_t j = 0; j < count; ++j) visible[at + j] &= static_cast<std::uint8_t>(results_[j] != 0.0f);
  });
}

}  // namespace headwise
