#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/element.h"
#include "base/sizes.h"
#include "base/strides.h"
#include "base/workspace.h"
#include "headwise/position.h"
#include "headwise/thread_pool.h"

namespace headwise {

namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;
constexpr std::int64_t kTokensPerTask = 32;  // enough work to pay for claiming a task

bool positive(double x) { return std::isfinite(x) && x > 0.0; }

Status invalid(const char* rule, double value) {
  return Status::error(StatusCode::invalid_option, "%s, got %g", rule, value);
}

Status check_rotary_dim(std::int64_t rotary_dim, std::int64_t head_dim) {
  if (rotary_dim >= 2 && rotary_dim % 2 == 0 && rotary_dim <= head_dim) return {};
  return Status::error(StatusCode::invalid_option, "rotaryDim must be even and in 2..headDim (%lld), got %lld",
                       static_cast<long long>(head_dim), static_cast<long long>(rotary_dim));
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

/// NTK-aware scaling raises the base, so that the slowest pair turns `stretch` times slower and the fastest as before.
double stretched_base(double base, double stretch, double rotary_dim) {
  return base * std::pow(stretch, rotary_dim / (rotary_dim - 2.0));  // rotary_dim 2: theta_0 = 1 whatever the base
}

double scaled_base(const RotaryOptions& options, double rotary_dim) {
  if (options.scaling == RotaryScaling::ntk) return stretched_base(options.base, options.factor, rotary_dim);
  if (options.scaling != RotaryScaling::dynamic_ntk) return options.base;
  const double length = std::max(options.sequence_length, options.original_length);
  const double stretch = options.factor * length / options.original_length - (options.factor - 1.0);
  return stretched_base(options.base, stretch, rotary_dim);
}

/// YaRN's share for pair m: 1 for pairs that turn more than beta_fast times over the original length, 0 below
/// beta_slow, a linear ramp over m between the two.
double yarn_kept(const RotaryOptions& options, double m, double rotary_dim) {
  const auto pair_turning = [&](double rotations) {
    return rotary_dim * std::log(options.original_length / (rotations * kTwoPi)) / (2.0 * std::log(options.base));
  };
  double low = pair_turning(options.beta_fast), high = pair_turning(options.beta_slow);
  if (options.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0);
  high = std::min(high, rotary_dim - 1.0);
  if (low == high) high += 0.001;  // the published guard against 0 / 0
  return 1.0 - std::clamp((m - low) / (high - low), 0.0, 1.0);
}

/// Llama 3's share for a pair: 1 for short wavelengths, 0 for long ones, blended between.
double llama3_kept(const RotaryOptions& options, double theta) {
  const double turns = options.original_length * theta / kTwoPi;
  return std::clamp((turns - options.low_freq_factor) / (options.high_freq_factor - options.low_freq_factor), 0.0, 1.0);
}

/// The share of pair m's angle that is kept; the rest is divided by the factor.
double kept_share(const RotaryOptions& options, double m, double rotary_dim, double theta) {
  switch (options.scaling) {
    case RotaryScaling::linear:
      return 0.0;
    case RotaryScaling::yarn:
      return yarn_kept(options, m, rotary_dim);
    case RotaryScaling::llama3:
      return llama3_kept(options, theta);
    case RotaryScaling::none:
    case RotaryScaling::ntk:
    case RotaryScaling::dynamic_ntk:
      break;
  }
  return 1.0;
}

double yarn_magnitude(double factor, double weight) {
  return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

double amplitude_of(const RotaryOptions& options) {
  if (options.scaling != RotaryScaling::yarn) return 1.0;
  if (options.attention_factor > 0.0) return options.attention_factor;
  if (options.mscale > 0.0 && options.mscale_all_dim > 0.0)
    return yarn_magnitude(options.factor, options.mscale) / yarn_magnitude(options.factor, options.mscale_all_dim);
  return yarn_magnitude(options.factor, 1.0);
}

/// Pair m of a head is the features first(m) and second(m).
struct Pairing {
  std::int64_t half;
  bool interleaved;
  [[nodiscard]] std::int64_t first(std::int64_t m) const { return interleaved ? 2 * m : m; }
  [[nodiscard]] std::int64_t second(std::int64_t m) const { return interleaved ? 2 * m + 1 : m + half; }
};

/// Turns one token's head; y may be x. Features past the pairs are copied.
template <class In, class Out>
void turn(const In* x, Out* y, std::int64_t stride, std::int64_t head_dim, Pairing pairing, const float* cosines,
          const float* sines) {
  for (std::int64_t m = 0; m < pairing.half; ++m) {
    const std::int64_t i = pairing.first(m) * stride, j = pairing.second(m) * stride;
    const float a = load_element(x + i), b = load_element(x + j);
    store_element(y + i, a * cosines[m] - b * sines[m]);
    store_element(y + j, a * sines[m] + b * cosines[m]);
  }
  for (std::int64_t d = 2 * pairing.half; d < head_dim; ++d)
    store_element(y + d * stride, load_element(x + d * stride));
}

struct RotaryCall {
  Strides strides;
  std::int64_t num_heads, length, head_dim;
  Pairing pairing;
  const float *cosines, *sines;
  const std::int32_t* rows;
};

/// Turns tokens [from, to) of batch b, all heads.
template <class In, class Out>
void turn_tokens(const RotaryCall& call, std::int64_t b, std::int64_t from, std::int64_t to, const In* x, Out* y) {
  for (std::int64_t s = from; s < to; ++s) {
    const std::int64_t row = (call.rows ? call.rows[b * call.length + s] : s) * call.pairing.half;
    for (std::int64_t h = 0; h < call.num_heads; ++h) {
      const std::int64_t at = b * call.strides.batch + h * call.strides.head + s * call.strides.position;
      turn(x + at, y + at, call.strides.feature, call.head_dim, call.pairing, call.cosines + row, call.sines + row);
    }
  }
}

template <class In, class Out>
void turn_all(ThreadPool& pool, const RotaryCall& call, std::int64_t batch_size, const In* x, Out* y) {
  const std::int64_t blocks = (call.length + kTokensPerTask - 1) / kTokensPerTask;
  pool.parallel_for(batch_size * blocks, [&](std::int64_t task, int) {
    const std::int64_t from = task % blocks * kTokensPerTask;
    turn_tokens(call, task / blocks, from, std::min(from + kTokensPerTask, call.length), x, y);
  });
}

Status check_array(std::int64_t batch_size, std::int64_t num_heads, std::int64_t length, std::int64_t head_dim) {
  if (batch_size < 0 || num_heads < 0 || length < 0 || head_dim < 1)
    return Status::error(StatusCode::invalid_shape, "x must have batch >= 0, heads >= 0, length >= 0, width >= 1");
  std::int64_t elements = 0;
  if (!multiply_sizes(batch_size, num_heads, &elements) || !multiply_sizes(elements, length, &elements) ||
      !multiply_sizes(elements, head_dim, &elements))
    return Status::error(StatusCode::invalid_shape, "the size of x overflows");
  return {};
}

Status check_rows(const std::int32_t* rows, std::int64_t count, std::int64_t table_rows) {
  for (std::int64_t i = 0; i < count; ++i)
    if (rows[i] < 0 || rows[i] >= table_rows)
      return Status::error(StatusCode::invalid_option, "table row must be in 0..%lld, got %d at token %lld",
                           static_cast<long long>(table_rows - 1), rows[i], static_cast<long long>(i));
  return {};
}

bool is_float(Dtype dtype) { return dtype == Dtype::float32 || dtype == Dtype::float16; }

}  // namespace

Status validate_rotary(const RotaryOptions& options, std::int64_t head_dim) {
  const std::int64_t rotary_dim = options.rotary_dim ? options.rotary_dim : head_dim;
  if (Status status = check_rotary_dim(rotary_dim, head_dim); !status.ok()) return status;
  if (!positive(options.base)) return invalid("base must be finite and > 0", options.base);
  return check_scaling(options);
}

Status rotary_frequencies(const RotaryOptions& options, std::int64_t head_dim, double* theta, double* amplitude) {
  if (Status status = validate_rotary(options, head_dim); !status.ok()) return status;
  const std::int64_t rotary_dim = options.rotary_dim ? options.rotary_dim : head_dim;
  const double width = static_cast<double>(rotary_dim);
  const double base = scaled_base(options, width);
  for (std::int64_t m = 0; m < rotary_dim / 2; ++m) {
    const double angle = std::pow(base, -2.0 * static_cast<double>(m) / width);
    const double kept = kept_share(options, static_cast<double>(m), width, angle);
    theta[m] = angle * (kept + (1.0 - kept) / options.factor);
  }
  *amplitude = amplitude_of(options);
  return {};
}

Status rotary_tables(const RotaryOptions& options, std::int64_t head_dim, const double* positions,
                     std::int64_t num_positions, float* cosines, float* sines) {
  const std::int64_t rotary_dim = options.rotary_dim ? options.rotary_dim : head_dim, half = rotary_dim / 2;
  if (Status status = validate_rotary(options, head_dim); !status.ok()) return status;  // before its width is used
  Buffer<double> theta;
  if (!theta.allocate(half)) return Status::out_of_memory(half * 8);
  double amplitude = 1.0;
  if (Status status = rotary_frequencies(options, head_dim, theta.data(), &amplitude); !status.ok()) return status;
  for (std::int64_t s = 0; s < num_positions; ++s)
    if (!std::isfinite(positions[s])) return invalid("positions must be finite", positions[s]);

  for (std::int64_t s = 0; s < num_positions; ++s)
    for (std::int64_t m = 0; m < half; ++m) {
      cosines[s * half + m] = static_cast<float>(amplitude * std::cos(positions[s] * theta[m]));
      sines[s * half + m] = static_cast<float>(amplitude * std::sin(positions[s] * theta[m]));
    }
  return {};
}

Status rotary_embedding(ThreadPool& pool, Layout layout, std::int64_t batch_size, std::int64_t num_heads,
                        std::int64_t length, std::int64_t head_dim, std::int64_t rotary_dim, bool interleaved,
                        ConstArray x, const float* cosines, const float* sines, std::int64_t table_rows,
                        const std::int32_t* rows, MutableArray y) {
  if (Status status = check_array(batch_size, num_heads, length, head_dim); !status.ok()) return status;
  if (Status status = check_rotary_dim(rotary_dim, head_dim); !status.ok()) return status;
  if (!is_float(x.dtype) || !is_float(y.dtype))
    return Status::error(StatusCode::unsupported, "rotary embedding takes and gives float32 or float16");
  if (!rows && table_rows < length)
    return Status::error(StatusCode::invalid_shape, "cos and sin must have a row per token (%lld), got %lld",
                         static_cast<long long>(length), static_cast<long long>(table_rows));
  if (rows)
    if (Status status = check_rows(rows, batch_size * length, table_rows); !status.ok()) return status;
  if (batch_size == 0 || length == 0) return {};

  const RotaryCall call{strides_of(layout, num_heads, length, head_dim),
                        num_heads,
                        length,
                        head_dim,
                        Pairing{rotary_dim / 2, interleaved},
                        cosines,
                        sines,
                        rows};
  const auto write_to = [&](auto* destination) {
    if (x.dtype == Dtype::float32)
      turn_all(pool, call, batch_size, static_cast<const float*>(x.data), destination);
    else
      turn_all(pool, call, batch_size, static_cast<const std::uint16_t*>(x.data), destination);
  };
  if (y.dtype == Dtype::float32)
    write_to(static_cast<float*>(y.data));
  else
    write_to(static_cast<std::uint16_t*>(y.data));
  return {};
}

Status rotary_embedding_at(ThreadPool& pool, Layout layout, std::int64_t batch_size, std::int64_t num_heads,
                           std::int64_t length, std::int64_t head_dim, const RotaryOptions& options, ConstArray x,
                           const double* positions, MutableArray y) {
  if (Status status = check_array(batch_size, num_heads, length, head_dim); !status.ok()) return status;
  const std::int64_t rotary_dim = options.rotary_dim ? options.rotary_dim : head_dim;
  const std::int64_t tokens = batch_size * length, entries = tokens * std::max<std::int64_t>(rotary_dim / 2, 0);
  Buffer<float> cosines, sines;
  Buffer<std::int32_t> rows;
  if (tokens > std::numeric_limits<std::int32_t>::max() || !cosines.allocate(entries) || !sines.allocate(entries) ||
      !rows.allocate(tokens))
    return Status::out_of_memory(2 * entries * static_cast<std::int64_t>(sizeof(float)));
  std::iota(rows.data(), rows.data() + tokens, 0);
  if (Status status = rotary_tables(options, head_dim, positions, tokens, cosines.data(), sines.data()); !status.ok())
    return status;
  return rotary_embedding(pool, layout, batch_size, num_heads, length, head_dim, rotary_dim, options.interleaved, x,
                          cosines.data(), sines.data(), tokens, rows.data(), y);
}

}  // namespace headwise
