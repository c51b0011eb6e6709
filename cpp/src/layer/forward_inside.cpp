#include "attention/head_rows.h"
#include "layer/forward.h"
#include "source/key_value_source.h"

namespace headwise {

HeadRows Forward::head_rows(std::span<float> array, std::int64_t heads, std::int64_t length, std::int64_t width,
                            const std::int32_t* lengths) const {
  return {array.data(), strides_of(heads_layout_, heads, length, width), shape_.batch_size, heads, length, width,
          lengths};
}

HeadRows Forward::query_rows() {
  return head_rows(query_, shape_.num_heads, shape_.query_length, shape_.head_dim, options_.query_lengths);
}

HeadRows Forward::output_rows() {
  return head_rows(heads_, shape_.num_heads, shape_.query_length, shape_.value_dim, options_.query_lengths);
}

std::int64_t Forward::chosen_rows(const Selection& selection) const {
  const Chosen chosen = chosen_queries(shape_, selection);
  return shape_.batch_size * chosen.heads() * chosen.rows();
}

void Forward::overwrite_inputs() {
  const LayerPatches& patches = inputs_.patches;
  const std::int32_t* const lengths = appends() ? growth_.gains : options_.key_lengths;
  overwrite(pool_, query_rows(), patches.query);
  overwrite(pool_, head_rows(key_, shape_.num_kv_heads, key_length_, shape_.head_dim, lengths), patches.key);
  overwrite(pool_, head_rows(value_, shape_.num_kv_heads, key_length_, shape_.value_dim, lengths), patches.value);
}

void Forward::overwrite_heads() { overwrite(pool_, output_rows(), inputs_.patches.head_outputs); }

void Forward::show_inside() {
  if (views_.query.data) copy_chosen(pool_, query_rows(), views_.query.selection, views_.query.data);
  if (inputs_.cache) {
    show_keys_and_values(pool_, shape_, attention_inputs_, KvCacheSource(*inputs_.cache), views_);
  } else {
    const DenseSource rows(shape_, heads_layout_, {key_.data()}, {value_.data()});
    show_keys_and_values(pool_, shape_, attention_inputs_, rows, views_);
  }
  if (views_.head_outputs.data)
    copy_chosen(pool_, output_rows(), views_.head_outputs.selection, views_.head_outputs.data);
  if (views_.contributions.data) show_contributions();
}

/// The product of each chosen head's rows with its rows of Wo.
void Forward::show_contributions() {
  const Chosen chosen = chosen_queries(shape_, views_.contributions.selection);
  const std::int64_t heads = chosen.heads(), rows = chosen.rows();
  const auto tokens = [&](float* data, std::int64_t n, std::int64_t width) -> TokenRows {
    return {{data + n * rows * width}, {heads * rows * width, 0, width, 1}, shape_.batch_size, rows};
  };
  copy_chosen(pool_, output_rows(), chosen.selection, chosen_heads_.data());
  for (std::int64_t n = 0; n < heads; ++n) {
    const std::int64_t width = shape_.value_dim;
    const ProjectionJob job{.projection = &layer_.output,
                            .x = as_const(tokens(chosen_heads_.data(), n, width)),
                            .y = tokens(views_.contributions.data, n, layer_.shape.output_dim),
                            .part = WeightPart{chosen.head(n) * width, width}};
    project(pool_, {&job, 1}, scratch_);
  }
}

}  // namespace headwise
