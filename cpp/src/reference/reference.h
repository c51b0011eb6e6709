#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "headwise/attention.h"
#include "reference/formula.h"

/// The oracle for tests and benches: the contract of headwise/attention.h in double. It makes four passes over whole
/// matrices: scores, visibility, softmax, weighted sum.
namespace headwise::reference {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Visibility = Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

enum class RowKind {
  attends,  ///< sees at least one key
  empty,    ///< sees none: EmptyRows decides (`fail` computes as `zero` here)
  padding,  ///< at or past its query length: zeros
};

/// All results of one head of one batch. A ragged batch is one batch whose sequences are hidden from each other.
struct Head {
  Matrix raw, softcapped, biased;  ///< [Sq, Skv]; biased is -inf where hidden, but by the score formula
  Matrix formula;                  ///< [Sq, Skv]; biased without a score formula; -inf where hidden
  Visibility visible;              ///< [Sq, Skv]
  std::vector<RowKind> rows;       ///< [Sq]
  Matrix probs;                    ///< [Sq, Skv] without dropout
  Matrix kept;                     ///< [Sq, Skv] what dropout multiplies probs by: 0 or 1 / (1 - rate); 1 without it
  Matrix output;                   ///< [Sq, Dv]
  Vector lse, entropy;             ///< [Sq]

  /// The score formula for a pair, of a score that may err by so much. Empty without one.
  std::function<Evaluated(std::int64_t i, std::int64_t j, double error)> rescored;
  /// What a formula reads for a pair. Its s is the biased score, which may err by so much.
  std::function<Pair(std::int64_t i, std::int64_t j, double error)> pair;
  std::vector<bool> unsure;  ///< [Sq] whether float32 may find another key visible

  // The magnitudes that the error model multiplies by rounding errors.
  Matrix score_magnitude;    ///< [Sq, Skv] |scale| * sum_d |q_d k_d|
  Matrix distance;           ///< [Sq, Skv] |i + offset - pi_j|, or as ALiBi counts it; 0 in rows of padding
  Matrix penalty;            ///< [Sq, Skv] alibi_slope * distance
  Matrix bias;               ///< [Sq, Skv], 0 without one
  Matrix output_magnitude;   ///< [Sq, Dv] |head_gain| * sum_j w_j |v_j|, w = p * kept
  Matrix output_lag;         ///< [Sq, Dv] |head_gain| * sum_j (m - s_j) w_j |v_j|, m the row's largest score
  Matrix visible_magnitude;  ///< [Sq, Dv] |head_gain| * sum_j kept_j |v_j|
};

/// Heads in the order b * num_heads + h. The call must be valid.
[[nodiscard]] std::vector<Head> attention(const AttentionShape& shape, const AttentionInputs& inputs,
                                          const AttentionOptions& options);

/// One head of merge_attention's result.
struct MergedHead {
  Matrix output;            ///< [Sq, Dv]
  Vector lse;               ///< [Sq]
  Matrix output_magnitude;  ///< [Sq, Dv] sum_p w_p |o_p|
};

[[nodiscard]] std::vector<MergedHead> merge_attention(const AttentionShape& shape, Layout layout,
                                                      const AttentionPart* parts, std::int64_t num_parts,
                                                      const float* sinks);

/// Rows s of head h of batch b of a [B, H, S, W] array.
[[nodiscard]] Matrix read_head(ConstArray array, Layout layout, std::int64_t num_heads, std::int64_t length,
                               std::int64_t width, std::int64_t b, std::int64_t h);

/// Index of (b, h, i, j) in an array that repeats along axes of extent 1.
[[nodiscard]] std::int64_t broadcast_index(const BroadcastExtents& extents, std::int64_t b, std::int64_t h,
                                           std::int64_t i, std::int64_t j);

/// Element (b, h, s, w) of a [B, H, S, W] array that lies in `layout`.
[[nodiscard]] std::int64_t element_index(Layout layout, std::int64_t num_heads, std::int64_t length, std::int64_t width,
                                         std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t w);

}  // namespace headwise::reference
