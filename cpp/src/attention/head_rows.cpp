#include "attention/head_rows.h"

#include <algorithm>

#include "attention/call.h"
#include "attention/validate.h"
#include "kernel/kernel_table.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

/// Puts the mean of a head's rows in place of the chosen ones.
void overwrite_by_mean(ThreadPool& pool, const HeadRows& rows, const Chosen& chosen) {
  constexpr std::int64_t kFeatures = 64;  // that are added at a time
  const std::int64_t step = rows.strides.feature;
  pool.parallel_for(chosen.heads(), [&](std::int64_t n, int) {
    const std::int64_t head = chosen.head(n);
    for (std::int64_t first = 0; first < rows.width; first += kFeatures) {
      const std::int64_t features = std::min(kFeatures, rows.width - first);
      double sums[kFeatures] = {};
      std::int64_t count = 0;
      for (std::int64_t b = 0; b < rows.batch_size; ++b)
        for (std::int64_t i = 0; i < rows.length_of(b); ++i, ++count)
          for (std::int64_t d = 0; d < features; ++d) sums[d] += rows.at(b, head, i)[(first + d) * step];
      for (std::int64_t b = 0; b < rows.batch_size; ++b)
        for (std::int64_t r = 0; r < chosen.rows(); ++r)
          for (std::int64_t d = 0; d < features && chosen.row(r) < rows.length_of(b); ++d)
            rows.at(b, head, chosen.row(r))[(first + d) * step] =
                static_cast<float>(sums[d] / static_cast<double>(count));
    }
  });
}

}  // namespace

void overwrite(ThreadPool& pool, const HeadRows& rows, const Patch& patch) {
  const Chosen chosen{patch.selection, rows.heads, rows.length};
  if (patch.mean) return overwrite_by_mean(pool, rows, chosen);
  if (!patch.data) return;
  for_each_chosen_row(pool, rows.batch_size, chosen,
                      [&](std::int64_t b, std::int64_t head, std::int64_t i, std::int64_t place) {
                        if (i >= rows.length_of(b)) return;
                        const float* const data = patch.data + place * rows.width;
                        for (std::int64_t d = 0; d < rows.width; ++d)
                          rows.at(b, head, i)[d * rows.strides.feature] = data[d];
                      });
}

void copy_chosen(ThreadPool& pool, const HeadRows& rows, const Selection& selection, float* copies) {
  for_each_chosen_row(pool, rows.batch_size, {selection, rows.heads, rows.length},
                      [&](std::int64_t b, std::int64_t head, std::int64_t i, std::int64_t place) {
                        for (std::int64_t d = 0; d < rows.width; ++d)
                          copies[place * rows.width + d] = rows.at(b, head, i)[d * rows.strides.feature];
                      });
}

Error validate_views(const AttentionViews& views, const AttentionShape& shape, std::int64_t num_keys) {
  const auto check = [](Argument name, const View& view, std::int64_t heads, std::int64_t rows) {
    return view.data ? validate_rows(name, view.selection, heads, rows) : Error();
  };
  if (Error e = check(Argument::query, views.query, shape.num_heads, shape.query_length)) return e;
  if (Error e = check(Argument::key, views.key, shape.num_kv_heads, num_keys)) return e;
  if (Error e = check(Argument::value, views.value, shape.num_kv_heads, num_keys)) return e;
  return check(Argument::head_outputs, views.head_outputs, shape.num_heads, shape.query_length);
}

void show_keys_and_values(ThreadPool& pool, const AttentionShape& shape, const AttentionInputs& inputs,
                          const KeyValueSource& source, const AttentionViews& views) {
  const std::int64_t num_keys = key_length_of(shape, inputs);
  const KernelTable& kernels = kernel_table();
  const auto show = [&](const View& view, auto side, auto mean_of, std::int64_t width) {
    for_each_chosen_row(pool, shape.batch_size, {view.selection, shape.num_kv_heads, num_keys},
                        [&](std::int64_t b, std::int64_t head, std::int64_t j, std::int64_t place) {
                          float* const row = view.data + place * width;
                          if (inputs.cache && j >= inputs.cache->length(b)) {
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
