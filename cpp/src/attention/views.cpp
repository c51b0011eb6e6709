#include "attention/views.h"

#include <algorithm>

#include "attention/call.h"
#include "attention/head_rows.h"
#include "attention/validate.h"
#include "kernel/kernel_table.h"
#include "source/kv_cache_store.h"

namespace headwise {

Status validate_rows(const char* name, const Selection& selection, std::int64_t heads, std::int64_t rows) {
  if (selection.average) return Status::error(StatusCode::invalid_option, "%s.average is not supported", name);
  return validate_selection(name, selection, heads, rows);
}

Status validate_views(const AttentionViews& views, const AttentionShape& shape, std::int64_t num_keys) {
  const struct {
    const char* name;
    const View& view;
    std::int64_t heads, rows;
  } all[] = {{"query", views.query, shape.num_heads, shape.query_length},
             {"key", views.key, shape.num_kv_heads, num_keys},
             {"value", views.value, shape.num_kv_heads, num_keys},
             {"headOutputs", views.head_outputs, shape.num_heads, shape.query_length}};
  for (const auto& each : all) {
    if (!each.view.data) continue;
    if (Status status = validate_rows(each.name, each.view.selection, each.heads, each.rows); !status.ok())
      return status;
  }
  return {};
}

void show_keys_and_values(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                          const KeyValueSource& source, const AttentionViews& views) {
  const std::int64_t num_keys = key_length_of(shape, inputs);
  const KernelTable& kernels = kernel_table();
  const auto show = [&](const View& view, auto side, auto mean_of, std::int64_t width) {
    for_each_chosen_row(pool, shape.batch_size, {view.selection, shape.num_kv_heads, num_keys},
                        [&](std::int64_t b, std::int64_t head, std::int64_t j, std::int64_t place) {
                          float* const row = view.data + place * width;
                          if (inputs.cache && !inputs.cache->store().holds(b, j)) {
                            std::fill_n(row, width, 0.0f);
                            return;
                          }
                          kernels.widen((source.*side)(b, head, j, 1), width, row, width);
                          add_mean(mean_of(b, head), width, row);
                        });
  };
  const auto key_mean = [&](std::int64_t b, std::int64_t g) { return source.key_mean(b, g); };
  const auto no_mean = [](std::int64_t, std::int64_t) -> const float* { return nullptr; };
  if (views.key.data) show(views.key, &KeyValueSource::keys, key_mean, shape.head_dim);
  if (views.value.data) show(views.value, &KeyValueSource::values, no_mean, shape.value_dim);
}

}  // namespace headwise
