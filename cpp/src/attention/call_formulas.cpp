#include "attention/call_formulas.h"

#include "base/memory.h"

namespace headwise {

void CallFormulas::compile(const AttentionOptions& options) {
  if (options.score) score_.compile(*options.score);
  if (!options.visible) return;
  if (options.visible->result >= 0) {
    rest_formula_ = *options.visible;
    rest_formula_.num_bounds = 0;
    rest_.compile(rest_formula_);
  }
  if (options.visible->num_bounds > 0) {
    bounds_formula_ = *options.visible;
    bounds_formula_.result = -1;
    bounds_program_.compile(bounds_formula_);
  }
}

Status CallFormulas::prepare(ThreadPool& pool, const AttentionShape& shape, const Sequence* sequences,
                             std::int64_t num_sequences, const KernelTable& kernels) {
  if (rest_) {
    if (Status status = tables_.read(rest_); !status.ok()) return status;
  }
  return bounds_program_ ? bounds_.find(pool, shape, sequences, num_sequences, bounds_program_, kernels) : Status();
}

std::int64_t TileFormulas::bytes(const CallFormulas& formulas, const KernelTable& kernels, const FormulaRoom& room,
                                 std::int64_t boxes) {
  std::int64_t bytes = 0;
  if (formulas.score()) bytes += FormulaTile::bytes(formulas.score(), kernels, room);
  if (formulas.rest())
    bytes += FormulaTile::bytes(formulas.rest(), kernels, room) + FormulaRanges::bytes(formulas.rest(), boxes);
  return bytes;
}

void TileFormulas::place(char* memory, const CallFormulas& formulas, const KernelTable& kernels,
                         const FormulaRoom& room, std::int64_t boxes) {
  if (formulas.score()) {
    score.place(memory, formulas.score(), kernels, room);
    memory += FormulaTile::bytes(formulas.score(), kernels, room);
  }
  if (!formulas.rest()) return;
  ranges.place(memory, formulas.rest(), formulas.tables(), kernels);
  visible.place(memory + FormulaRanges::bytes(formulas.rest(), boxes), formulas.rest(), kernels, room);
}

void TileFormulas::set_rows(const CallFormulas& formulas, const FormulaSequence& of, const FormulaRows& these) {
  sequence = of;
  rows = these;
  if (formulas.score()) score.set_rows(sequence, rows);
  if (formulas.rest()) visible.set_rows(sequence, rows);
}

}  // namespace headwise
