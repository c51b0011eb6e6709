#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "base/memory.h"
#include "position/rotary.h"

namespace headwise {

namespace {

bool positive(double x) { return std::isfinite(x) && x > 0.0; }

Status invalid(const char* rule, double value) {
  return Status::error(StatusCode::invalid_option, "%s, got %g", rule, value);
}

Status missing(const char* names) {
  return Status::error(StatusCode::invalid_option, "%s must be given, a number for each pair", names);
}

Status check_frequencies(const RotaryOptions& options, std::int64_t half) {
  if (!options.frequencies) return missing("frequencies");
  for (std::int64_t m = 0; m < half; ++m)
    if (!std::isfinite(options.frequencies[m])) return invalid("frequencies must be finite", options.frequencies[m]);
  if (!std::isfinite(options.attention_factor) || options.attention_factor < 0.0)
    return invalid("attentionFactor must be finite and >= 0", options.attention_factor);
  return {};
}

Status check_tables(const RotaryOptions& options) {
  if (!options.cosines || !options.sines) return missing("cos and sin");
  if (options.table_rows >= 1 && options.table_rows <= std::numeric_limits<std::int32_t>::max()) return {};
  return Status::error(StatusCode::invalid_option, "cos and sin must have 1..2^31-1 rows, got %lld",
                       static_cast<long long>(options.table_rows));
}

Status check_longrope(const RotaryOptions& options, std::int64_t half) {
  if (!options.short_factors || !options.long_factors) return missing("scaling.shortFactor and scaling.longFactor");
  for (const double* factors : {options.short_factors, options.long_factors})
    for (std::int64_t m = 0; m < half; ++m)
      if (!positive(factors[m]))
        return invalid("scaling.shortFactor and scaling.longFactor must be finite and > 0", factors[m]);
  if (options.original_length <= 1.0)
    return invalid("scaling.originalLength must be > 1 for longrope", options.original_length);
  if (!std::isfinite(options.sequence_length) || options.sequence_length < 0.0)
    return invalid("scaling.sequenceLength must be finite and >= 0", options.sequence_length);
  if (!std::isfinite(options.attention_factor) || options.attention_factor < 0.0)
    return invalid("scaling.attentionFactor must be finite and >= 0", options.attention_factor);
  return {};
}

Status check_sections(const RotaryOptions& options, std::int64_t half) {
  const std::int64_t t = options.temporal_section, h = options.height_section, w = options.width_section;
  if (!has_sections(options)) return {};
  if (t >= 0 && h >= 0 && w >= 0 && t <= half && h <= half && w <= half && t + h + w == half) return {};
  return Status::error(StatusCode::invalid_option, "sections must be >= 0 and sum to %lld pairs, got %lld, %lld, %lld",
                       static_cast<long long>(half), static_cast<long long>(t), static_cast<long long>(h),
                       static_cast<long long>(w));
}

Status check_scaling(const RotaryOptions& options, std::int64_t half) {
  const RotaryScaling kind = options.scaling;
  if (kind < RotaryScaling::none || kind > RotaryScaling::tables)
    return Status::error(StatusCode::invalid_option, "scaling is none of the known ones, got %d",
                         static_cast<int>(kind));
  if (kind == RotaryScaling::none) return {};
  if (kind == RotaryScaling::frequencies) return check_frequencies(options, half);
  if (kind == RotaryScaling::tables) return check_tables(options);
  if (!positive(options.factor)) return invalid("scaling.factor must be finite and > 0", options.factor);
  if (kind == RotaryScaling::linear || kind == RotaryScaling::ntk) return {};
  if (!positive(options.original_length))
    return invalid("scaling.originalLength must be finite and > 0", options.original_length);
  if (kind == RotaryScaling::longrope) return check_longrope(options, half);
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

Status check_positions(const RotaryOptions& options, const double* positions, std::int64_t count) {
  for (std::int64_t s = 0; s < count; ++s)
    if (!std::isfinite(positions[s])) return invalid("positions must be finite", positions[s]);
  for (std::int64_t s = 0; options.scaling == RotaryScaling::tables && s < count; ++s)
    if (positions[s] != std::floor(positions[s]) || positions[s] < 0.0 ||
        positions[s] >= static_cast<double>(options.table_rows))
      return invalid("positions must be rows of cos and sin", positions[s]);
  return {};
}

bool same_angles(const RotaryOptions& a, const RotaryOptions& b, std::int64_t head_dim) {
  const std::int64_t half = rotary_dim_of(a, head_dim) / 2;
  if (rotary_dim_of(b, head_dim) / 2 != half || a.interleaved != b.interleaved) return false;
  if (a.temporal_section != b.temporal_section || a.height_section != b.height_section) return false;
  if (a.scaling == RotaryScaling::tables || b.scaling == RotaryScaling::tables) return false;
  RotaryAngles first, second;
  Buffer<float> rows;
  if (!first.create(a, head_dim).ok() || !second.create(b, head_dim).ok() || !rows.allocate(4 * half)) return false;
  constexpr double kFar = 4096.0;  // angles that differ at all differ there
  first.write(kFar, rows.data());
  second.write(kFar, rows.data() + 2 * half);
  return std::equal(rows.data(), rows.data() + 2 * half, rows.data() + 2 * half);
}

Status check_planes(const RotaryOptions& options, std::int64_t planes) {
  if (planes == 1 || (planes == 3 && has_sections(options))) return {};
  return Status::error(StatusCode::invalid_shape, "positions must have 1 plane, or 3 with sections, got %lld",
                       static_cast<long long>(planes));
}

Status validate_rotary(const RotaryOptions& options, std::int64_t head_dim) {
  if (Status status = check_rotary_dim(rotary_dim_of(options, head_dim), head_dim); !status.ok()) return status;
  if (!positive(options.base)) return invalid("base must be finite and > 0", options.base);
  const std::int64_t half = rotary_dim_of(options, head_dim) / 2;
  if (Status status = check_sections(options, half); !status.ok()) return status;
  return check_scaling(options, half);
}

Status check_table_rows(const RotaryOptions& options, std::int64_t position) {
  if (options.scaling != RotaryScaling::tables || (position >= 0 && position < options.table_rows)) return {};
  return Status::error(StatusCode::invalid_option, "positions must be rows of cos and sin, 0..%lld, got %lld",
                       static_cast<long long>(options.table_rows - 1), static_cast<long long>(position));
}

}  // namespace headwise
