#include "attention/prepared_call.h"

#include <cmath>

namespace headwise {

namespace {

/// Whether reading the bias once more is cheap beside computing the scores: at least this many rows share each element.
bool is_shared(const BroadcastExtents& bias, const AttentionShape& shape, std::int64_t key_length) {
  constexpr double kSharing = 4;
  const double pairs = static_cast<double>(shape.batch_size) * shape.num_heads * shape.query_length * key_length;
  double elements = 1;
  for (const std::int64_t extent : bias.extent) elements *= static_cast<double>(extent);
  return elements * kSharing <= pairs;
}

}  // namespace

Status PreparedCall::prepare(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                             const AttentionOptions& options) {
  const KernelTable& kernels = kernel_table();
  num_sequences_ = count_sequences(shape, options);
  if (!sequences_.allocate(num_sequences_))
    return Status::out_of_memory(num_sequences_ * static_cast<std::int64_t>(sizeof(Sequence)));
  resolve_sequences(shape, inputs, options, sequences_.data());
  formulas_.compile(options);
  if (Status status = formulas_.prepare(pool, shape, sequences_.data(), num_sequences_, kernels); !status.ok())
    return status;
  key_length_ = key_length_of(shape, inputs);
  if (inputs.mask) {
    if (Status status = shown_by_mask_.read(pool, inputs.mask, inputs.mask_extents, kernels.panel_width); !status.ok())
      return status;
  }
  if (inputs.bias.data && is_shared(inputs.bias_extents, shape, key_length_))
    return shown_by_bias_.read(pool, inputs.bias, inputs.bias_extents, kernels.panel_width);
  return {};
}

Call PreparedCall::call(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                        const AttentionOutputs& outputs, const KeyValueSource& source) const {
  return {shape,
          inputs,
          options,
          outputs,
          kernel_table(),
          source,
          options.scale.value_or(1.0f / std::sqrt(static_cast<float>(shape.head_dim))),
          shape.num_heads / shape.num_kv_heads,
          key_length_,
          num_sequences_,
          sequences_.data(),
          strides_of(options.layout, shape.num_heads, shape.query_length, shape.head_dim),
          strides_of(options.layout, shape.num_heads, shape.query_length, shape.value_dim),
          shown_by_mask_,
          shown_by_bias_,
          formulas_};
}

}  // namespace headwise
