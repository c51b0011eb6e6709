#include "attention/head_rows.h"
#include "layer/forward.h"
#include "source/key_value_source.h"

namespace headwise {

namespace {

HeadRows head_rows(const Forward& f, std::span<float> array, std::int64_t heads, std::int64_t length,
                   std::int64_t width, const std::int32_t* lengths) {
  return {array.data(), strides_of(f.heads_layout, heads, length, width), f.shape.batch_size, heads, length, width,
          lengths};
}

HeadRows query_rows(const Forward& f) {
  return head_rows(f, f.query, f.shape.num_heads, f.shape.query_length, f.shape.head_dim, f.options.query_lengths);
}

HeadRows output_rows(const Forward& f) {
  return head_rows(f, f.heads, f.shape.num_heads, f.shape.query_length, f.shape.value_dim, f.options.query_lengths);
}

/// The product of each chosen head's rows with its rows of Wo.
void show_contributions(Forward& f) {
  const Chosen chosen = chosen_queries(f.shape, f.views.contributions.selection);
  const std::int64_t heads = chosen.heads(), rows = chosen.rows();
  const auto tokens = [&](float* data, std::int64_t n, std::int64_t width) -> TokenRows {
    return {{data + n * rows * width}, {heads * rows * width, 0, width, 1}, f.shape.batch_size, rows};
  };
  copy_chosen(f.pool, output_rows(f), chosen.selection, f.chosen_heads.data());
  for (std::int64_t n = 0; n < heads; ++n) {
    const std::int64_t width = f.shape.value_dim;
    const ProjectionJob job{.projection = &f.layer.output,
                            .x = as_const(tokens(f.chosen_heads.data(), n, width)),
                            .y = tokens(f.views.contributions.data, n, f.layer.shape.output_dim),
                            .part = WeightPart{chosen.head(n) * width, width}};
    project(f.pool, {&job, 1}, f.scratch);
  }
}

}  // namespace

std::int64_t contribution_rows(const Forward& f) {
  const Chosen chosen = chosen_queries(f.shape, f.views.contributions.selection);
  return f.shape.batch_size * chosen.heads() * chosen.rows();
}

void overwrite_inputs(Forward& f) {
  const LayerPatches& patches = f.inputs.patches;
  const std::int32_t* const lengths = f.appends() ? f.growth.gains : f.options.key_lengths;
  overwrite(f.pool, query_rows(f), patches.query);
  overwrite(f.pool, head_rows(f, f.key, f.shape.num_kv_heads, f.key_length, f.shape.head_dim, lengths), patches.key);
  overwrite(f.pool, head_rows(f, f.value, f.shape.num_kv_heads, f.key_length, f.shape.value_dim, lengths),
            patches.value);
}

void overwrite_heads(Forward& f) { overwrite(f.pool, output_rows(f), f.inputs.patches.head_outputs); }

void show_inside(Forward& f) {
  if (f.views.query.data) copy_chosen(f.pool, query_rows(f), f.views.query.selection, f.views.query.data);
  if (f.inputs.cache) {
    show_keys_and_values(f.pool, f.shape, f.attention_inputs, KvCacheSource(*f.inputs.cache), f.views);
  } else {
    const DenseSource rows(f.shape, f.heads_layout, {f.key.data()}, {f.value.data()});
    show_keys_and_values(f.pool, f.shape, f.attention_inputs, rows, f.views);
  }
  if (f.views.head_outputs.data)
    copy_chosen(f.pool, output_rows(f), f.views.head_outputs.selection, f.views.head_outputs.data);
  if (f.views.contributions.data) show_contributions(f);
}

}  // namespace headwise
