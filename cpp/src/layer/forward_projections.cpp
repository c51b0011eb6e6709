#include "layer/forward.h"
#include "layer/head_steps.h"

namespace headwise {

HeadSteps Forward::head_steps(const float* gain, const PositionRows& angle_rows) const {
  HeadSteps steps{layer_.shape.head_dim, layer_.options.qk_norm, layer_.options.qk_norm_epsilon, gain};
  if (layer_.is_rotary()) {
    steps.angles = layer_.angles_grow() ? &own_angles_ : &layer_.angles;
    steps.angle_rows = angle_rows.at.data();
  }
  return steps;
}

/// Queries, keys and values, with norm and rotary embedding.
void Forward::project_inputs() {
  const LayerShape& s = layer_.shape;
  const ConstTokenRows keys =
      inputs_.key_context.data ? context(inputs_.key_context, key_length_, s.key_input_dim) : x();
  const ConstTokenRows values =
      inputs_.value_context.data ? context(inputs_.value_context, key_length_, s.value_input_dim) : keys;
  const ProjectionJob jobs[] = {{&layer_.query, x(), rows(query_.data(), inputs_.query_length, layer_.query_width()),
                                 head_steps(layer_.query_gain.data(), query_rows_)},
                                {&layer_.key, keys, rows(key_.data(), key_length_, layer_.key_width()),
                                 head_steps(layer_.key_gain.data(), key_rows_)},
                                {&layer_.value, values, rows(value_.data(), key_length_, layer_.value_width())}};
  project(pool_, {jobs, projects_keys() ? std::size_t{3} : std::size_t{1}}, scratch_);
}

void Forward::project_output() {
  const LayerShape& s = layer_.shape;
  const std::int64_t length = inputs_.query_length;
  const TokenRows heads = rows(heads_.data(), length, layer_.heads_width());
  const ProjectionJob job{
      &layer_.output,
      {{heads.array.data, heads.array.dtype}, heads.strides, heads.batch_size, heads.length},
      {outputs_.output, strides_of(inputs_.layout, 1, length, s.output_dim), inputs_.batch_size, length}};
  project(pool_, {&job, 1}, scratch_);
}

}  // namespace headwise
