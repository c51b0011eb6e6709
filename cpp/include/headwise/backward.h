#pragma once

#include <cstdint>

#include "headwise/attention.h"

/// The gradient of attention() with respect to what it read. Names and shapes are those of attention.h.
///
///     dp_ij    = head_gain_h * (do_i . v_j)                  with dropout: / (1 - rate), or 0 if dropped
///     delta_i  = do_i . o_i - dlse_i                         do_i . o_i = sum_j p_ij dp_ij
///     ds_ij    = p_ij (dp_ij - delta_i)                      0 where hidden; the score before the softmax
///     dv_j     = sum over the heads h of the group and i of  head_gain_h w_ij do_i
///     dhead_gain_h = sum_ij w_ij (do_i . v_j)
///     dsink_h  = -sum_i exp(sink_h - lse_i) delta_i
///     ds       = ds * d score / d s                          with a formula; its tables get ds * d score / d entry
///     dbias    = ds                                          summed over the axes along which the bias repeats
///     dalibi_slope_h = -sum_ij ds_ij |i + offset - pi_j|
///     ds       = ds * (1 - (softcapped / softcap)^2)         with softcap
///     dq_i     = scale * sum_j ds_ij k_j,   dk_j = scale * sum ds_ij q_i
///
/// p_ij = exp(s_ij - lse_i) is computed again from the inputs; it errs by half an ulp of lse_i, which counts where
/// scores are in the thousands. No Sq x Skv memory exists, except dbias in the bias's own extents. A row without
/// visible keys gives zero gradients under every EmptyRows policy, but its dq is NaN under `nan`. A hidden pair changes
/// no bit of any gradient, also if its key, value, query or do is NaN. A visible NaN poisons what its row and its key
/// reach; a row whose dlse is not finite is as one whose do is not. A head of gain 0 has no gradients but that of its
/// lse and dhead_gain, whatever its do and values are. The bits do not depend on the number of threads.
///
/// Sources: Dao et al. 2022, appendix B, and Dao 2023 (backward from lse, delta).
namespace headwise {

/// A place where a score formula reads a number or an entry of a table: one instruction of the formula.
/// `derivative`, `row` and `column` are numbers of instructions of ScoreDerivative. row and column say which entry is
/// read; -1 is 0. They are rounded down; outside of the table nothing is added.
struct FormulaRead {
  std::int32_t derivative, row, column;
  std::int32_t rows, columns;  ///< extents of `gradient`; 1, 1 for a number
  float* gradient;             ///< float32 [rows, columns]; several reads may add to one array
};

/// How a score formula is differentiated. `formula.result` is d score / d s. Its instructions also compute what `reads`
/// name. They may read s: the score before the formula.
struct ScoreDerivative {
  Formula formula{};
  const FormulaRead* reads = nullptr;
  std::int64_t num_reads = 0;
};

/// Instructions of a ScoreDerivative.
inline constexpr std::int64_t kMostDerivativeInstructions = 1024;

struct BackwardInputs {
  AttentionInputs forward{};                          ///< as the forward call had them; no cache, no arrival
  ConstArray output{};                                ///< [B, num_heads, Sq, Dv] in `layout`, the forward's result
  const float* lse = nullptr;                         ///< [B, num_heads, Sq], the forward's result
  ConstArray output_gradient{};                       ///< like `output`
  const ScoreDerivative* score_derivative = nullptr;  ///< given if and only if AttentionOptions::score is
  const float* lse_gradient = nullptr;                ///< [B, num_heads, Sq], of a loss that reads lse; null: 0
};

/// What to compute, and where to write it: float32. Null is not wanted. Everything is overwritten.
struct BackwardOutputs {
  float* query = nullptr;         ///< [B, num_heads, Sq, D] in `layout`
  float* key = nullptr;           ///< [B, num_kv_heads, Skv, D] in `kv_layout`
  float* value = nullptr;         ///< [B, num_kv_heads, Skv, Dv] in `kv_layout`
  float* bias = nullptr;          ///< in the bias's extents; 0 where hidden
  float* sinks = nullptr;         ///< [num_heads]
  float* head_gain = nullptr;     ///< [num_heads]; also if the call has none
  float* alibi_slopes = nullptr;  ///< [num_heads]
  bool reads = false;             ///< whether the gradients of score_derivative's reads are wanted
};

/// Computes gradients. The caller owns every array; outputs must not overlap inputs. Any length may be 0.
/// With EmptyRows::fail an empty row is a status before any work. Scratch depends on the shape, never on Sq x Skv.
[[nodiscard]] Status attention_backward(ThreadPool& pool, const AttentionShape& shape, const BackwardInputs& inputs,
                                        const AttentionOptions& options, const BackwardOutputs& outputs);

}  // namespace headwise
