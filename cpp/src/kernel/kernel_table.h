#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/row_run.h"

namespace headwise {

/// The innermost loops, one table per instruction set. Everything outside works on these and on plain float32 scratch.
///
/// A *panel* is a slice of `panel_width` columns of a matrix with `depth` rows, stored row after row, zero-padded to
/// full width: panels[p][row][column]. Row strides (`lda`, `ldc`, …) are in floats.
///
/// The functions are reached through pointers on purpose: V8 has no on-stack replacement for wasm, so a hot loop must
/// be a function that is entered often, and the optimiser must not inline it into its caller.
struct KernelTable {
  const char* name;
  int lanes;        ///< floats in a vector
  int panel_width;  ///< columns of a panel: two vectors
  int row_block;    ///< rows that `multiply` takes at a time: pad row counts to a multiple of it

  /// C[rows x panels] (+)= A[rows x depth] * B; rows must be a multiple of row_block; panels lie `panel_stride` floats
  /// apart; writes `panels` * panel_width columns of C. Every element is the sum over depth in ascending order,
  /// whatever the shape.
  void (*multiply)(const float* a, std::ptrdiff_t lda, const float* b_panels, std::ptrdiff_t panel_stride,
                   std::int64_t depth, std::int64_t panels, float* c, std::ptrdiff_t ldc, std::int64_t rows,
                   bool accumulate);

  /// Packs `run` (rows x columns) transposed: rows become columns of panels of depth `columns`, starting at panel
  /// column `first` (any value). Does not pad.
  void (*pack_transposed)(const RowRun& run, std::int64_t columns, std::int64_t first, float* panels);

  /// Packs `run` (rows x columns) as it is into panels of depth `depth`, rows starting at `first`. Pads columns.
  void (*pack)(const RowRun& run, std::int64_t columns, std::int64_t first, std::int64_t depth, float* panels);

  /// Widens `run` to float32 rows of stride `ld`.
  void (*widen)(const RowRun& run, std::int64_t columns, float* rows, std::ptrdiff_t ld);

  /// scores[r][j] = sum_d query[r][d] * keys[j][d], straight from rows with neighbouring columns; for few query rows.
  void (*dot_rows)(const float* query, std::ptrdiff_t ldq, std::int64_t rows, const RowRun& keys, std::int64_t depth,
                   float* scores, std::ptrdiff_t lds);

  /// out[r][:] += sum_j weights[r][j] * values[j][:], straight from rows with neighbouring columns; for few query rows.
  void (*weighted_sum)(const float* weights, std::ptrdiff_t ldw, std::int64_t rows, const RowRun& values,
                       std::int64_t columns, float* out, std::ptrdiff_t ldo);

  /// One step of the online softmax on one row (count a multiple of lanes; pad with -inf): raises the running maximum
  /// over scores[0..count), replaces the scores by exp(score - maximum), rescales `sum` and adds to it, and returns the
  /// factor by which what was accumulated so far must be scaled. A maximum of -inf (nothing visible yet) gives weights
  /// 0 and factor 1. A NaN or +inf among the scores, now or before, makes maximum, sum, factor and all weights but
  /// those of -inf NaN.
  float (*softmax_step)(float* scores, std::int64_t count, float* maximum, float* sum);

  /// values[i] = exp(values[i] - maximum) * factor; -inf gives 0, else a NaN anywhere gives NaN.
  void (*exponentials)(float* values, std::int64_t count, float maximum, float factor);

  /// scores[i] = cap * tanh(scores[i] / cap).
  void (*softcap)(float* scores, std::int64_t count, float cap);

  /// values[i] *= factor.
  void (*scale)(float* values, std::int64_t count, float factor);
};

/// The table that calls compute with: the best one this machine runs (native: by CPU detection; wasm: the module's
/// own).
const KernelTable& kernel_table();

/// For tests and benches: `table` instead of the best one, which null brings back. Not while a call runs. A wasm module
/// has but one and stays with it.
void use_kernel_table(const KernelTable* table);

/// All tables this machine runs, best first; for tests and benches. `index` past the end gives nullptr.
const KernelTable* kernel_table_at(int index);

}  // namespace headwise
