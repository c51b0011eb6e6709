#include "backward/validate_backward.h"

#include "attention/validate.h"
#include "formula/formula_program.h"

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

}  // namespace

Status validate_backward(const AttentionShape& shape, const BackwardInputs& inputs, const AttentionOptions& options,
                         const BackwardOutputs& outputs) {
  if (Status s = check_sources(inputs.forward); !s.ok()) return s;
  AttentionOutputs of_forward;
  of_forward.output.dtype = inputs.output.dtype;
  if (Status s = validate(shape, inputs.forward, options, of_forward); !s.ok()) return s;
  if (inputs.output_gradient.dtype == Dtype::int8)
    return Status::error(StatusCode::unsupported, "the gradient of the output must be float32 or float16");
  if (static_cast<bool>(options.score) != static_cast<bool>(inputs.score_derivative))
    return refused("a score formula and its derivative must be given together");
  if (Status s = check_wanted(inputs, options, outputs); !s.ok()) return s;
  return inputs.score_derivative ? check_derivative(*inputs.score_derivative, outputs.reads) : Status();
}

}  // namespace headwise
