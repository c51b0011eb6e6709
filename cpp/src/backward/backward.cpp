#include "headwise/backward.h"

#include <optional>

#include "attention/empty_rows.h"
#include "attention/prepared_call.h"
#include "backward/bias_gradient.h"
#include "backward/deltas.h"
#include "backward/input_gradients.h"
#include "backward/read_gradients.h"
#include "backward/validate_backward.h"
#include "base/memory.h"
#include "headwise/thread_pool.h"
#include "source/key_value_source.h"

namespace headwise {

namespace {

/// @param instructions  keeps what the program refers to
Status compile(const ScoreDerivative& derivative, bool reads_wanted, Buffer<std::int32_t>* instructions,
               FormulaProgram* program) {
  const std::int64_t count = reads_wanted ? 3 * derivative.num_reads : 0;
  if (!instructions->allocate(count))
    return Status::out_of_memory(count * static_cast<std::int64_t>(sizeof(std::int32_t)));
  for (std::int64_t n = 0; n < count; ++n) {
    const FormulaRead& read = derivative.reads[n / 3];
    (*instructions)[n] = n % 3 == 0 ? read.derivative : n % 3 == 1 ? read.row : read.column;
  }
  program->compile(derivative.formula, {instructions->data(), static_cast<std::size_t>(count)});
  return {};
}

/// All memory is allocated before any gradient is written.
Status compute(ThreadPool& pool, const GradientCall& call) {
  const BackwardOutputs& outputs = call.outputs;
  GradientScratches scratches;
  if (Status status = scratches.allocate(call, pool.size()); !status.ok()) return status;
  std::optional<InputGradients> inputs;
  std::optional<BiasGradient> bias;
  std::optional<ReadGradients> reads;
  Status status;
  if (InputGradients::are_wanted(outputs)) status = inputs.emplace(pool, call, scratches).allocate();
  if (status.ok() && outputs.bias) status = bias.emplace(pool, call, scratches).allocate();
  if (status.ok() && outputs.reads) status = reads.emplace(pool, call, scratches).allocate();
  if (!status.ok()) return status;
  if (inputs) inputs->run();
  if (bias) bias->run();
  if (reads) reads->run();
  return {};
}

}  // namespace

Status attention_backward(ThreadPool& pool, const AttentionShape& shape, const BackwardInputs& inputs,
                          const AttentionOptions& options, const BackwardOutputs& outputs) {
  if (Status status = validate_backward(shape, inputs, options, outputs); !status.ok()) return status;
  const ThreadPool::Call awake(pool);
  PreparedCall prepared;
  if (Status status = prepared.prepare(pool, shape, inputs.forward, options); !status.ok()) return status;
  const DenseSource arrays(shape, options.kv_layout.value_or(options.layout), inputs.forward.key, inputs.forward.value);
  const AttentionOutputs none;
  const Call forward = prepared.call(shape, inputs.forward, options, none, arrays);
  if (options.empty_rows == EmptyRows::fail) {
    if (Status status = find_empty_rows(forward); !status.ok()) return status;
  }
  FormulaProgram derivative;
  Buffer<std::int32_t> read_instructions;
  if (inputs.score_derivative) {
    if (Status status = compile(*inputs.score_derivative, outputs.reads, &read_instructions, &derivative); !status.ok())
      return status;
  }
  Buffer<float> deltas;
  if (Status status = compute_deltas(pool, forward, inputs, &deltas); !status.ok()) return status;
  PreciseLse precise;
  if (Status status = precise.find(pool, shape, inputs, options); !status.ok()) return status;
  const bool is_far = precise.lse.size() > 0;
  const float* const lse = is_far ? precise.lse.data() : inputs.lse;
  const float* const lse_rest = is_far ? precise.rest.data() : nullptr;
  const GradientCall call{forward, inputs, outputs, derivative, deltas.data(), lse, lse_rest};
  return compute(pool, call);
}

}  // namespace headwise
