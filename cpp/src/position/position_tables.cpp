#include "position/position_tables.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace headwise {

namespace {

/// Whether a table [rows, columns] can be counted, and is there.
Error check_table(std::int64_t rows, std::int64_t columns, const float* to) {
  std::int64_t elements = 0;
  if (rows < 0 || columns < 1) return refuse(Rule::table_extents, rows, columns);
  if (!multiply_sizes(rows, columns, &elements)) return refuse(Rule::size, Argument::table);
  return check_given({{Argument::output, elements > 0, to}});
}

}  // namespace

Error Sinusoids::create(std::int64_t width, SinusoidalSplit split, double base) {
  width_ = width;
  split_ = split;
  const bool halves = split == SinusoidalSplit::halves;
  const std::int64_t half = width / 2, count = halves ? half : width - half;
  const double steps =
      halves ? static_cast<double>(std::max<std::int64_t>(half - 1, 1)) : 0.5 * static_cast<double>(width);
  if (Error e = frequencies_.allocate(count)) return e;
  for (std::int64_t m = 0; m < count; ++m) frequencies_[m] = std::pow(base, -static_cast<double>(m) / steps);
  return {};
}

void Sinusoids::write(double position, float* row) const {
  const bool halves = split_ == SinusoidalSplit::halves;
  row[width_ - 1] = 0.0f;  // the last column of `halves` with an odd width
  for (std::int64_t m = 0; m < frequencies_.size(); ++m) {
    const double angle = position * frequencies_[m];
    const std::int64_t cosine = halves ? m + width_ / 2 : 2 * m + 1;
    row[halves ? m : 2 * m] = static_cast<float>(std::sin(angle));
    if (cosine < width_) row[cosine] = static_cast<float>(std::cos(angle));
  }
}

Status sinusoidal_positions(std::int64_t length, std::int64_t width, SinusoidalSplit split, double base, float* table) {
  if (Error e = check_table(length, width, table)) return e;
  if (Error e = check_choice(Argument::split, split, SinusoidalSplit::halves)) return e;
  if (Error e = check_positive(Argument::base, base)) return e;

  Sinusoids sinusoids;
  if (Error e = sinusoids.create(width, split, base)) return e;
  for (std::int64_t s = 0; s < length; ++s) sinusoids.write(static_cast<double>(s), table + s * width);
  return {};
}

namespace {

/// Slope h of n heads, n a power of two: 2^(-8 (h + 1) / n).
float power_of_two_slope(std::int64_t h, std::int64_t n) {
  return static_cast<float>(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(n)));
}

}  // namespace

Status alibi_slopes(std::int64_t num_heads, float* slopes) {
  if (Error e = check_least({{Argument::num_heads, num_heads, 0}})) return e;
  if (Error e = check_given({{Argument::alibi_slopes, num_heads > 0, slopes}})) return e;
  std::int64_t power = 1;
  while (power <= num_heads / 2) power *= 2;
  for (std::int64_t h = 0; h < num_heads; ++h)
    slopes[h] = h < power ? power_of_two_slope(h, power) : power_of_two_slope(2 * (h - power), 2 * power);
  return {};
}

namespace {

/// T5's bucket for a key `distance` after the query. Half the buckets of a direction hold one distance each. The other
/// half is logarithmic up to max_distance, then constant. Computed in float32 in the published order of operations,
/// because rounding moves the borders of buckets.
class RelativeBuckets {
 public:
  RelativeBuckets(std::int64_t num_buckets, std::int64_t max_distance, bool bidirectional)
      : bidirectional_(bidirectional),
        per_direction_(bidirectional ? num_buckets / 2 : num_buckets),
        max_exact_(per_direction_ / 2),
        span_(std::log(static_cast<double>(max_distance) / max_exact())) {}

  [[nodiscard]] std::int64_t operator()(std::int64_t distance) const {
    const std::int64_t direction = bidirectional_ && distance > 0 ? per_direction_ : 0;
    const std::int64_t magnitude = bidirectional_ ? std::abs(distance) : std::max<std::int64_t>(-distance, 0);
    return direction + (magnitude < max_exact_ ? magnitude : logarithmic(magnitude));
  }

  [[nodiscard]] double max_exact() const { return static_cast<double>(max_exact_); }

 private:
  [[nodiscard]] std::int64_t logarithmic(std::int64_t magnitude) const {
    const float ratio = static_cast<float>(magnitude) / static_cast<float>(max_exact_);
    const float logarithm = static_cast<float>(std::log(static_cast<double>(ratio)));
    const float beyond = logarithm / static_cast<float>(span_) * static_cast<float>(per_direction_ - max_exact_);
    return std::min(max_exact_ + static_cast<std::int64_t>(beyond), per_direction_ - 1);
  }

  bool bidirectional_;
  std::int64_t per_direction_, max_exact_;
  double span_;
};

/// How far a key lies after a query, where `apart` is the difference of their rows; the nearest number that has a
/// magnitude in int64.
std::int64_t distance_at(std::int64_t apart, std::int64_t query_offset) {
  constexpr std::int64_t kFarthest = std::numeric_limits<std::int64_t>::max();
  std::int64_t distance = 0;
  if (__builtin_sub_overflow(apart, query_offset, &distance)) return query_offset < 0 ? kFarthest : -kFarthest;
  return std::max(distance, -kFarthest);
}

Error check_buckets(std::int64_t num_buckets, std::int64_t max_distance, bool bidirectional) {
  const std::int64_t fewest = bidirectional ? 4 : 2;
  if (num_buckets < fewest || (bidirectional && num_buckets % 2 != 0))
    return refuse(bidirectional ? Rule::even_buckets : Rule::buckets, fewest, num_buckets);
  const std::int64_t max_exact = num_buckets / fewest;
  if (max_distance <= max_exact) return refuse(Rule::max_distance, max_exact, max_distance);
  return {};
}

}  // namespace

Status relative_position_bias(const float* table, std::int64_t num_buckets, std::int64_t max_distance,
                              bool bidirectional, std::int64_t num_heads, std::int64_t query_length,
                              std::int64_t key_length, std::int64_t query_offset, float* bias) {
  if (Error e = check_buckets(num_buckets, max_distance, bidirectional)) return e;
  std::int64_t rows = 0;
  if (num_heads < 1 || query_length < 0 || !multiply_sizes(num_heads, query_length, &rows))
    return refuse(Rule::bias_extents, num_heads, query_length);
  if (key_length == 0 || rows == 0) return {};
  if (Error e = check_table(rows, key_length, bias)) return e;
  if (Error e = check_given({{Argument::table, true, table}})) return e;

  const RelativeBuckets bucket(num_buckets, max_distance, bidirectional);
  for (std::int64_t h = 0; h < num_heads; ++h) {
    const auto entry = [&](std::int64_t distance) { return table[bucket(distance) * num_heads + h]; };
    float* row = bias + h * query_length * key_length;
    for (std::int64_t j = 0; j < key_length; ++j) row[j] = entry(distance_at(j, query_offset));
    // The distance alone decides. So each row is the row above, moved by one key.
    for (std::int64_t i = 1; i < query_length; ++i) {
      float* next = row + key_length;
      next[0] = entry(distance_at(-i, query_offset));
      std::memcpy(next + 1, row, static_cast<std::size_t>(key_length - 1) * sizeof(float));
      row = next;
    }
  }
  return {};
}

}  // namespace headwise
