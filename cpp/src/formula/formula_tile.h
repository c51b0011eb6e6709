#pragma once

#include <cstdint>

#include "base/memory.h"
#include "formula/formula_program.h"
#include "kernel/kernel_table.h"
#include "source/sequence.h"

namespace headwise {

/// The largest tile that a FormulaTile has room for.
struct FormulaRoom {
  std::int64_t rows, heads, keys;  ///< heads: those that a tile can have; keys: a multiple of the vector width
  std::int64_t boxes = 0;          ///< that FormulaRanges is asked for at a time
};

/// Evaluates a program for the rows and keys of a tile. Values stay as they are until the next rows, or the next keys,
/// are set.
class FormulaTile {
 public:
  void place(Placement& place, const FormulaProgram& program, const KernelTable& kernels, const FormulaRoom& room);

  /// Computes what depends on no key.
  void set_rows(const Rows& rows);
  /// Computes what depends on no single row, for keys [begin, end) of the sequence.
  void set_keys(std::int64_t begin, std::int64_t end);

  /// The value of instruction n, which must be of rate uniform or row, for a row.
  [[nodiscard]] float row_value(std::int32_t n, std::int64_t r) const;

  /// scores[j] = score(scores[j], ...) for keys [begin, end) and row r. The scores up to the next multiple of the
  /// vector width may be overwritten. Sets keys that have not been set.
  void rescore(std::int64_t r, std::int64_t begin, std::int64_t end, float* scores);
  /// visible[j] = 0 where the result is 0.
  void hide(std::int64_t r, std::int64_t begin, std::int64_t end, std::uint8_t* visible);

  /// Computes all that the program's caller wants for keys [begin, end), which are set, and row r. The scores up to the
  /// next multiple of the vector width are read.
  void evaluate(std::int64_t r, std::int64_t begin, std::int64_t end, float* scores);
  /// out[j] = the value of instruction n that evaluate() has computed for its j-th key.
  void copy_values(std::int32_t n, std::int64_t count, float* out) const;

 private:
  template <class Visit>
  void for_each_chunk(std::int64_t begin, std::int64_t end, Visit visit);
  void run(FormulaRate rate, std::int64_t count);
  void run_step(std::int32_t n, std::int64_t count);
  void fill_variable(std::int32_t n, std::int64_t count);
  void fill_positions(float* out, std::int64_t count) const;
  void fill_distances(std::int32_t n, std::int64_t count);
  void spread_rows(std::int64_t r);
  void point_at(FormulaRate rate, float* kept, std::int64_t stride);
  void compute_distances(std::int64_t slot);
  void run_pairs(std::int64_t r, std::int64_t first, std::int64_t count, float* scores, float* out);
  void run_result(std::int64_t r, std::int64_t first, std::int64_t count, float* scores, float* out);
  [[nodiscard]] bool has_jump() const;
  [[nodiscard]] std::int64_t slots() const;
  [[nodiscard]] const Sequence& sequence() const { return *rows_.sequence; }
  [[nodiscard]] std::int64_t last_query() const { return rows_.query(rows_.size() - 1); }

  const FormulaProgram* program_ = nullptr;
  const KernelTable* kernels_ = nullptr;
  FormulaRoom room_;
  std::int64_t step_;  ///< floats of a value that is the same for all keys
  std::int64_t row_stride_, key_stride_, distance_stride_;
  float* uniforms_;         ///< [values, step]
  float* row_values_;       ///< [kept and registers, row_stride]
  float* spread_;           ///< [kept rows, step]: those of the current row
  float* key_values_;       ///< [slots, kept, key_stride]
  float* distance_values_;  ///< [slots, kept, distance_stride]: ascending k - q
  float* registers_[kFormulaRates];
  float* results_;  ///< [kept values of pairs, or 1, key_stride]

  Rows rows_;
  std::int64_t begin_ = 0, end_ = 0;       ///< the keys that are set
  std::int64_t distance_row_ = 0;          ///< the row whose distances are computed, where positions jump
  float* data_[kMostProgramInstructions];  ///< where the value of each instruction lies now
  FormulaRate phase_;                      ///< the rate that runs
};

}  // namespace headwise
