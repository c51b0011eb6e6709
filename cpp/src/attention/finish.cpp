#include "attention/finish.h"

#include <algorithm>

#include "base/numbers.h"

namespace headwise {

namespace {

/// out = mean of all values at j < key_length, also of hidden ones.
void mean_of_values(const Call& call, const Sequence& sequence, const QueryRow& row, float* out) {
  const std::int64_t columns = call.shape.value_dim, group = row.head / call.group_size;
  const float share = 1.0f / static_cast<float>(sequence.key_length);
  std::fill_n(out, columns, 0.0f);
  for (std::int64_t j = 0; j < sequence.key_length; ++j) {
    const RowRun run = call.source.values(sequence.batch, group, sequence.key_begin + j, 1);
    constexpr std::int64_t kChunk = 64;
    float chunk[kChunk];
    for (std::int64_t d = 0; d < columns; d += kChunk) {
      const std::int64_t count = std::min(kChunk, columns - d);
      RowRun part = run;
      part.data = static_cast<const char*>(run.data) + d * run.column_stride * size_of(run.dtype);
      call.kernels.widen(part, count, chunk, kChunk);
      for (std::int64_t c = 0; c < count; ++c) out[d + c] += share * chunk[c];
    }
  }
}

/// Writes one row of the output in the call's layout and dtype. -0 becomes 0: the sign of a zero may depend on which
/// rows and hidden values a tile holds.
void store_row(const Call& call, const Sequence& sequence, const QueryRow& row, const float* values) {
  const std::int64_t at = sequence.batch * call.output.batch + row.head * call.output.head +
                          (sequence.query_begin + row.i) * call.output.position;
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

void fill_empty_row(const Call& call, const Sequence& sequence, const QueryRow& row, float* out) {
  std::fill_n(out, call.shape.value_dim, 0.0f);
  if (!follows_policy(sequence, row, false)) return;
  if (call.options.empty_rows == EmptyRows::nan) std::fill_n(out, call.shape.value_dim, kNan);
  if (call.options.empty_rows == EmptyRows::uniform && sequence.key_length > 0)
    mean_of_values(call, sequence, row, out);
}

}  // namespace

bool follows_policy(const Sequence& sequence, const QueryRow& row, bool sees_any_key) {
  return !sees_any_key && row.i < sequence.query_length;
}

std::int64_t row_index(const Call& call, const Sequence& sequence, const QueryRow& row) {
  return (sequence.batch * call.shape.num_heads + row.head) * call.shape.query_length + sequence.query_begin + row.i;
}

void write_output_row(const Call& call, const Sequence& sequence, const QueryRow& row, float* out) {
  const float gain = call.options.head_gain ? call.options.head_gain[row.head] : 1.0f;
  if (gain == 0.0f)
    std::fill_n(out, call.shape.value_dim, 0.0f);  // exactly 0, also in place of Inf and NaN
  else if (gain != 1.0f)
    call.kernels.scale(out, call.shape.value_dim, gain);
  store_row(call, sequence, row, out);
}

FinishedSoftmax finish_row(const Call& call, const Sequence& sequence, const QueryRow& row,
                           const OnlineSoftmax& softmax, float* out) {
  const bool padding = row.i >= sequence.query_length;
  const FinishedSoftmax finished =
      softmax.finish(call.options.sinks && !padding ? call.options.sinks[row.head] : -kInfinity);
  if (call.outputs.lse) {
    const bool uniform = follows_policy(sequence, row, finished.seen) &&
                         call.options.empty_rows == EmptyRows::uniform && sequence.key_length > 0;
    const std::int64_t at = row_index(call, sequence, row);
    call.outputs.lse[at] = uniform ? -kInfinity : finished.lse;
    if (call.outputs.lse_rest) call.outputs.lse_rest[at] = finished.seen ? finished.lse_rest() : 0.0f;
  }
  if (!call.outputs.output.data) return finished;
  if (finished.seen)
    call.kernels.scale(out, call.shape.value_dim, finished.share);
  else
    fill_empty_row(call, sequence, row, out);
  write_output_row(call, sequence, row, out);
  return finished;
}

}  // namespace headwise
