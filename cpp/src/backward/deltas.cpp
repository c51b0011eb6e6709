#include "backward/deltas.h"

#include <algorithm>
#include <cmath>

#include "base/memory.h"

namespace headwise {

namespace {

// Rows that a task reads at a time.
constexpr std::int64_t kDeltaRows = 64;

RowRun run_of(const Call& forward, ConstArray array, std::int64_t head, std::int64_t begin, std::int64_t count) {
  const std::int64_t heads = forward.shape.num_heads;
  return row_run(array, forward.output, head / heads, head % heads, begin, count);
}

}  // namespace

Status compute_deltas(ThreadPool& pool, const Call& forward, const BackwardInputs& inputs, Buffer<float>* deltas) {
  const std::int64_t length = forward.shape.query_length, columns = forward.shape.value_dim;
  const std::int64_t heads = forward.shape.batch_size * forward.shape.num_heads, chunks = divide_up(length, kDeltaRows);
  std::int64_t each, bytes;  // each: floats of a worker's rows of output and gradient
  if (!multiply_sizes(2 * kDeltaRows, columns, &each) || !multiply_sizes(each, pool.size() * kFloatBytes, &bytes))
    return Status::error(StatusCode::invalid_shape, "the scratch is too large to address");
  Buffer<float> rows;
  if (!deltas->allocate(heads * length)) return Status::out_of_memory(heads * length * kFloatBytes);
  if (!rows.allocate(bytes / kFloatBytes)) return Status::out_of_memory(bytes);
  pool.parallel_for(heads * chunks, [&](std::int64_t task, int worker) {
    const std::int64_t head = task / chunks, begin = task % chunks * kDeltaRows,
                       count = std::min(kDeltaRows, length - begin);
    float* const output = rows.data() + worker * each;
    float* const gradient = output + each / 2;
    forward.kernels.widen(run_of(forward, inputs.output, head, begin, count), columns, output, columns);
    forward.kernels.widen(run_of(forward, inputs.output_gradient, head, begin, count), columns, gradient, columns);
    for (std::int64_t r = 0; r < count; ++r) {
      double sum = 0;
      for (std::int64_t d = r * columns; d < (r + 1) * columns; ++d)
        sum += static_cast<double>(gradient[d]) * output[d];
      const std::int64_t row = head * length + begin + r;
      (*deltas)[row] = static_cast<float>(inputs.lse_gradient ? sum - inputs.lse_gradient[row] : sum);
    }
  });
  return {};
}

namespace {

// Up to here rounding changes a weight by 1.5e-5 of itself at most.
constexpr float kLargestExactLse = 256.0f;

}  // namespace

Status PreciseLse::find(ThreadPool& pool, const AttentionShape& shape, const BackwardInputs& inputs,
                        const AttentionOptions& options) {
  const std::int64_t count = shape.batch_size * shape.num_heads * shape.query_length;
  const bool is_far = std::any_of(inputs.lse, inputs.lse + count, [](float value) {
    return std::isfinite(value) && std::abs(value) > kLargestExactLse;
  });
  if (!is_far) return {};
  if (!lse.allocate(count) || !rest.allocate(count)) return Status::out_of_memory(2 * count * kFloatBytes);
  AttentionOutputs outputs;
  outputs.lse = lse.data();
  outputs.lse_rest = rest.data();
  if (Status status = attention(pool, shape, inputs.forward, options, outputs); !status.ok()) return status;
  for (std::int64_t n = 0; n < count; ++n) {
    if (std::isfinite(inputs.lse[n]) && std::abs(inputs.lse[n]) > kLargestExactLse) continue;
    lse[n] = inputs.lse[n];
    rest[n] = 0.0f;
  }
  return {};
}

}  // namespace headwise
