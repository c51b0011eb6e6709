#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cases.h"
#include "headwise/backward.h"
#include "reference/gradients.h"

namespace headwise::gradients {

/// What a call of gradients reads beside the forward's inputs: the forward's results, and gradients of output and lse.
struct Problem {
  cases::Array output, output_gradient;
  std::vector<float> lse;
  std::optional<cases::Array> lse_gradient;
};

/// Runs the forward, in float32, and draws the gradient of its output.
[[nodiscard]] Problem problem_of(const cases::Case& call);

/// Room for every gradient of a call, filled with NaN so that an element left out shows.
struct Results {
  std::vector<float> query, key, value, bias, sinks, head_gain, alibi_slopes;
  std::vector<std::vector<float>> reads;
  bool has_bias = false, has_sinks = false, has_slopes = false;

  Results(const cases::Case& call, const AttentionOptions& options, const ScoreDerivative* derivative);
  [[nodiscard]] BackwardOutputs view();
  /// The bits of everything, in one row, to compare runs.
  [[nodiscard]] std::vector<std::uint8_t> bits() const;
};

/// A call of gradients: everything that a case allows, with the reads of its derivative.
struct Call {
  const cases::Case& of;
  const Problem& problem;
  AttentionInputs inputs;
  AttentionOptions options;
  const ScoreDerivative* derivative = nullptr;

  Call(const cases::Case& call, const Problem& given)
      : of(call), problem(given), inputs(call.inputs()), options(call.options()) {}
  [[nodiscard]] BackwardInputs backward_inputs() const;
  Status run(int threads, Results& results) const;
};

/// Computes everything and fails the running test if that is refused.
[[nodiscard]] Results compute(const Call& call, int threads = 1);

/// Compares all gradients with the reference, within bounds that follow from the error model of tolerance.h.
void expect_near_reference(const Call& call, const Results& results);
/// The same for several results of a call, which must outlive it. The reference is computed once.
[[nodiscard]] std::function<void(const Results&)> near_reference(const Call& call);

}  // namespace headwise::gradients
