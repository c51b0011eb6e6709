#pragma once

#include <cstdint>

#include "calls.h"
#include "headwise/row_operations.h"

namespace headwise {

enum class StepKind : std::int32_t {
  layer = 0,
  linear = 1,
  norm = 2,
  map = 3,
  take = 4,
  softmax = 5,
  top = 6,
  turn = 7,
  attention = 8
};

/// A rotary embedding of a step. Its tokens may get their positions when the step runs.
struct TurnedTokens {
  const RotaryCall* turn = nullptr;
  const std::int32_t* numbers = nullptr;  ///< [B, S]: what each run gets; null: the positions of `turn`
  double* positions = nullptr;            ///< [B, S]: the numbers are copied to here, where `turn` has its positions
  bool follows_length = false;            ///< whether the angles follow the highest position
};

/// A call of the kind's struct.
struct StepPart {
  StepKind kind;
  const void* call;
};

/// Calls that run one after the other, as one call. JavaScript has written them before, and runs them many times.
struct StepCall {
  const StepPart* parts = nullptr;
  std::int32_t num_parts = 0;
};

/// If a call fails, the later ones do not run, and the caches of earlier ones are as before. A ring that has dropped
/// tokens for the new ones keeps those.
[[nodiscard]] Status run(ThreadPool& pool, const StepCall& call);
[[nodiscard]] Status run(ThreadPool& pool, const NormedRows& call);
[[nodiscard]] Status run(ThreadPool& pool, const MappedRows& call);
[[nodiscard]] Status run(ThreadPool& pool, const TakenRows& call);
[[nodiscard]] Status run(ThreadPool& pool, const SoftmaxRows& call);
[[nodiscard]] Status run(ThreadPool& pool, const TopRows& call);
[[nodiscard]] Status run(ThreadPool& pool, const TurnedTokens& call);

}  // namespace headwise
