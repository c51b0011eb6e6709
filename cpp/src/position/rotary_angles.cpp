#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numbers>

#include "base/memory.h"
#include "base/rules.h"
#include "position/rotary.h"

namespace headwise {

namespace {

Error check_frequencies(const RotaryOptions& options, std::int64_t half) {
  if (!options.frequencies) return refuse(Rule::frequencies_given);
  for (std::int64_t m = 0; m < half; ++m)
    if (!std::isfinite(options.frequencies[m])) return refuse(Rule::frequencies, options.frequencies[m]);
  return check_not_negative(Argument::attention_factor, options.attention_factor);
}

Error check_tables(const RotaryOptions& options) {
  if (!options.cosines || !options.sines) return refuse(Rule::tables_given);
  if (options.table_rows >= 1 && options.table_rows <= std::numeric_limits<std::int32_t>::max()) return {};
  return refuse(Rule::table_rows, options.table_rows);
}

Error check_longrope(const RotaryOptions& options, std::int64_t half) {
  if (!options.short_factors || !options.long_factors) return refuse(Rule::longrope_given);
  for (const double* factors : {options.short_factors, options.long_factors})
    for (std::int64_t m = 0; m < half; ++m)
      if (!is_positive(factors[m])) return refuse(Rule::longrope_factors, factors[m]);
  if (options.original_length <= 1.0) return refuse(Rule::longrope_length, options.original_length);
  if (Error e = check_not_negative(Argument::sequence_length, options.sequence_length)) return e;
  return check_not_negative(Argument::scaling_attention_factor, options.attention_factor);
}

Error check_sections(const RotaryOptions& options, std::int64_t half) {
  const std::int64_t t = options.temporal_section, h = options.height_section, w = options.width_section;
  if (!has_sections(options)) return {};
  if (t >= 0 && h >= 0 && w >= 0 && t <= half && h <= half && w <= half && t + h + w == half) return {};
  return refuse(Rule::sections, t, h, w);
}

Error check_scaling(const RotaryOptions& options, std::int64_t half) {
  const RotaryScaling kind = options.scaling;
  if (kind < RotaryScaling::none || kind > RotaryScaling::tables) return refuse(Rule::scaling, static_cast<int>(kind));
  if (kind == RotaryScaling::none) return {};
  if (kind == RotaryScaling::frequencies) return check_frequencies(options, half);
  if (kind == RotaryScaling::tables) return check_tables(options);
  if (Error e = check_positive(Argument::scaling_factor, options.factor)) return e;
  if (kind == RotaryScaling::linear || kind == RotaryScaling::ntk) return {};
  if (Error e = check_positive(Argument::original_length, options.original_length)) return e;
  if (kind == RotaryScaling::longrope) return check_longrope(options, half);
  if (kind == RotaryScaling::dynamic_ntk) {
    if (options.factor < 1.0) return refuse(Rule::dynamic_ntk_factor, options.factor);
    if (Error e = check_not_negative(Argument::sequence_length, options.sequence_length)) return e;
  }
  if (kind == RotaryScaling::yarn) {
    if (options.base <= 1.0) return refuse(Rule::yarn_base, options.base);
    if (Error e = check_positive(Argument::beta_slow, options.beta_slow)) return e;
    if (!std::isfinite(options.beta_fast) || options.beta_fast < options.beta_slow)
      return refuse(Rule::beta_fast, options.beta_fast);
    if (Error e = check_not_negative(Argument::scaling_attention_factor, options.attention_factor)) return e;
    if (Error e = check_not_negative(Argument::mscale, options.mscale)) return e;
    if (Error e = check_not_negative(Argument::mscale_all_dim, options.mscale_all_dim)) return e;
  }
  if (kind == RotaryScaling::llama3) {
    if (Error e = check_positive(Argument::low_freq_factor, options.low_freq_factor)) return e;
    if (!std::isfinite(options.high_freq_factor) || options.high_freq_factor <= options.low_freq_factor)
      return refuse(Rule::high_freq_factor, options.high_freq_factor);
  }
  return {};
}

}  // namespace

Error check_rotary_dim(std::int64_t rotary_dim, std::int64_t head_dim) {
  if (rotary_dim >= 2 && rotary_dim % 2 == 0 && rotary_dim <= head_dim) return {};
  return refuse(Rule::rotary_dim, head_dim, rotary_dim);
}

Error check_positions(const RotaryOptions& options, const double* positions, std::int64_t count) {
  if (has_sections(options)) return refuse(Rule::sections_planes);
  if (Error e = check_given({{Argument::positions, count > 0, positions}})) return e;
  for (std::int64_t s = 0; s < count; ++s)
    if (!std::isfinite(positions[s])) return refuse(Rule::position, positions[s]);
  for (std::int64_t s = 0; options.scaling == RotaryScaling::tables && s < count; ++s)
    if (positions[s] != std::floor(positions[s]) || positions[s] < 0.0 ||
        positions[s] >= static_cast<double>(options.table_rows))
      return refuse(Rule::position_of_no_row, positions[s]);
  return {};
}

bool same_angles(const RotaryOptions& a, const RotaryOptions& b, std::int64_t head_dim) {
  RotaryAngles first, second;
  return first.create(a, head_dim).ok() && second.create(b, head_dim).ok() && first.turns_like(second);
}

Error check_planes(const RotaryOptions& options, std::int64_t planes) {
  if (planes == 1 || (planes == 3 && has_sections(options))) return {};
  return refuse(Rule::position_planes, planes);
}

Status validate_rotary(const RotaryOptions& options, std::int64_t head_dim) {
  if (Error e = check_rotary_dim(rotary_dim_of(options, head_dim), head_dim)) return e;
  if (Error e = check_positive(Argument::base, options.base)) return e;
  const std::int64_t half = rotary_dim_of(options, head_dim) / 2;
  if (Error e = check_sections(options, half)) return e;
  return check_scaling(options, half);
}

Error check_table_rows(const RotaryOptions& options, std::int64_t position) {
  if (options.scaling != RotaryScaling::tables || (position >= 0 && position < options.table_rows)) return {};
  return refuse(Rule::position_of_row, options.table_rows - 1, position);
}

Error RotaryArrays::keep(std::int64_t head_dim, RotaryOptions* options) {
  const std::int64_t half = rotary_dim_of(*options, head_dim) / 2;
  const bool is_longrope = options->scaling == RotaryScaling::longrope;
  if (is_longrope || options->scaling == RotaryScaling::frequencies) {
    if (Error e = numbers_.allocate(2 * half)) return e;
    const auto copy = [&](const double** list, double* to) {
      std::copy_n(*list, half, to);
      *list = to;
    };
    copy(is_longrope ? &options->short_factors : &options->frequencies, numbers_.data());
    if (is_longrope) copy(&options->long_factors, numbers_.data() + half);
  }
  if (options->scaling == RotaryScaling::tables) {
    const std::int64_t count = options->table_rows * 2 * half;  // both are below 2^31
    if (Error e = tables_.allocate(count)) return e;
    std::copy_n(options->cosines, count / 2, tables_.data());
    std::copy_n(options->sines, count / 2, tables_.data() + count / 2);
    options->cosines = tables_.data();
    options->sines = tables_.data() + count / 2;
  }
  return {};
}

std::int64_t RotaryArrays::bytes() const {
  return numbers_.size() * static_cast<std::int64_t>(sizeof(double)) + tables_.size() * kFloatBytes;
}

namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;

/// NTK-aware scaling makes the base larger. The slowest pair then turns `stretch` times slower, the fastest as before.
double stretched_base(double base, double stretch, double rotary_dim) {
  return base * std::pow(stretch, rotary_dim / (rotary_dim - 2.0));  // rotary_dim 2: theta_0 is 1 for every base
}

double scaled_base(const RotaryOptions& options, double rotary_dim) {
  if (options.scaling == RotaryScaling::ntk) return stretched_base(options.base, options.factor, rotary_dim);
  if (options.scaling != RotaryScaling::dynamic_ntk) return options.base;
  const double length = std::max(options.sequence_length, options.original_length);
  const double stretch = options.factor * length / options.original_length - (options.factor - 1.0);
  return stretched_base(options.base, stretch, rotary_dim);
}

/// YaRN's share for pair m: 1 for pairs that turn more than beta_fast times over the original length, 0 for pairs that
/// turn less than beta_slow times, and a linear ramp over m between them.
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

/// Llama 3's share for a pair: 1 for short wavelengths, 0 for long ones, and a linear blend between them.
double llama3_kept(const RotaryOptions& options, double theta) {
  const double turns = options.original_length * theta / kTwoPi;
  return std::clamp((turns - options.low_freq_factor) / (options.high_freq_factor - options.low_freq_factor), 0.0, 1.0);
}

/// The share of pair m's angle that is kept. The rest of the angle is divided by the factor.
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
    case RotaryScaling::longrope:
    case RotaryScaling::frequencies:
    case RotaryScaling::tables:
      break;
  }
  return 1.0;
}

double yarn_magnitude(double factor, double weight) {
  return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

double longrope_magnitude(double factor, double original_length) {
  return factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(factor) / std::log(original_length));
}

double yarn_amplitude(const RotaryOptions& options) {
  if (options.mscale > 0.0 && options.mscale_all_dim > 0.0)
    return yarn_magnitude(options.factor, options.mscale) / yarn_magnitude(options.factor, options.mscale_all_dim);
  return yarn_magnitude(options.factor, 1.0);
}

/// The factor on cos and sin: the one that is given, or that of the scaling.
double amplitude_of(const RotaryOptions& options) {
  const double given = options.attention_factor;
  switch (options.scaling) {
    case RotaryScaling::yarn:
      return given > 0.0 ? given : yarn_amplitude(options);
    case RotaryScaling::longrope:
      return given > 0.0 ? given : longrope_magnitude(options.factor, options.original_length);
    case RotaryScaling::frequencies:
      return given > 0.0 ? given : 1.0;
    default:
      return 1.0;
  }
}

/// LongRoPE's factors at the current length.
const double* longrope_factors(const RotaryOptions& options) {
  return options.sequence_length > options.original_length ? options.long_factors : options.short_factors;
}

/// theta_m for m < R / 2, after scaling.
void fill_frequencies(const RotaryOptions& options, std::int64_t head_dim, double* theta) {
  const std::int64_t rotary_dim = rotary_dim_of(options, head_dim);
  if (options.scaling == RotaryScaling::frequencies) {
    std::copy_n(options.frequencies, rotary_dim / 2, theta);
    return;
  }
  const double width = static_cast<double>(rotary_dim);
  const double base = scaled_base(options, width);
  for (std::int64_t m = 0; m < rotary_dim / 2; ++m) {
    const double angle = std::pow(base, -2.0 * static_cast<double>(m) / width);
    const double kept = kept_share(options, static_cast<double>(m), width, angle);
    // Without a scaling any factor is accepted, also 0.
    theta[m] = kept == 1.0 ? angle : angle * (kept + (1.0 - kept) / options.factor);
    if (options.scaling == RotaryScaling::longrope) theta[m] = angle / longrope_factors(options)[m];
  }
}

}  // namespace

Status rotary_frequencies(const RotaryOptions& options, std::int64_t head_dim, double* theta, double* amplitude) {
  if (Error e = validate_rotary(options, head_dim)) return e;
  if (options.scaling == RotaryScaling::tables) return refuse(Rule::tables_frequencies);
  if (Error e = check_given({{Argument::output, true, theta}, {Argument::output, true, amplitude}})) return e;
  fill_frequencies(options, head_dim, theta);
  *amplitude = amplitude_of(options);
  return {};
}

Error RotaryAngles::create(const RotaryOptions& options, std::int64_t head_dim) {
  const std::int64_t half = rotary_dim_of(options, head_dim) / 2;
  interleaved_ = options.interleaved;
  section_ends_[0] = options.temporal_section;
  section_ends_[1] = options.temporal_section + options.height_section;
  section_ends_[2] = half;
  if (options.scaling == RotaryScaling::tables) {
    table_cosines_ = options.cosines, table_sines_ = options.sines;
    table_rows_ = options.table_rows;
    half_ = half;
    return {};
  }
  if (Error e = theta_.allocate(half)) return e;
  fill_frequencies(options, head_dim, theta_.data());
  amplitude_ = amplitude_of(options);
  half_ = half;
  return {};
}

void RotaryAngles::copy_row(double position, float* cosines, float* sines) const {
  const bool is_row = position >= 0.0 && position < static_cast<double>(table_rows_);
  const std::int64_t at = is_row ? static_cast<std::int64_t>(position) * half_ : 0;
  for (std::int64_t m = 0; m < half_; ++m) {
    cosines[m] = is_row ? table_cosines_[at + m] : 1.0f;
    sines[m] = is_row ? table_sines_[at + m] : 0.0f;
  }
}

bool RotaryAngles::turns_like(const RotaryAngles& other) const {
  if (table_cosines_ || other.table_cosines_ || half_ != other.half_ || interleaved_ != other.interleaved_)
    return false;
  return amplitude_ == other.amplitude_ && std::equal(theta_.data(), theta_.data() + half_, other.theta_.data()) &&
         std::equal(std::begin(section_ends_), std::end(section_ends_), std::begin(other.section_ends_));
}

void RotaryAngles::write(double position, float* cosines, float* sines) const {
  if (table_rows_ > 0) return copy_row(position, cosines, sines);
  // The standard library's cos and sin. Eigen's own may give other bits for another instruction set.
  for (std::int64_t m = 0; m < half(); ++m) {
    cosines[m] = static_cast<float>(amplitude_ * std::cos(position * theta_[m]));
    sines[m] = static_cast<float>(amplitude_ * std::sin(position * theta_[m]));
  }
}

void RotaryAngles::write_sections(const double* positions, std::int64_t stride, float* row, float* scratch) const {
  std::int64_t first = 0;
  for (std::int64_t plane = 0; plane < 3; first = section_ends_[plane++]) {
    const std::int64_t end = section_ends_[plane];
    write(positions[plane * stride], scratch);
    std::copy(scratch + first, scratch + end, row + first);
    std::copy(scratch + half_ + first, scratch + half_ + end, row + half_ + first);
  }
}

Status rotary_tables(const RotaryOptions& options, std::int64_t head_dim, const double* positions,
                     std::int64_t num_positions, float* cosines, float* sines) {
  if (Error e = validate_rotary(options, head_dim)) return e;
  if (Error e = check_positions(options, positions, num_positions)) return e;
  const bool has_rows = num_positions > 0;
  if (Error e = check_given({{Argument::cos_and_sin, has_rows, cosines}, {Argument::cos_and_sin, has_rows, sines}}))
    return e;
  RotaryAngles angles;
  if (Error e = angles.create(options, head_dim)) return e;
  for (std::int64_t s = 0; s < num_positions; ++s)
    angles.write(positions[s], cosines + s * angles.half(), sines + s * angles.half());
  return {};
}

}  // namespace headwise
