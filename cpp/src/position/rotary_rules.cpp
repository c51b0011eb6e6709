#include <cmath>

#include "position/rotary.h"

namespace headwise {

namespace {

bool positive(double x) { return std::isfinite(x) && x > 0.0; }

Status invalid(const char* rule, double value) {
  return Status::error(StatusCode::invalid_option, "%s, got %g", rule, value);
}

Status check_scaling(const RotaryOptions& options) {
  const RotaryScaling kind = options.scaling;
  if (kind < RotaryScaling::none || kind > RotaryScaling::llama3)
    return Status::error(StatusCode::invalid_option, "scaling is none of the known ones, got %d",
                         static_cast<int>(kind));
  if (kind == RotaryScaling::none) return {};
  if (!positive(options.factor)) return invalid("scaling.factor must be finite and > 0", options.factor);
  if (kind == RotaryScaling::linear || kind == RotaryScaling::ntk) return {};
  if (!positive(options.original_length))
    return invalid("scaling.originalLength must be finite and > 0", options.original_length);
  if (kind == RotaryScaling::dynamic_ntk) {
    if (options.factor < 1.0) return invalid("scaling.factor must be >= 1 for dynamic-ntk", options.factor);
    if (!std::isfinite(options.sequence_length) || options.sequence_length < 0.0)
      return invalid("scaling.sequenceLength must be finite and >= 0", options.sequence_length);
  }
  if (kind == RotaryScaling::yarn) {
    if (options.base <= 1.0) return invalid("base must be > 1 for yarn", options.base);
    if (!positive(options.beta_slow)) return invalid("scaling.betaSlow must be finite and > 0", options.beta_slow);
    if (!std::isfinite(options.beta_fast) || options.beta_fast < options.beta_slow)
      return invalid("scaling.betaFast must be finite and >= betaSlow", options.beta_fast);
    if (!std::isfinite(options.attention_factor) || options.attention_factor < 0.0)
      return invalid("scaling.attentionFactor must be finite and >= 0", options.attention_factor);
    if (!std::isfinite(options.mscale) || options.mscale < 0.0)
      return invalid("scaling.mscale must be finite and >= 0", options.mscale);
    if (!std::isfinite(options.mscale_all_dim) || options.mscale_all_dim < 0.0)
      return invalid("scaling.mscaleAllDim must be finite and >= 0", options.mscale_all_dim);
  }
  if (kind == RotaryScaling::llama3) {
    if (!positive(options.low_freq_factor))
      return invalid("scaling.lowFreqFactor must be finite and > 0", options.low_freq_factor);
    if (!std::isfinite(options.high_freq_factor) || options.high_freq_factor <= options.low_freq_factor)
      return invalid("scaling.highFreqFactor must be finite and > lowFreqFactor", options.high_freq_factor);
  }
  return {};
}

}  // namespace

Status check_rotary_dim(std::int64_t rotary_dim, std::int64_t head_dim) {
  if (rotary_dim >= 2 && rotary_dim % 2 == 0 && rotary_dim <= head_dim) return {};
  return Status::error(StatusCode::invalid_option, "rotaryDim must be even and in 2..headDim (%lld), got %lld",
                       static_cast<long long>(head_dim), static_cast<long long>(rotary_dim));
}

Status check_positions(const double* positions, std::int64_t count) {
  for (std::int64_t s = 0; s < count; ++s)
    if (!std::isfinite(positions[s])) return invalid("positions must be finite", positions[s]);
  return {};
}

Status validate_rotary(const RotaryOptions& options, std::int64_t head_dim) {
  if (Status status = check_rotary_dim(rotary_dim_of(options, head_dim), head_dim); !status.ok()) return status;
  if (!positive(options.base)) return invalid("base must be finite and > 0", options.base);
  return check_scaling(options);
}

}  // namespace headwise
