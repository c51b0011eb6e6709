#include "layer/forward.h"

#include <algorithm>

#include "attention/attend.h"
#include "cache/append.h"
#include "cache/attend_cached.h"

namespace headwise {

Forward::Forward(const Layer::Packed& layer, ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
                 const AttentionOptions& options, const AttentionOutputs& outputs, const LayerViews& views, bool saves)
    : layer_(layer),
      pool_(pool),
      inputs_(inputs),
      options_(options),
      outputs_(outputs),
      views_(views),
      // without Wo the heads are Y itself, and lie in the order of Y
      heads_layout_(layer.shape.output_projection ? Layout::bse : inputs.layout),
      key_length_(inputs.key_context.data || inputs.value_context.data ? inputs.key_length : inputs.query_length),
      saves_(saves) {
  if (options.score) options_.score = &(score_ = *options.score);
  if (options.visible) options_.visible = &(visible_ = *options.visible);
  attention_inputs_.mask = masks.mask;
  attention_inputs_.mask_extents = masks.mask_extents;
  attention_inputs_.bias = masks.bias;
  attention_inputs_.bias_extents = masks.bias_extents;
  attention_inputs_.probs = masks.probs;
  attention_inputs_.cache = inputs.cache;
  if (inputs.cache && inputs.cache->shape().rotary) {
    attention_inputs_.query_positions = inputs.positions.data;
    attention_inputs_.query_position_planes = inputs.positions.planes;
  }
  options_.layout = heads_layout_;
  options_.kv_layout = heads_layout_;
  const LayerShape& s = layer.shape;
  shape_ = {inputs.batch_size, s.num_heads, s.num_kv_heads,  inputs.query_length,
            key_length_,       s.head_dim,  s.value_head_dim};
  const bool keys_from_x = !inputs.key_context.data;
  const std::int32_t* x_lengths = keys_from_x ? options.query_lengths : nullptr;
  if (appends()) growth_ = {key_length_, inputs.append_lengths ? inputs.append_lengths : x_lengths};
}

namespace {

std::int64_t projection_scratch(const Layer::Packed& layer) {
  return std::max({layer.query.scratch_floats(), layer.key.scratch_floats(), layer.value.scratch_floats(),
                   layer.output.scratch_floats(), layer.shape.head_dim});
}

}  // namespace

Status Forward::allocate() {
  const std::int64_t query_tokens = inputs_.batch_size * inputs_.query_length;
  const std::int64_t key_tokens = projects_keys() ? inputs_.batch_size * key_length_ : 0;
  const std::int64_t width = layer_.shape.value_head_dim;
  const struct {
    Buffer<float>* buffer;
    std::int64_t count;
  } wanted[] = {{&query_, query_tokens * layer_.query_width()},
                {&key_, key_tokens * layer_.key_width()},
                {&value_, key_tokens * layer_.value_width()},
                {&heads_, keeps_heads() ? query_tokens * layer_.heads_width() : 0},
                {&chosen_heads_, views_.contributions.data ? chosen_rows(views_.contributions.selection) * width : 0},
                {&raw_query_, keeps_raw_heads() ? query_tokens * layer_.query_width() : 0},
                {&raw_key_, keeps_raw_heads() ? key_tokens * layer_.key_width() : 0},
                {&lse_, saves_ ? query_tokens * layer_.shape.num_heads : 0},
                {&scratch_, pool_.size() * projection_scratch(layer_)}};
  for (const auto& want : wanted)
    if (!want.buffer->allocate(want.count))
      return Status::out_of_memory(want.count * static_cast<std::int64_t>(sizeof(float)));
  const std::int64_t planes = inputs_.positions.planes;
  if (!query_positions_.allocate(planes * query_tokens) || !key_positions_.allocate(planes * key_tokens) ||
      !sequences_.allocate(count_sequences(shape_, options_)) || !lengths_before_.allocate(inputs_.batch_size))
    return Status::out_of_memory((query_tokens + key_tokens) * static_cast<std::int64_t>(sizeof(std::int64_t)));
  return {};
}

Status Forward::attend() {
  attention_inputs_.query.data = query_.data();
  attention_inputs_.key.data = key_.data();
  attention_inputs_.value.data = value_.data();
  AttentionOutputs outputs = outputs_;
  if (heads_.size() > 0) outputs.output = {heads_.data(), Dtype::float32};
  if (lse_.size() > 0) outputs.lse = lse_.data();
  return inputs_.cache ? attend_cached(pool_, shape_, attention_inputs_, options_, outputs)
                       : attend_checked(pool_, shape_, attention_inputs_, options_, outputs);
}

Status Forward::run() {
  if (Status status = check_arguments(); !status.ok()) return status;
  if (appends())
    if (Status status = widen_ring(); !status.ok()) return status;
  if (Status status = check_call(); !status.ok()) return status;
  if (Status status = allocate(); !status.ok()) return status;
  resolve_positions();
  if (Status status = check_positions(); !status.ok()) return status;
  if (Status status = check_room(); !status.ok()) return status;
  if (Status status = find_position_rows(); !status.ok()) return status;

  project_inputs();
  overwrite_inputs();
  if (appends())
    if (Status status = append(); !status.ok()) return status;
  if (Status status = attend(); !status.ok()) {
    if (appends()) undo_append();
    return status;
  }
  overwrite_heads();
  show_inside();
  if (outputs_.output.data && heads_.size() > 0) {
    if (layer_.shape.output_projection)
      project_output();
    else
      copy_heads_to_output();
  }
  if (outputs_.lse && lse_.size() > 0) std::copy_n(lse_.data(), lse_.size(), outputs_.lse);
  scratch_ = {};
  if (ring_) return append_checked(pool_, *ring_, new_tokens());
  return {};
}

std::int64_t Forward::saved_bytes() const {
  std::int64_t floats = query_rows_.own.size() + key_rows_.own.size();
  for (const Buffer<float>* buffer : {&query_, &key_, &value_, &heads_, &raw_query_, &raw_key_, &lse_})
    floats += buffer->size();
  return floats * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace headwise
