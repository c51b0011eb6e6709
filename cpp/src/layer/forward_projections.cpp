#include <algorithm>

#include "layer/forward.h"
#include "layer/head_steps.h"

namespace headwise {

HeadSteps Forward::head_steps(const float* gain, const PositionRows& angle_rows) const {
  HeadSteps steps{layer_.shape.head_dim, layer_.options.qk_norm, layer_.options.qk_norm_epsilon, gain};
  if (turns()) {
    steps.angles = layer_.angles_grow() ? &own_angles_ : &layer_.angles;
    steps.angle_rows = angle_rows.at.data();
  }
  return steps;
}

/// Queries, keys and values, with norm and rotary embedding.
void Forward::project_inputs() {
  const TokenRows queries = rows(query_.data(), inputs_.query_length, layer_.query_width());
  const TokenRows keys = rows(key_.data(), key_length_, layer_.key_width());
  const TokenRows values = rows(value_.data(), key_length_, layer_.value_width());
  ProjectionJob jobs[] = {{&layer_.query, x(), queries, query_steps()},
                          {&layer_.key, key_tokens(), keys, key_steps()},
                          {&layer_.value, value_tokens(), values}};
  if (keeps_raw_heads()) {
    for (ProjectionJob& job : jobs) job.heads = {};
    jobs[0].y.array.data = raw_query_.data();
    jobs[1].y.array.data = raw_key_.data();
  }
  project(pool_, {jobs, projects_keys() ? std::size_t{3} : std::size_t{1}}, scratch_);
  if (!keeps_raw_heads()) return;
  take_head_steps(as_const(jobs[0].y), layer_.shape.num_heads, query_steps(), queries);
  take_head_steps(as_const(jobs[1].y), layer_.shape.num_kv_heads, key_steps(), keys);
}

/// Copies heads, and takes their steps on the copies.
void Forward::take_head_steps(const ConstTokenRows& raw, std::int64_t num_heads, const HeadSteps& steps,
                              const TokenRows& heads) {
  const std::int64_t width = steps.head_dim;
  pool_.parallel_for(raw.count(), [&](std::int64_t token, int worker) {
    float* const head = scratch_.data() + worker * (scratch_.size() / pool_.size());
    for (std::int64_t h = 0; h < num_heads; ++h) {
      gather(raw, token, 1, h * width, width, head);
      steps.apply(token, head);
      scatter(head, width, token, 1, h * width, width, heads);
    }
  });
}

void Forward::project_output() {
  const TokenRows heads = rows(heads_.data(), inputs_.query_length, layer_.heads_width());
  const ProjectionJob job{&layer_.output, as_const(heads), output()};
  project(pool_, {&job, 1}, scratch_);
}

/// Without an output projection Y is the heads.
void Forward::copy_heads_to_output() {
  constexpr std::int64_t kFeatures = 256;  // that are copied at a time
  const std::int64_t width = layer_.heads_width();
  const ConstTokenRows heads = as_const(rows(heads_.data(), inputs_.query_length, width));
  pool_.parallel_for(heads.count(), [&](std::int64_t token, int) {
    float features[kFeatures];
    for (std::int64_t d = 0; d < width; d += kFeatures) {
      const std::int64_t count = std::min(kFeatures, width - d);
      gather(heads, token, 1, d, count, features);
      scatter(features, count, token, 1, d, count, output());
    }
  });
}

}  // namespace headwise
