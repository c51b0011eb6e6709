#include "attention/softmax.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/memory.h"
#include "base/numbers.h"

namespace headwise {

namespace {

/// out = mean of all values at j < key_length, also of hidden ones.
void mean_of_values(const Call& call, const QueryRow& row, float* out) {
  const Sequence& sequence = *row.sequence;
  const std::int64_t columns = call.shape.value_dim, group = row.head / call.group_size;
  const float share = 1.0f / static_cast<float>(sequence.key_length);
  std::fill_n(out, columns, 0.0f);
  for (std::int64_t j = 0; j < sequence.key_length; ++j) {
    const RowRun run = call.source.values(sequence.batch, group, sequence.key_begin + j, 1);
    constexpr std::int64_t kChunk = 64;
    static_assert(kChunk % kScaleBlock == 0);
    float chunk[kChunk];
    for (std::int64_t d = 0; d < columns; d += kChunk) {
      const std::int64_t count = std::min(kChunk, columns - d);
      call.kernels.widen(run.from_column(d), count, chunk, kChunk);
      for (std::int64_t c = 0; c < count; ++c) out[d + c] += share * chunk[c];
    }
  }
}

/// Writes one row of the output in the call's layout and dtype. -0 becomes 0: the sign of a zero may depend on which
/// rows and hidden values a tile holds.
void store_row(const Call& call, const QueryRow& row, const float* values) {
  const std::int64_t at =
      row.sequence->batch * call.output.batch + row.head * call.output.head + row.query() * call.output.position;
  const std::ptrdiff_t step = call.output.feature;
  const std::int64_t columns = call.shape.value_dim;
  if (call.outputs.output.dtype == Dtype::float16) {
    auto* out = static_cast<std::uint16_t*>(call.outputs.output.data) + at;
    for (std::int64_t d = 0; d < columns; ++d) out[d * step] = float_to_half(values[d] + 0.0f);
  } else {
    auto* out = static_cast<float*>(call.outputs.output.data) + at;
    for (std::int64_t d = 0; d < columns; ++d) out[d * step] = values[d] + 0.0f;
  }
}

void fill_empty_row(const Call& call, const QueryRow& row, float* out) {
  std::fill_n(out, call.shape.value_dim, 0.0f);
  if (!follows_policy(row, false)) return;
  if (call.options.empty_rows == EmptyRows::nan) std::fill_n(out, call.shape.value_dim, kNan);
  if (call.options.empty_rows == EmptyRows::uniform && row.sequence->key_length > 0) mean_of_values(call, row, out);
}

}  // namespace

bool follows_policy(const QueryRow& row, bool sees_any_key) {
  return !sees_any_key && row.i < row.sequence->query_length;
}

void write_output_row(const Call& call, const QueryRow& row, float* out) {
  const float gain = call.options.head_gain ? call.options.head_gain[row.head] : 1.0f;
  if (gain == 0.0f)
    std::fill_n(out, call.shape.value_dim, 0.0f);  // exactly 0, also in place of Inf and NaN
  else if (gain != 1.0f)
    call.kernels.scale(out, call.shape.value_dim, gain);
  store_row(call, row, out);
}

FinishedSoftmax finish_row(const Call& call, const QueryRow& row, const OnlineSoftmax& softmax, float* out) {
  const bool padding = row.i >= row.sequence->query_length;
  const FinishedSoftmax finished =
      softmax.finish(call.options.sinks && !padding ? call.options.sinks[row.head] : -kInfinity);
  if (call.outputs.lse) {
    const bool uniform = follows_policy(row, finished.seen) && call.options.empty_rows == EmptyRows::uniform &&
                         row.sequence->key_length > 0;
    const std::int64_t at = call.row_index(row);
    call.outputs.lse[at] = uniform ? -kInfinity : finished.lse;
    if (call.outputs.lse_rest) call.outputs.lse_rest[at] = finished.seen ? finished.rest : 0.0f;
  }
  if (!call.outputs.output.data) return finished;
  if (finished.seen)
    call.kernels.scale(out, call.shape.value_dim, finished.share);
  else
    fill_empty_row(call, row, out);
  write_output_row(call, row, out);
  return finished;
}

float entropy_of(const float* scores, const float* probabilities, std::int64_t count, const FinishedSoftmax& softmax) {
  // -ln p = log_sum - (s - maximum). Every term is >= 0, so float32 sums of chunks are accurate.
  constexpr std::int64_t kChunk = 512, kLanes = 8;
  double total = 0.0;
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    float sums[kLanes] = {};
    for (std::int64_t j = begin; j < std::min(begin + kChunk, count); j += kLanes) {
      for (std::int64_t i = 0; i < kLanes; ++i) {
        const float p = probabilities[j + i];
        sums[i] += p == 0.0f ? 0.0f : p * (softmax.log_sum - (scores[j + i] - softmax.maximum));
      }
    }
    for (const float sum : sums) total += sum;
  }
  return static_cast<float>(total);
}

float entropy_of(const float* weights, std::int64_t count) {
  double total = 0.0;
  for (std::int64_t j = 0; j < count; ++j)
    if (weights[j] != 0.0f) total -= static_cast<double>(weights[j]) * std::log(static_cast<double>(weights[j]));
  return static_cast<float>(total);
}

float entropy_of_empty_row(const Call& call, const QueryRow& row, const FinishedSoftmax& softmax) {
  if (!follows_policy(row, softmax.seen)) return 0.0f;
  if (call.options.empty_rows == EmptyRows::nan) return std::numeric_limits<float>::quiet_NaN();
  if (call.options.empty_rows == EmptyRows::uniform && row.sequence->key_length > 0)
    return std::log(static_cast<float>(row.sequence->key_length));
  return 0.0f;
}

namespace {

constexpr std::uint32_t kSign = 0x80000000u;

/// An integer that is larger for a larger value. Given weights may be negative. -0 counts as 0. NaN has the largest
/// integer, so that it is seen.
std::uint32_t ordered(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value + 0.0f);
  const std::uint32_t integer = bits & kSign ? ~bits : bits | kSign;
  return value == value ? integer : 0xffffffffu;
}

/// The value to which `ordered` gave this integer.
float value_of(std::uint32_t integer) { return std::bit_cast<float>(integer & kSign ? integer & ~kSign : ~integer); }

/// A weight and its key as one number. The higher it ranks, the larger the number. Larger values rank higher; among
/// equal values the lower key does.
std::uint64_t ranked(float value, std::int64_t key) {
  return std::uint64_t{ordered(value)} << 32 | (0xffffffffu - static_cast<std::uint32_t>(key));
}

/// A bound that at least k visible values of a row reach: the k-th largest maximum of 4 k groups of values. -inf if the
/// row is too short for that many groups, or if the bound is not above 0, the value of hidden keys.
float reached_by(const float* values, std::int64_t count, std::int64_t k) {
  constexpr std::int64_t kMaxGroups = 256;
  const std::int64_t groups = round_up(4 * k, 32);
  if (groups > kMaxGroups || count < groups) return -kInfinity;
  float maxima[kMaxGroups];
  std::copy_n(values, groups, maxima);
  for (std::int64_t begin = groups; begin + groups <= count; begin += groups)
    for (std::int64_t i = 0; i < groups; ++i) maxima[i] = std::max(maxima[i], values[begin + i]);
  std::uint32_t integers[kMaxGroups];
  std::transform(maxima, maxima + groups, integers, ordered);
  std::nth_element(integers, integers + k - 1, integers + groups, std::greater<>());
  const float bound = value_of(integers[k - 1]);
  return bound > 0.0f ? bound : -kInfinity;
}

constexpr std::int64_t kChunk = 8;

/// Most chunks hold no value that reaches the bound.
bool any_reaches(const float* chunk, float bound) {
  bool any = false;
  for (std::int64_t i = 0; i < kChunk; ++i) any |= !(chunk[i] < bound);  // true for a NaN
  return any;
}

}  // namespace

void select_top_k(const float* values, const std::uint8_t* visible, std::int64_t count, std::int64_t first_key,
                  std::int64_t k, std::uint64_t* candidates, float* top_values, std::int32_t* top_indices) {
  std::uint64_t* end = candidates;
  const float bound = reached_by(values, count, k);
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    if (!any_reaches(values + begin, bound)) continue;
    for (std::int64_t j = begin; j < begin + kChunk; ++j) {  // no branch: it would be mispredicted
      *end = ranked(values[j], first_key + j);
      end += visible[j] & !(values[j] < bound);
    }
  }
  const std::int64_t found = std::min(k, static_cast<std::int64_t>(end - candidates));
  std::partial_sort(candidates, candidates + found, end, std::greater<>());
  for (std::int64_t n = 0; n < found; ++n) {
    top_values[n] = value_of(static_cast<std::uint32_t>(candidates[n] >> 32));
    top_indices[n] = static_cast<std::int32_t>(0xffffffffu - static_cast<std::uint32_t>(candidates[n]));
  }
  std::fill(top_values + found, top_values + k, 0.0f);
  std::fill(top_indices + found, top_indices + k, -1);
}

}  // namespace headwise
