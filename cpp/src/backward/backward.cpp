#include "headwise/backward.h"

#include <optional>

#include "attention/call.h"
#include "attention/rows.h"
#include "attention/validate.h"
#include "backward/score_gradients.h"
#include "backward/sweeps.h"
#include "base/memory.h"
#include "formula/formula_program.h"
#include "headwise/thread_pool.h"
#include "source/key_value_source.h"

namespace headwise {

namespace {

static_assert(kMostDerivativeInstructions == kMostProgramInstructions);

Status refused(const char* what) { return Status::error(StatusCode::invalid_option, "%s", what); }

Status check_sources(const AttentionInputs& forward) {
  if (forward.cache)
    return Status::error(StatusCode::unsupported, "gradients need key and value as arrays, not a cache");
  if (forward.arrival)
    return Status::error(StatusCode::unsupported, "gradients need inputs that are there when the call starts");
  return {};
}

Status check_wanted(const BackwardInputs& inputs, const AttentionOptions& options, const BackwardOutputs& outputs) {
  if (outputs.bias && !inputs.forward.bias.data) return refused("the gradient of bias needs bias");
  if (outputs.sinks && !options.sinks) return refused("the gradient of sinks needs sinks");
  if (outputs.alibi_slopes && !options.alibi_slopes) return refused("the gradient of alibiSlopes needs alibiSlopes");
  if (outputs.reads && !inputs.score_derivative) return refused("the gradients of tables need a score formula");
  return {};
}

Status check_read(const FormulaRead& read, std::int64_t instructions, bool wanted) {
  const auto is_index = [&](std::int32_t n) { return n >= -1 && n < instructions; };
  if (read.derivative < 0 || !is_index(read.derivative) || !is_index(read.row) || !is_index(read.column))
    return refused("score derivative: a read names no instruction");
  if (read.rows < 0 || read.columns < 0 || (wanted && !read.gradient))
    return refused("score derivative: a read has no gradient");
  return {};
}

Status check_derivative(const ScoreDerivative& derivative, bool reads_wanted) {
  if (Status s = validate_formula(derivative.formula, FormulaRole::derivative); !s.ok()) return s;
  if (derivative.num_reads < 0 || (derivative.num_reads > 0 && !derivative.reads))
    return refused("score derivative: a list is missing");
  for (std::int64_t n = 0; n < derivative.num_reads; ++n)
    if (Status s = check_read(derivative.reads[n], derivative.formula.num_instructions, reads_wanted); !s.ok())
      return s;
  return {};
}

/// Every rule of the contract that can be checked without reading the arrays. Allocates nothing.
Status validate_backward(const AttentionShape& shape, const BackwardInputs& inputs, const AttentionOptions& options,
                         const BackwardOutputs& outputs) {
  if (Status s = check_sources(inputs.forward); !s.ok()) return s;
  AttentionOutputs of_forward;
  of_forward.output.dtype = inputs.output.dtype;
  if (Status s = validate(shape, inputs.forward, options, of_forward); !s.ok()) return s;
  if (!is_input_dtype(inputs.output_gradient.dtype))
    return Status::error(StatusCode::unsupported, "the gradient of the output must be float32 or float16");
  if (static_cast<bool>(options.score) != static_cast<bool>(inputs.score_derivative))
    return refused("a score formula and its derivative must be given together");
  if (Status s = check_wanted(inputs, options, outputs); !s.ok()) return s;
  return inputs.score_derivative ? check_derivative(*inputs.score_derivative, outputs.reads) : Status();
}

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
