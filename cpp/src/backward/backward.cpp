#include "headwise/backward.h"

#include <optional>

#include "attention/call.h"
#include "attention/rows.h"
#include "attention/validate.h"
#include "backward/score_gradients.h"
#include "backward/sweeps.h"
#include "base/memory.h"
#include "base/rules.h"
#include "formula/formula_program.h"
#include "headwise/thread_pool.h"
#include "source/key_value_source.h"

namespace headwise {

namespace {

static_assert(kMostDerivativeInstructions == kMostProgramInstructions);

Error check_sources(const AttentionInputs& forward) {
  if (forward.cache) return refuse(Rule::gradient_cache);
  if (forward.arrival) return refuse(Rule::gradient_arrival);
  return {};
}

Error check_wanted(const BackwardInputs& inputs, const AttentionOptions& options, const BackwardOutputs& outputs) {
  if (outputs.bias && !inputs.forward.bias.data) return refuse(Rule::gradient_of, Argument::bias);
  if (outputs.sinks && !options.sinks) return refuse(Rule::gradient_of, Argument::sinks);
  if (outputs.alibi_slopes && !options.alibi_slopes) return refuse(Rule::gradient_of, Argument::alibi_slopes);
  if (outputs.reads && !inputs.score_derivative) return refuse(Rule::gradient_tables);
  return {};
}

Error check_read(const FormulaRead& read, std::int64_t instructions, bool wanted) {
  const auto is_index = [&](std::int32_t n) { return n >= -1 && n < instructions; };
  if (read.derivative < 0 || !is_index(read.derivative) || !is_index(read.row) || !is_index(read.column))
    return refuse(Rule::derivative_read);
  if (read.rows < 0 || read.columns < 0 || (wanted && !read.gradient)) return refuse(Rule::derivative_read_gradient);
  return {};
}

Error check_derivative(const ScoreDerivative& derivative, bool reads_wanted) {
  if (Error e = validate_formula(derivative.formula, FormulaRole::derivative)) return e;
  if (derivative.num_reads < 0 || (derivative.num_reads > 0 && !derivative.reads))
    return refuse(Rule::formula_list, Argument::score_derivative);
  for (std::int64_t n = 0; n < derivative.num_reads; ++n)
    if (Error e = check_read(derivative.reads[n], derivative.formula.num_instructions, reads_wanted)) return e;
  return {};
}

/// Every rule of the contract that can be checked without reading the arrays. Allocates nothing.
Error validate_backward(const AttentionShape& shape, const BackwardInputs& inputs, const AttentionOptions& options,
                        const BackwardOutputs& outputs) {
  if (Error e = check_sources(inputs.forward)) return e;
  AttentionOutputs of_forward;
  of_forward.output.dtype = inputs.output.dtype;
  if (Error e = validate(shape, inputs.forward, options, of_forward)) return e;
  if (Error e = check_dtype(Argument::output_gradient, inputs.output_gradient.dtype)) return e;
  const bool has_rows = shape.batch_size > 0 && shape.num_heads > 0 && shape.query_length > 0;
  if (Error e = check_given({{Argument::output, has_rows, inputs.output.data},
                             {Argument::lse, has_rows, inputs.lse},
                             {Argument::output_gradient, has_rows, inputs.output_gradient.data}}))
    return e;
  if (static_cast<bool>(options.score) != static_cast<bool>(inputs.score_derivative))
    return refuse(Rule::derivative_together);
  if (Error e = check_wanted(inputs, options, outputs)) return e;
  return inputs.score_derivative ? check_derivative(*inputs.score_derivative, outputs.reads) : Error();
}

/// @param instructions  keeps what the program refers to
Error compile(const ScoreDerivative& derivative, bool reads_wanted, Buffer<std::int32_t>* instructions,
              FormulaProgram* program) {
  const std::int64_t count = reads_wanted ? 3 * derivative.num_reads : 0;
  if (Error e = instructions->allocate(count)) return e;
  for (std::int64_t n = 0; n < count; ++n) {
    const FormulaRead& read = derivative.reads[n / 3];
    (*instructions)[n] = n % 3 == 0 ? read.derivative : n % 3 == 1 ? read.row : read.column;
  }
  program->compile(derivative.formula, {instructions->data(), static_cast<std::size_t>(count)});
  return {};
}

/// All memory is allocated before any gradient is written.
Error compute(ThreadPool& pool, const GradientCall& call) {
  const BackwardOutputs& outputs = call.outputs;
  GradientScratches scratches;
  if (Error e = scratches.allocate(call, pool.size())) return e;
  std::optional<InputGradients> inputs;
  std::optional<BiasGradient> bias;
  std::optional<ReadGradients> reads;
  if (InputGradients::are_wanted(outputs))
    if (Error e = inputs.emplace(pool, call, scratches).allocate()) return e;
  if (outputs.bias)
    if (Error e = bias.emplace(pool, call, scratches).allocate()) return e;
  if (outputs.reads)
    if (Error e = reads.emplace(pool, call, scratches).allocate()) return e;
  if (inputs) inputs->run();
  if (bias) bias->run();
  if (reads) reads->run();
  return {};
}

}  // namespace

Status attention_backward(ThreadPool& pool, const AttentionShape& shape, const BackwardInputs& inputs,
                          const AttentionOptions& options, const BackwardOutputs& outputs) {
  if (Error e = validate_backward(shape, inputs, options, outputs)) return e;
  const ThreadPool::Call awake(pool);
  PreparedCall prepared;
  if (Error e = prepared.prepare(pool, shape, inputs.forward, options)) return e;
  const DenseSource arrays(shape, options.kv_layout.value_or(options.layout), inputs.forward.key, inputs.forward.value);
  const AttentionOutputs none;
  const Call forward = prepared.call(shape, inputs.forward, options, none, arrays);
  if (options.empty_rows == EmptyRows::fail) {
    if (Error e = find_empty_rows(forward)) return e;
  }
  FormulaProgram derivative;
  Buffer<std::int32_t> read_instructions;
  if (inputs.score_derivative) {
    if (Error e = compile(*inputs.score_derivative, outputs.reads, &read_instructions, &derivative)) return e;
  }
  Buffer<float> deltas;
  if (Error e = compute_deltas(pool, forward, inputs, &deltas)) return e;
  PreciseLse precise;
  if (Error e = precise.find(pool, shape, inputs, options)) return e;
  const bool is_far = precise.lse.size() > 0;
  const float* const lse = is_far ? precise.lse.data() : inputs.lse;
  const float* const lse_rest = is_far ? precise.rest.data() : nullptr;
  const GradientCall call{forward, inputs, outputs, derivative, deltas.data(), lse, lse_rest};
  return compute(pool, call);
}

}  // namespace headwise
