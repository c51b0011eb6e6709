#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/numbers.h"
#include "headwise/array.h"
#include "headwise/formula.h"
#include "kernel/row_run.h"

namespace headwise {

/// What one instruction of a formula reads and writes: rows of floats. An operand that is the same everywhere has step
/// 0 and lies there kStepVectors vectors long; all others have step 1. `out` may be an operand with step 1.
struct StepArrays {
  const float* of[3];
  std::ptrdiff_t step[3];
  const FormulaTable* table;  ///< of a look-up
  float* out;
};

/// Computes one instruction for `count` elements, a multiple of the vector width. The bits of an element depend on its
/// operands alone.
///
/// Errors in ulp of float32: arithmetic, divisions and sqrt 0.5; exp, log, power 0.501; sin and cos 0.501 for
/// |x| <= 2^24, and beyond somewhere in [-1, 1]; tanh 4. A remainder is exact for |a / b| < 2^28, and 0 beyond.
using FormulaStep = void (*)(const StepArrays& arrays, std::int64_t count);

/// One function for each FormulaOperation; null for those that only name a value.
using FormulaSteps = std::array<FormulaStep, kFormulaOperations>;

/// Vectors that a step computes at a time, at most.
constexpr int kStepVectors = 4;

/// Floats of the longest vector.
constexpr int kMostLanes = 16;

/// The innermost loops, one table for each instruction set. All other code uses these functions and plain float32
/// scratch.
///
/// A *panel* is a slice of `panel_width` columns of a matrix with `depth` rows. It is stored row after row, zero-padded
/// to full width: panels[p][row][column]. Row strides (`lda`, `ldc`, …) are in floats.
///
/// The functions are called through pointers on purpose. V8 has no on-stack replacement for wasm, so a hot loop must be
/// in a function that is entered often. The pointer keeps the optimiser from inlining that function into its caller.
struct KernelTable {
  const char* name;
  const char* block;  ///< wasm: rows x vectors that `multiply` computes at a time, such as "2x4"
  int lanes;          ///< floats in a vector
  int panel_width;    ///< columns of a panel: four vectors of 4 floats, or two longer vectors
  int row_step;       ///< row counts of `multiply` are padded to a multiple of it

  /// C = A * B, or C += A * B if `accumulate`. A is [rows, depth]; `rows` must be a multiple of row_step. The panels of
  /// B lie `panel_stride` floats apart. Writes `panels` * panel_width columns of C. Every element is the sum over depth
  /// in ascending order, for every shape.
  void (*multiply)(const float* a, std::ptrdiff_t lda, const float* b_panels, std::ptrdiff_t panel_stride,
                   std::int64_t depth, std::int64_t panels, float* c, std::ptrdiff_t ldc, std::int64_t rows,
                   bool accumulate);

  /// The same product, for an A whose columns lie as rows: `a` is [depth, rows].
  void (*multiply_transposed)(const float* a, std::ptrdiff_t lda, const float* b_panels, std::ptrdiff_t panel_stride,
                              std::int64_t depth, std::int64_t panels, float* c, std::ptrdiff_t ldc, std::int64_t rows,
                              bool accumulate);

  /// C += A * B like `multiply`, for panels that come from memory rather than from a cache, and for any number of rows.
  /// They are float32, float16 or bfloat16. Every element has the bits that `multiply` gives it for the widened
  /// numbers. `next` is a panel of this depth and type that is read after these, or null.
  void (*multiply_streamed)(const float* a, std::ptrdiff_t lda, ConstArray b_panels, std::ptrdiff_t panel_stride,
                            std::int64_t depth, std::int64_t panels, const void* next, float* c, std::ptrdiff_t ldc,
                            std::int64_t rows);

  /// Packs `run` (rows x columns) transposed: its rows become columns of panels of depth `columns`. The first row
  /// becomes column `first`, which may be any column. Does not pad.
  void (*pack_transposed)(const RowRun& run, std::int64_t columns, std::int64_t first, float* panels);

  /// Packs `run` (rows x columns) as it is into panels of depth `depth`. Its first row becomes row `first`. Pads
  /// columns.
  void (*pack)(const RowRun& run, std::int64_t columns, std::int64_t first, std::int64_t depth, float* panels);

  /// Widens `run` to float32 rows of stride `ld`.
  void (*widen)(const RowRun& run, std::int64_t columns, float* rows, std::ptrdiff_t ld);

  /// scores[r][j] = sum_d query[r][d] * keys[j][d], for few query rows. Reads the keys where they lie; their column
  /// stride must be 1.
  void (*dot_rows)(const float* query, std::ptrdiff_t ldq, std::int64_t rows, const RowRun& keys, std::int64_t depth,
                   float* scores, std::ptrdiff_t lds);

  /// out[r][:] += sum_j weights[r][j] * values[j][:], for few query rows. Reads the values where they lie; their column
  /// stride must be 1.
  void (*weighted_sum)(const float* weights, std::ptrdiff_t ldw, std::int64_t rows, const RowRun& values,
                       std::int64_t columns, float* out, std::ptrdiff_t ldo);

  /// Y += X * W for few rows of X. Reads the weight where it lies: row i of `weight` has the weights of input i. Its
  /// column stride must be 1. Its scales are not applied. Every element has the bits that `multiply` gives it.
  void (*multiply_stored)(const float* x, std::ptrdiff_t ldx, std::int64_t rows, const RowRun& weight,
                          std::int64_t columns, float* y, std::ptrdiff_t ldy);

  /// The same for a weight of float32, float16 or bfloat16 whose row o has the weights of output o, `depth` of them. Y
  /// has room for a multiple of four vectors of columns; what lies after the last column is overwritten.
  void (*multiply_stored_transposed)(const float* x, std::ptrdiff_t ldx, std::int64_t rows, const RowRun& weight,
                                     std::int64_t depth, float* y, std::ptrdiff_t ldy);

  /// One step of the online softmax on one row. `count` must be a multiple of lanes; pad with -inf. Raises the running
  /// maximum over scores[0..count), replaces each score by its weight exp(score - maximum), rescales `sum` and adds the
  /// weights to it. Returns the factor by which the output accumulated so far must be scaled. A maximum of -inf means
  /// that nothing is visible yet; weights are then 0 and the factor is 1. A NaN or +inf among the scores, now or
  /// before, makes maximum, sum, factor and weights NaN. Only the weights of scores of -inf are then 0.
  float (*softmax_step)(float* scores, std::int64_t count, float* maximum, float* sum);

  /// values[i] = exp(values[i] - maximum) * factor. A value of -inf gives 0. Otherwise a NaN anywhere gives NaN.
  void (*exponentials)(float* values, std::int64_t count, float maximum, float factor);

  /// One row of the softmax's gradient. `count` must be a multiple of lanes. Replaces each score by its weight
  /// p = exp(score - lse), and each product by the score's gradient p * (gain * product - delta). Where the weight is
  /// 0, as for a score of -inf, the gradient is 0, whatever the product, lse and delta are. Returns the sum of p *
  /// product.
  float (*gradient_step)(float* scores, float* products, std::int64_t count, float lse, float delta, float gain);

  /// scores[i] = cap * tanh(scores[i] / cap).
  void (*softcap)(float* scores, std::int64_t count, float cap);

  /// values[i] *= factor.
  void (*scale)(float* values, std::int64_t count, float factor);

  /// scores[i] -= slope * |start - i|. All distances must be whole numbers below 2^24, which float32 holds exactly.
  void (*subtract_distances)(float* scores, std::int64_t count, float slope, float start);

  /// scores[i] += bias[i]; -inf where the bias is -inf, even if the score is NaN. Returns whether a bias is -inf.
  bool (*add_bias)(ConstArray bias, std::int64_t count, float* scores);

  /// scores[i] = -inf where visible[i] is 0. Returns whether some byte is not 0.
  bool (*hide)(float* scores, const std::uint8_t* visible, std::int64_t count);

  /// The instructions of formulas.
  FormulaSteps formula_steps;

  /// y += x * W for one row x, and a weight of int8 whose row o has the weights of output o. Its scales are not
  /// applied. A block of x is multiplied as whole numbers, without an error; the sums of blocks are added in order.
  void (*multiply_bytes)(const FixedPoint& x, const RowRun& weight, float* y);
};

/// The table that calls compute with: the best one this machine runs. Native code detects the CPU. The tables of a wasm
/// module give the same bits; `BlockRace` chooses one while calls run.
const KernelTable& kernel_table();

/// Computes with `table` from now on, or with the first one again if null. Not while a call runs.
void use_kernel_table(const KernelTable* table);

/// The tables this machine runs; native: best first. An `index` past the end gives nullptr.
const KernelTable* kernel_table_at(int index);

}  // namespace headwise
