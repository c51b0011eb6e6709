#pragma once

#include <vector>

#include "headwise/backward.h"
#include "reference/reference.h"

/// The oracle of gradients: the formulas of headwise/backward.h in double, over whole matrices. It computes the forward
/// again, so it needs neither output nor lse.
namespace headwise::reference {

/// The gradients of one head's scores at each stage, and what they come from. 0 where a pair is hidden.
struct HeadGradients {
  Matrix weights;   ///< [Sq, Skv] p without dropout; 0 in rows that see no key, under every policy
  Matrix products;  ///< [Sq, Skv] do . v times Head::kept, without the head's gain
  Vector deltas;    ///< [Sq] do . o - dlse
  Matrix formula;   ///< [Sq, Skv] with respect to the score formula's result
  Matrix slopes;    ///< [Sq, Skv] d score / d s; 1 without a formula
  Matrix biased;    ///< [Sq, Skv] with respect to the score before the formula
  Matrix bends;     ///< [Sq, Skv] 1 - (softcapped / softcap)^2; 1 without a softcap
  Matrix raw;       ///< [Sq, Skv] with respect to scale * q . k
};

struct Gradients {
  std::vector<HeadGradients> heads;        ///< b * num_heads + h
  std::vector<Matrix> query;               ///< b * num_heads + h: [Sq, D]
  std::vector<Matrix> key, value;          ///< b * num_kv_heads + g: [Skv, D], [Skv, Dv]
  std::vector<double> bias;                ///< in the bias's extents
  std::vector<double> sinks, head_gain;    ///< [num_heads]
  std::vector<double> alibi_slopes;        ///< [num_heads]
  std::vector<std::vector<double>> reads;  ///< of each read of the score derivative: [rows, columns]
};

/// `heads` is the forward's result of this call.
[[nodiscard]] Gradients attention_backward(const AttentionShape& shape, const BackwardInputs& inputs,
                                           const AttentionOptions& options, const std::vector<Head>& heads);

/// The entry of a read's gradient that a pair adds to; -1 if none. `sure`: whether float32 agrees.
[[nodiscard]] std::int64_t entry_of(const ScoreDerivative& derivative, const FormulaRead& read, const Pair& pair,
                                    bool* sure);

}  // namespace headwise::reference
